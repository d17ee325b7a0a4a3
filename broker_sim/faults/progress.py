"""The counters that gates compare with: records and batches appended, records acknowledged, rules fired."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from broker_sim.control.events import BatchAppended, Event, ProduceCompleted

if TYPE_CHECKING:
    from broker_sim.faults.gates import Waiting

ROUNDING_S: Final = 5e-7
"""Timers of real reactors may fire a little early."""


COUNTED: Final = (ProduceCompleted, BatchAppended)
"""The kinds of events that change a counter."""


class Progress:
    """Counters of one run. `expected_records` is the size of the load: the whole of which `acked_share` is a part."""

    __slots__ = ("acked_records", "appended_batches", "appended_records", "expected_records", "fired", "load_start_s")

    def __init__(self) -> None:
        self.acked_records = 0
        self.appended_batches = 0
        self.appended_records = 0
        self.expected_records: int | None = None
        self.load_start_s: float | None = None
        """The reactor's time at which the load began, None while there is none."""
        self.fired: dict[str, int] = {}
        """The number of times that each rule has fired."""

    def count(self, event: Event) -> bool:
        """Count one event of the journal. Returns True if a counter has changed."""
        if type(event) is ProduceCompleted:
            if event.error_code == 0:
                self.acked_records += max(0, event.required_offset - event.base_offset)
            return True
        if type(event) is BatchAppended:
            self.appended_batches += 1
            self.appended_records += event.records
            return True
        return False

    def reached(self, gate: Waiting, now_s: float) -> bool:
        """Return True if every condition of the gate holds; the engine adds the gate's delay."""
        if gate.left or (gate.at_ms is not None and now_s < self.due_s(gate)):
            return False
        if gate.acked_share is not None and (
            self.expected_records is None or self.acked_records < gate.acked_share * self.expected_records
        ):
            return False
        if gate.acked_records is not None and self.acked_records < gate.acked_records:
            return False
        if gate.appended_records is not None and self.appended_records < gate.appended_records:
            return False
        if gate.appended_batches is not None and self.appended_batches < gate.appended_batches:
            return False
        fired = gate.gate.fired
        if fired is not None and self.fired.get(fired.rule, 0) < fired.times:
            return False
        return gate.gate.after is None or self.fired.get(gate.gate.after, 0) > 0

    def unmet(self, gate: Waiting, now_s: float) -> str:
        """Return the first condition of the gate that does not hold, with what was counted; empty if all hold."""
        event, fired, after = gate.gate.event, gate.gate.fired, gate.gate.after
        if event is not None and gate.left:
            return f"event {event.kind.__name__}, {event.count - gate.left} of {event.count}"
        if gate.at_ms is not None and now_s < self.due_s(gate):
            return f"at_ms {gate.at_ms:g} is later than the end"
        if gate.acked_share is not None and self.expected_records is None:
            return "acked_share needs a load"
        counts = (
            ("acked_share", self.acked_records, (gate.acked_share or 0) * (self.expected_records or 0)),
            ("acked_records", self.acked_records, gate.acked_records or 0),
            ("appended_records", self.appended_records, gate.appended_records or 0),
            ("appended_batches", self.appended_batches, gate.appended_batches or 0),
        )
        for name, counted, wanted in counts:
            if counted < wanted:
                return f"{name}, {counted} of {ceil(wanted)}{' records' if name == 'acked_share' else ''}"
        if fired is not None and self.fired.get(fired.rule, 0) < fired.times:
            return f"fired, {self.fired.get(fired.rule, 0)} of {fired.times} times of {fired.rule!r}"
        if after is not None and not self.fired.get(after):
            return f"after, {after!r} did not fire"
        return ""

    def due_s(self, gate: Waiting) -> float:
        """Return the time in seconds of `at_ms`: since the start of the load, or without one since the gate waits."""
        start_s = gate.since_s if self.load_start_s is None else self.load_start_s
        # A timer of the reactor fires within a rounding error.
        return start_s + (gate.at_ms or 0) / 1000 - ROUNDING_S
