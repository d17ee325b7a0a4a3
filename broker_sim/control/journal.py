"""The journal: the events of a cluster in order, bounded, and hashed for the comparison of two runs.

Traffic and cluster events have separate limits, so that a million requests never displace the one truncation that
explains them. The digest takes every event, also those that the limits drop later.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_sim.control import events as event_kinds
from broker_sim.control.event_encoding import event_encoder
from broker_sim.control.events import BYTES_FIELDS, Detail, Event, RequestReceived

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from broker_sim.control.event_encoding import EventEncoder
    from sim_runtime.digest import EventDigest

__all__ = ["EVENT_KINDS", "ROW_COLUMNS", "Detail", "Journal", "Row"]

Row: TypeAlias = "dict[str, int | float | str | bool | bytes | None]"

LIMIT_EVENTS: Final = 1_000_000
FRAME_BYTES_MAX: Final = 1 << 24
"""How many bytes of requests a journal keeps."""

EVENT_KINDS: Final[dict[str, type[Event]]] = {
    name: kind
    for name, kind in vars(event_kinds).items()
    if isinstance(kind, type) and issubclass(kind, Event) and kind not in {Event, event_kinds.TrafficEvent}
}
_FIELDS: Final = {
    kind: tuple(field.name for field in fields(kind) if field.name not in BYTES_FIELDS) for kind in EVENT_KINDS.values()
}
_WITH_API: Final = frozenset(kind for kind, names in _FIELDS.items() if "api" in names)
_encoders: Final[dict[type[Event], EventEncoder]] = {}
"""Generated with the first event of a kind: most processes need few."""
ROW_COLUMNS: Final = (
    "sequence",
    "kind",
    *dict.fromkeys(name for names in _FIELDS.values() for name in names),
)
"""The columns of `to_rows`: the union of all events' fields, in the order of their declaration."""


@dataclass(slots=True, eq=False)
class _Subscription:
    subscriber: Callable[[Event], None]
    kinds: frozenset[type[Event]]


class Journal:
    """Events in order. `full` is true if traffic events are made: they are kept, or a fault rule counts them.

    `wants_batches` is true if events of batches (BatchAppended, ProduceCompleted, ...) are made. Makers of events check
    these two first.
    """

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
        self.wants_batches = self.full
        self.limit_events = limit_events
        self.digest = digest
        self.dropped = 0
        self._sequence = 0
        self._traffic: deque[tuple[int, Event]] = deque(maxlen=limit_events)
        self._cluster: deque[tuple[int, Event]] = deque(maxlen=limit_events)
        self._framed: deque[RequestReceived] = deque()
        self._frame_bytes = 0
        self._counts: dict[type[Event], int] = {}
        self._api_counts: dict[tuple[type[Event], str], int] = {}
        self._subscribers: tuple[_Subscription, ...] = ()
        self._subscribers_of: dict[type[Event], tuple[Callable[[Event], None], ...]] = {}
        """Those of each kind of which an event came since the last subscription."""
        self.sink: Callable[[int, Event], None] | None = None
        """Receives each event with its number, before any subscriber can cause another one: a file."""

    def make_traffic(self) -> None:
        """Have traffic events made, for subscribers, also if the journal does not keep them."""
        self.full = self.wants_batches = True

    def append(self, event: Event) -> None:
        """Keep one event and call the subscribers, in the order of their subscription.

        An event of more detail than the journal has goes to the subscribers alone.
        """
        kind = type(event)
        detail = kind.detail
        if detail <= self.detail:
            self._sequence += 1
            kept = self._traffic if detail else self._cluster
            if len(kept) == self.limit_events:
                self.dropped += 1
            kept.append((self._sequence, event))
            self._counts[kind] = self._counts.get(kind, 0) + 1
            if kind in _WITH_API:
                key = kind, event.api  # type: ignore[attr-defined]  # by its kind
                self._api_counts[key] = self._api_counts.get(key, 0) + 1
            if self.digest is not None:
                encoder = _encoders.get(kind)
                if encoder is None:
                    encoder = _encoders[kind] = event_encoder(kind)
                self.digest.add(encoder(event))
            if self.sink is not None:
                self.sink(self._sequence, event)
        subscribers = self._subscribers_of.get(kind)
        if subscribers is None:
            wanting = (each.subscriber for each in self._subscribers if not each.kinds or kind in each.kinds)
            subscribers = self._subscribers_of[kind] = tuple(wanting)
        for subscriber in subscribers:
            subscriber(event)

    def keep_frame(self, event: RequestReceived, frame: bytes) -> None:
        """Let an event have the bytes of its request, while the journal keeps traffic; the oldest bytes make room."""
        if self.detail is not Detail.FULL:
            return
        event.frame = frame
        self._framed.append(event)
        self._frame_bytes += len(frame)
        while self._frame_bytes > FRAME_BYTES_MAX:
            oldest = self._framed.popleft()
            self._frame_bytes -= len(oldest.frame)
            oldest.frame = b""

    @property
    def events(self) -> list[Event]:
        """All events that are kept, in order."""
        return [event for _, event in self._merged()]

    def events_of(self, *kinds: type[Event]) -> list[Event]:
        """Return the events of these kinds that are kept, in order."""
        wanted = frozenset(kinds)
        return [event for _, event in self._merged() if type(event) in wanted]

    def numbered(self) -> Iterator[tuple[int, Event]]:
        """Return the events that are kept with their sequence numbers, in order, from 1."""
        return self._merged()

    def count(self, *, kind: type[Event] | str | None = None, api: str | None = None) -> int:
        """Return the number of events, dropped ones included; with `api` alone, the number of its requests."""
        if isinstance(kind, str):
            kind = EVENT_KINDS[kind]
        if api is not None:
            return self._api_counts.get((kind or event_kinds.RequestReceived, api), 0)
        if kind is None:
            return self._sequence
        return self._counts.get(kind, 0)

    def subscribe(self, subscriber: Callable[[Event], None], *kinds: type[Event]) -> Callable[[], None]:
        """Call `subscriber` with each event of these kinds from now on; returns the function that ends this.

        Without kinds it receives every event.
        """
        subscription = _Subscription(subscriber, frozenset(kinds))
        self._subscribers = (*self._subscribers, subscription)
        self._subscribers_of = {}

        def unsubscribe() -> None:
            self._subscribers = tuple(other for other in self._subscribers if other is not subscription)
            self._subscribers_of = {}

        return unsubscribe

    def add_kind(self, subscriber: Callable[[Event], None], kind: type[Event]) -> None:
        """Call a subscriber of some kinds with one more, in its place among the subscribers."""
        for each in self._subscribers:
            if each.subscriber == subscriber:
                each.kinds |= {kind}
        self._subscribers_of = {}

    def to_rows(self, *kinds: type[Event]) -> list[Row]:
        """Return the events that are kept as rows with the columns ROW_COLUMNS (for Arrow); lists become `1,2,3`."""
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
        # The sort finds two runs that are in order, and merges them in one step.
        return iter(sorted([*self._cluster, *self._traffic], key=itemgetter(0)))
