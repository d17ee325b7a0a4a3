"""What gates count: records and batches appended, records acknowledged, as the cluster's journal tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.control.events import BatchAppended, Event, ProduceAnswered

if TYPE_CHECKING:
    from broker_sim.faults.rule import DrawnGate


class Progress:
    """Counters of one run. `expected_records` is the size of the load: the whole of which `acked_share` is a part."""

    __slots__ = ("acked_records", "appended_batches", "appended_records", "expected_records", "struck")

    def __init__(self) -> None:
        self.acked_records = 0
        self.appended_batches = 0
        self.appended_records = 0
        self.expected_records: int | None = None
        self.struck: dict[str, int] = {}
        """How often each rule has struck."""

    def count(self, event: Event) -> bool:
        """Take a journal event; answer whether a counter has moved."""
        if type(event) is ProduceAnswered:
            if event.error_code == 0:
                self.acked_records += max(0, event.required_offset - event.base_offset)
            return True
        if type(event) is BatchAppended:
            self.appended_batches += 1
            self.appended_records += event.records
            return True
        return False

    def reached(self, gate: DrawnGate) -> bool:
        """Whether every condition of the gate holds (its delay is the engine's)."""
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
        return gate.after is None or self.struck.get(gate.after, 0) > 0
