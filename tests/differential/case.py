"""The registry of cases: one function each, by name, gathered from the modules of `cases`."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from broker_sim.config.config_names import base_name
from broker_sim.config.definitions import broker_definitions
from broker_sim.config.simulator_configs import AUTHORIZER_DEFINITIONS
from tests.differential.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.differential.nodes import Nodes

RELEASES = ("3.7.2", "4.3.1")
"""The releases whose responses are recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case: our broker and a real one respond alike, except on the releases of `accepted` and `pending`.

    Both map a release to the reason of its difference: an accepted one stays, a pending one is a defect to fix.
    """

    name: str
    run: Callable[[Probe], None]
    brokers: int = 1
    releases: tuple[str, ...] = RELEASES
    accepted: dict[str, str] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    settings: tuple[tuple[str, str], ...] = ()
    """Broker configurations of its own cluster (`2:NAME` is broker 2's), shared by the cases that want the same."""
    races: str = ""
    """The race inside a real broker by which it sometimes sends no response to a request of this case."""

    def settings_for(self, release: str) -> tuple[tuple[str, str], ...]:
        """Those of its settings that the release knows, and those of the tests themselves (`+...`)."""
        known = {**broker_definitions(release), **AUTHORIZER_DEFINITIONS}
        return tuple(
            (name, value)
            for name, value in (*(LEADERS_STAY if self.brokers > 1 else ()), *self.settings)
            if base_name(name.rpartition(":")[2]) in known or name[0] == "+"
        )

    @property
    def module(self) -> str:
        """The module that it is written in, after which its recording is named."""
        return self.run.__module__.rsplit(".", 1)[1]


LEADERS_STAY = (("auto.leader.rebalance.enable", "false"),)
"""Otherwise a controller moves leaders to preferred replicas every five minutes: in the middle of any case."""

_CASES: dict[str, Case] = {}


def case(
    *,
    brokers: int = 1,
    releases: tuple[str, ...] = RELEASES,
    accepted: dict[str, str] | None = None,
    pending: dict[str, str] | None = None,
    settings: tuple[tuple[str, str], ...] = (),
    races: str = "",
) -> Callable[[Callable[[Probe], None]], Callable[[Probe], None]]:
    """Register a function as a case under its own name, with the API's name of its module before it."""

    def register(run: Callable[[Probe], None]) -> Callable[[Probe], None]:
        name = f"{run.__module__.rsplit('.', 1)[1]}-{run.__name__}".replace("_", "-")
        assert name not in _CASES, f"two cases are named {name}"
        _CASES[name] = Case(
            name=name,
            run=run,
            brokers=brokers,
            releases=releases,
            accepted=accepted or {},
            pending=pending or {},
            settings=settings,
            races=races,
        )
        return run

    return register


@cache
def all_cases() -> dict[str, Case]:
    """Every case by name, in the order of modules and lines."""
    package = import_module("tests.differential.cases")
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"tests.differential.cases.{module.name}")
    return _CASES


def run_case(
    each: Case,
    bootstrap: str,
    release: str,
    nodes: Nodes | None = None,
    *,
    expected: Sequence[Mapping[str, Any]] = (),
) -> list[dict[str, Any]]:
    """Run one case against one cluster and return its transcript; `expected` is the recorded one."""
    probe = Probe(bootstrap, release=release, name=each.name, nodes=nodes, expected=expected)
    try:
        each.run(probe)
    finally:
        probe.close()
    return probe.transcript
