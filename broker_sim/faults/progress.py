"""The counters that gates compare with: records and batches appended, records acknowledged, rules fired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.control.events import BatchAppended, Event, ProduceCompleted

if TYPE_CHECKING:
    from broker_sim.faults.rule import DrawnGate


class Progress:
    """Counters of one run. `expected_records` is the size of the load: the whole of which `acked_share` is a part."""

    __slots__ = ("acked_records", "appended_batches", "appended_records", "expected_records", "fired")

    def __init__(self) -> None:
        self.acked_records = 0
        self.appended_batches = 0
        self.appended_records = 0
        self.expected_records: int | None = None
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

    def reached(self, gate: DrawnGate) -> bool:
        """Return True if every condition of the gate holds; the engine adds the gate's delay."""
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
        return gate.after is None or self.fired.get(gate.after, 0) > 0
