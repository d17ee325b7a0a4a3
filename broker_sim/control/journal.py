"""The journal: what a cluster saw and did, in order, bounded, and hashed for the comparison of two runs.

Traffic and cluster events are bounded apart, so that a million requests never push the one truncation out
that explains them. The digest takes every event, also those that the limits drop later.
"""

from __future__ import annotations

from collections import deque
from dataclasses import fields
from heapq import merge
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from broker_sim.control import events as event_kinds
from broker_sim.control.events import Detail, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sim_runtime.digest import DigestPart, EventDigest

__all__ = ["EVENT_KINDS", "ROW_COLUMNS", "Detail", "Journal", "Row"]

Row: TypeAlias = "dict[str, int | float | str | bool | bytes | None]"

LIMIT_EVENTS: Final = 1_000_000

EVENT_KINDS: Final[dict[str, type[Event]]] = {
    name: kind
    for name, kind in vars(event_kinds).items()
    if isinstance(kind, type) and issubclass(kind, Event) and kind not in {Event, event_kinds.TrafficEvent}
}
_FIELDS: Final = {
    kind: tuple(field.name for field in fields(kind) if field.name != "batches") for kind in EVENT_KINDS.values()
}
_VALUES: Final = {kind: attrgetter(*names) for kind, names in _FIELDS.items()}
_WITH_LISTS: Final = frozenset(
    kind for kind in _FIELDS if any(str(field.type).startswith("tuple") for field in fields(kind))
)
ROW_COLUMNS: Final = (
    "sequence",
    "kind",
    *dict.fromkeys(name for names in _FIELDS.values() for name in names),
)
"""The columns of `to_rows`: the union of all events' fields, in the order of their declaration."""


class Journal:
    """Events in order. `full` says whether traffic is wanted: who makes traffic events asks it first."""

    def __init__(
        self,
        now_us: Callable[[], int],
        *,
        detail: Detail = Detail.FULL,
        limit_events: int = LIMIT_EVENTS,
        digest: EventDigest | None = None,
    ) -> None:
        self.now_us = now_us
        self.detail = detail
        self.full = detail is Detail.FULL
        self.limit_events = limit_events
        self.digest = digest
        self.dropped = 0
        self._sequence = 0
        self._traffic: deque[tuple[int, Event]] = deque(maxlen=limit_events)
        self._cluster: deque[tuple[int, Event]] = deque(maxlen=limit_events)
        self._counts: dict[type[Event], int] = {}
        self._api_counts: dict[tuple[type[Event], str], int] = {}
        self._subscribers: dict[Callable[[Event], None], None] = {}
        self.sink: Callable[[int, Event], None] | None = None
        """What takes each event with its number, before any subscriber can cause another one: a file."""

    def append(self, event: Event) -> None:
        """Take one event; subscribers hear of it at once, in the order of their subscription."""
        kind = type(event)
        detail = kind.detail
        if detail > self.detail:
            return
        self._sequence += 1
        kept = self._traffic if detail else self._cluster
        if len(kept) == self.limit_events:
            self.dropped += 1
        kept.append((self._sequence, event))
        self._counts[kind] = self._counts.get(kind, 0) + 1
        api = getattr(event, "api", None)
        if api is not None:
            self._api_counts[kind, api] = self._api_counts.get((kind, api), 0) + 1
        if self.digest is not None:
            values = _VALUES[kind](event)
            self.digest.update(kind.__name__, *(_flat(values) if kind in _WITH_LISTS else values))
        if self.sink is not None:
            self.sink(self._sequence, event)
        if self._subscribers:
            for subscriber in list(self._subscribers):
                subscriber(event)

    @property
    def events(self) -> list[Event]:
        """What is kept of all events, in order."""
        return [event for _, event in self._merged()]

    def events_of(self, *kinds: type[Event]) -> list[Event]:
        """What is kept of these kinds, in order."""
        wanted = frozenset(kinds)
        return [event for _, event in self._merged() if type(event) in wanted]

    def numbered(self) -> Iterator[tuple[int, Event]]:
        """What is kept of all events with their numbers, in order; the first event of all had the number 1."""
        return self._merged()

    def count(self, *, kind: type[Event] | str | None = None, api: str | None = None) -> int:
        """How many events there were, dropped ones too; with `api` alone, how many of its requests came in."""
        if isinstance(kind, str):
            kind = EVENT_KINDS[kind]
        if api is not None:
            return self._api_counts.get((kind or event_kinds.RequestReceived, api), 0)
        if kind is None:
            return self._sequence
        return self._counts.get(kind, 0)

    def subscribe(self, subscriber: Callable[[Event], None]) -> Callable[[], None]:
        """Call `subscriber` with each event from now on; the answer ends that."""
        self._subscribers[subscriber] = None
        return lambda: self._subscribers.pop(subscriber, None)

    def to_rows(self, *kinds: type[Event]) -> list[Row]:
        """What is kept, as flat rows with the columns ROW_COLUMNS (for Arrow); lists become `1,2,3`."""
        wanted = frozenset(kinds)
        rows = []
        for sequence, event in self._merged():
            if wanted and type(event) not in wanted:
                continue
            row: Row = dict.fromkeys(ROW_COLUMNS)
            row["sequence"] = sequence
            row["kind"] = event.kind
            for name in _FIELDS[type(event)]:
                value = getattr(event, name)
                row[name] = ",".join(map(str, value)) if isinstance(value, tuple) else value
            rows.append(row)
        return rows

    def _merged(self) -> Iterator[tuple[int, Event]]:
        return merge(self._cluster, self._traffic, key=itemgetter(0))


def _flat(values: tuple[Any, ...]) -> list[DigestPart]:
    parts: list[DigestPart] = []
    for value in values:
        if type(value) is tuple:
            parts.append(len(value))
            parts.extend(value)
        else:
            parts.append(value)
    return parts
