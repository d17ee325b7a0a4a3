"""The gates of rules: when a rule opens and closes.

Gates count records, batches, events of the journal and the firings of other rules. A time alone opens a rule with
`delay_ms` and `at_ms`, so that a slow machine changes nothing else. A gate counts events from the moment on which it
waits for: an `until` begins when its rule opens.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from broker_sim.control.events import BYTES_FIELDS, Detail
from protocol_specs import uuids

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.control.events import Event
    from broker_sim.faults.rule import Drawable

__all__ = ["EventGate", "FiredGate", "Gate", "Waiting", "field_names"]


@dataclass(frozen=True, slots=True)
class EventGate:
    """`count` events of one kind of the journal, whose fields have these values.

    A text is a pattern, a list has one of several values, `{at_least: 3, at_most: 5}` has bounds. A field that is a
    list itself, such as `isr`, fits if it is equal to a list, or contains a value.
    """

    kind: type[Event]
    fields: Mapping[str, Any]
    count: int = 1

    @property
    def is_traffic(self) -> bool:
        """True if a journal of cluster events alone does not make such events."""
        return self.kind.detail is Detail.FULL

    def fits(self, event: Event) -> bool:
        """Return True if an event is one of those that are counted."""
        return type(event) is self.kind and all(
            _fits(getattr(event, name), wanted) for name, wanted in self.fields.items()
        )


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(value, bytes):
        value = uuids.to_text(value)
    if isinstance(value, tuple):
        return value == tuple(wanted) if isinstance(wanted, list) else wanted in value
    if isinstance(wanted, list):
        return any(_fits(value, each) for each in wanted)
    if isinstance(wanted, dict):
        low, high = wanted.get("at_least"), wanted.get("at_most")
        return value is not None and (low is None or value >= low) and (high is None or value <= high)
    if isinstance(wanted, str) and isinstance(value, str):
        return fnmatchcase(value, wanted)
    return bool(value == wanted)


@dataclass(frozen=True, slots=True)
class FiredGate:
    """Another rule has fired `times` times."""

    rule: str
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """When a rule opens or closes: every condition that is given must hold, then `delay_ms` more pass.

    `acked_share` is a share of the records that the run expects; `after` is the name of a rule that has fired. `at_ms`
    is a time since the start of the load, or without a load since the rule was added. `in_sync` holds while every
    broker runs, every replica is in sync, and no other rule with it is open that has an `until`. A number may be a
    range or a choice: the rule's own random stream draws from it once, so that each seed has its own moment.
    """

    acked_share: Drawable | None = None
    acked_records: Drawable | None = None
    appended_records: Drawable | None = None
    appended_batches: Drawable | None = None
    after: str | None = None
    fired: FiredGate | None = None
    event: EventGate | None = None
    in_sync: bool = False
    at_ms: Drawable | None = None
    delay_ms: Drawable = 0

    @property
    def counts_batches(self) -> bool:
        """True if a condition counts records or batches, which a journal of cluster events alone does not."""
        counts = (self.acked_share, self.acked_records, self.appended_records, self.appended_batches)
        return any(count is not None for count in counts)

    @property
    def rules(self) -> Mapping[str, str]:
        """The rules that the gate names, by key."""
        named = {"after": self.after, "fired": None if self.fired is None else self.fired.rule}
        return {key: name for key, name in named.items() if name is not None}


class Waiting:
    """A gate that waits, with a number drawn for each range: `draw` is called with the name of the field."""

    __slots__ = ("acked_records", "acked_share", "appended_batches", "appended_records", "at_ms", "delay_ms", "gate",
                 "left", "since_s")  # fmt: skip

    def __init__(self, gate: Gate, draw: Callable[[str, Drawable], float], since_s: float) -> None:
        def drawn(name: str) -> float | None:
            value = getattr(gate, name)
            return None if value is None else draw(name, value)

        self.gate = gate
        self.since_s = since_s
        self.left = 0 if gate.event is None else gate.event.count
        """The number of events that are still missing."""
        self.acked_share = drawn("acked_share")
        self.acked_records = drawn("acked_records")
        self.appended_records = drawn("appended_records")
        self.appended_batches = drawn("appended_batches")
        self.at_ms = drawn("at_ms")
        self.delay_ms = drawn("delay_ms") or 0

    def count(self, event: Event) -> bool:
        """Count an event of the journal. Returns True if it was the last that was missing."""
        wanted = self.gate.event
        if not self.left or wanted is None or not wanted.fits(event):
            return False
        self.left -= 1
        return not self.left


def field_names(kind: type[Event]) -> list[str]:
    """Return the fields of an event that a gate can compare."""
    return [field.name for field in fields(kind) if field.name not in BYTES_FIELDS | {"time_us"}]
