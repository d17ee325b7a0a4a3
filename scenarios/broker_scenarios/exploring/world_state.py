"""The state of an explored run between two steps: a digest of everything that decides how it goes on.

It covers every object that nodes, clients, rules and the network have, with the values of their fields, the timers in
their order for each host, the messages in flight and the positions of coroutines. Left out is what never changes, what
only records the past (journal, metrics, rates of quotas), and the numbers that distinguish requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.exploring.object_graph import ObjectGraph
from broker_sim.apis.api_handler import HandlerTable
from broker_sim.config.broker_config import BrokerConfig
from broker_sim.control.journal import Journal
from broker_sim.rpc.journal_stage import JournalStage
from sim_runtime.digest import EventDigest
from sim_runtime.random_streams import RandomStreams
from sim_runtime.stepped_reactor import SteppedReactor

if TYPE_CHECKING:
    from broker_scenarios.exploring.explored_run import ExploredRun
    from sim_runtime.virtual_reactor import VirtualCall

__all__ = ["WorldState"]

_MODULES_LEFT_OUT: Final = (
    "broker_client.core.metrics",
    "broker_client.metrics",
    "broker_client.producer_config",
    "broker_scenarios.exploring",
    "broker_sim.config",
    "broker_sim.metrics",
    "broker_sim.quotas",
    "protocol_specs.releases",
    "protocol_specs.version_range",
    "_contextvars",
    "_struct",
    "_thread",
    "logging",
    "re",
    "twisted.logger",
    "zope",
)
_LEFT_OUT: Final = (BrokerConfig, EventDigest, HandlerTable, Journal, JournalStage, RandomStreams, SteppedReactor)
_FIELDS_LEFT_OUT: Final = {
    "Flow": ("number",),
    "LinkCall": ("id", "number"),
    "NodeLinks": ("_next_id", "_calls", "_links"),  # a call is with its message, its handler, or its timer
    "VirtualCall": ("sequence", "_queued", "_reactor"),
    "VirtualNetwork": ("checksum", "_flows"),
}


_FIELDS_IN_ANY_ORDER: Final = {
    "MetadataFetches": ("_waiting",),
    "VirtualNetwork": ("_links",),
}
"""Mappings by node: their order is that of arrivals, and decides no more than the order of sending to several nodes."""


class WorldState:
    """Computes the digests of runs."""

    def __init__(self) -> None:
        self._graph = ObjectGraph(
            left_out=_is_left_out, fields_left_out=_FIELDS_LEFT_OUT, fields_in_any_order=_FIELDS_IN_ANY_ORDER
        )

    def digest(self, run: ExploredRun, *more: str) -> str:
        """Return the digest of a run's state, with the faults that are still possible and `more` texts."""
        links = run.cluster.links.unusual_links()
        return self._graph.digest((*more, run.budget, run.cluster, links, *_timers(run.reactor)))


def _is_left_out(cls: type) -> bool:
    return issubclass(cls, _LEFT_OUT) or cls.__module__.startswith(_MODULES_LEFT_OUT)


def _timers(reactor: SteppedReactor) -> list[object]:
    """Return the timers of each host in their order; hosts are independent of each other."""
    by_host: dict[str, list[VirtualCall]] = {}
    for call in reactor.getDelayedCalls():
        by_host.setdefault(getattr(call.process, "name", ""), []).append(call)
    return [by_host[name] for name in sorted(by_host)]
