"""The coverage of a sweep: rules, journal events, requests, errors and transitions of states that its seeds reached."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from broker_sim.control.events import GroupStateChanged, RequestReceived, RuleFired, TransactionStateChanged
from broker_sim.control.journal import EVENT_KINDS
from protocol_specs.entities import named_values
from protocol_specs.error_codes import ErrorCode
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from broker_sim.cluster import Cluster
    from broker_sim.control.events import Event
    from broker_sim.faults.interception import FaultPoint
    from protocol_specs.message import Message

__all__ = ["Coverage", "Reached"]

RULE: Final = "rules that fired"
EVENT: Final = "kinds of journal events"
REQUEST: Final = "requests by API and version"
ERROR: Final = "errors by API"
TRANSITION: Final = "transitions of groups and transactions"
KINDS: Final = (RULE, EVENT, REQUEST, ERROR, TRANSITION)

_ERROR_CODE: Final = frozenset({"error_code"})
_RARE_SHOWN_MAX: Final = 10


class Reached:
    """Collects what the run of one cluster reaches from now on, as pairs of a kind and a name."""

    def __init__(self, cluster: Cluster) -> None:
        self._pairs: dict[tuple[str, str], None] = {}
        cluster.journal.subscribe(self._event)
        cluster.faults.observe_responses(self._response)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """In the order in which they were reached first."""
        return tuple(self._pairs)

    def _add(self, kind: str, name: str) -> None:
        self._pairs[kind, name] = None

    def _event(self, event: Event) -> None:
        self._add(EVENT, type(event).__name__)
        match event:
            case RuleFired():
                self._add(RULE, event.rule)
            case RequestReceived():
                between = " between nodes" if event.replica_id >= 0 else ""
                self._add(REQUEST, f"{event.api} v{event.api_version}{between}")
            case GroupStateChanged():
                self._add(TRANSITION, f"{event.group_type} group: {event.previous} to {event.state}")
            case TransactionStateChanged():
                self._add(TRANSITION, f"transaction: {event.previous} to {event.state}")

    def _response(self, point: FaultPoint, response: Message) -> None:
        api = "" if point.api_key is None else point.api_key.api_name
        for code in named_values(response, _ERROR_CODE):
            if code:
                self._add(ERROR, f"{api}: {ErrorCode(code).name}")


class Coverage:
    """How many seeds have reached what, and which one first. `rules` are the names of all rules of the file."""

    def __init__(self, rules: Iterable[str]) -> None:
        self._rules = tuple(rules)
        self._seeds: dict[tuple[str, str], list[int]] = {}

    def add(self, seed: int, pairs: Iterable[tuple[str, str]]) -> bool:
        """Add what a seed has reached; returns True if anything of it is new."""
        known = len(self._seeds)
        for pair in pairs:
            self._seeds.setdefault(pair, []).append(seed)
        return len(self._seeds) > known

    def lines(self) -> Iterator[str]:
        """The report: a line for each kind, and what a single seed alone has reached."""
        known = {RULE: self._rules, EVENT: tuple(EVENT_KINDS)}
        for kind in KINDS:
            names = self._names(kind)
            of = f" of {len(known[kind])}" if kind in known else ""
            never = [name for name in self._rules if name not in names] if kind == RULE else []
            yield f"  {kind}: {len(names)}{of}" + (f", never {', '.join(never)}" if never else "")
        rare = [(kind, name, seeds[0]) for (kind, name), seeds in self._seeds.items() if len(seeds) == 1]
        for _, name, seed in rare[:_RARE_SHOWN_MAX]:
            yield f"  in seed {seed} alone: {name}"
        if len(rare) > _RARE_SHOWN_MAX:
            yield f"  ... and {plural(len(rare) - _RARE_SHOWN_MAX, 'other thing')} in one seed alone"

    def to_json(self) -> str:
        """By kind and name: in how many seeds, and in which one first."""
        found = {
            kind: {name: {"seeds": len(seeds), "first_seed": seeds[0]} for name, seeds in self._of(kind)}
            for kind in KINDS
        }
        return json.dumps(found, indent=2) + "\n"

    def _of(self, kind: str) -> Sequence[tuple[str, list[int]]]:
        return sorted((name, seeds) for (each, name), seeds in self._seeds.items() if each == kind)

    def _names(self, kind: str) -> list[str]:
        return [name for name, _ in self._of(kind)]
