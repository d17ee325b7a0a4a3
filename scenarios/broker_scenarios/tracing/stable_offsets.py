"""The periods in which a transaction held back the last stable offset of a partition, and its producer (KIP-98)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_sim.control.events import BatchAppended, HighWatermarkAdvanced, TransactionStateChanged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.control.events import Event

__all__ = ["Hold", "holds_of"]


@dataclass(slots=True, kw_only=True)
class Hold:
    """A period in which read_committed consumers got nothing from `offset` on; times are those of the journal."""

    partition: str
    offset: int
    start_us: int
    end_us: int | None = None
    """None if it has not ended."""
    next_offset: int = -1
    """The last stable offset that followed."""
    producer_id: int | None = None
    """The producer of the batch at `offset`, None if the journal has no such batch."""
    transactional_id: str | None = None
    """That of the producer, None if no coordinator has given it one."""
    hangs: bool = False
    """True if no coordinator had a transaction of the producer there: no marker will follow (KIP-664, KIP-890)."""

    def until_us(self, end_us: int) -> int:
        """Return the end of the period, or `end_us` if it has not ended."""
        return end_us if self.end_us is None else self.end_us


@dataclass(slots=True)
class _State:
    """The open holds, the batches, and the coordinators' transactions, up to the present event."""

    holds: list[Hold] = field(default_factory=list)
    present: dict[str, Hold] = field(default_factory=dict)
    known_at_start: list[frozenset[str]] = field(default_factory=list)
    """The transactional ids that had the partition in a transaction when the hold began, per hold."""
    producers: dict[tuple[str, int], int] = field(default_factory=dict)
    owners: dict[int, str] = field(default_factory=dict)
    partitions: dict[str, frozenset[str]] = field(default_factory=dict)
    ids: dict[str, dict[str, None]] = field(default_factory=dict)
    """The transactional ids by partition."""

    def change_transaction(self, event: TransactionStateChanged) -> None:
        transactional_id = event.transactional_id
        self.owners[event.producer_id] = transactional_id
        for partition in self.partitions.get(transactional_id, ()):
            self.ids[partition].pop(transactional_id, None)
        partitions = frozenset(event.partitions.split(", ")) if event.partitions else frozenset()
        self.partitions[transactional_id] = partitions
        for partition in partitions:
            self.ids.setdefault(partition, {})[transactional_id] = None

    def move(self, event: HighWatermarkAdvanced) -> None:
        partition, offset = f"{event.topic}-{event.partition}", event.last_stable_offset
        hold = self.present.get(partition)
        if hold is not None and hold.offset != offset:
            hold.end_us, hold.next_offset = event.time_us, offset
            del self.present[partition]
            hold = None
        if hold is None and 0 <= offset < event.high_watermark:
            hold = self.present[partition] = Hold(partition=partition, offset=offset, start_us=event.time_us)
            self.holds.append(hold)
            self.known_at_start.append(frozenset(self.ids.get(partition, ())))


def holds_of(events: Iterable[Event]) -> list[Hold]:
    """Return the periods in the order of their start. Needs a full journal."""
    state = _State()
    for event in events:
        if isinstance(event, TransactionStateChanged):
            state.change_transaction(event)
        elif isinstance(event, HighWatermarkAdvanced):
            state.move(event)
        elif isinstance(event, BatchAppended) and event.producer_id >= 0:
            state.producers[f"{event.topic}-{event.partition}", event.base_offset] = event.producer_id
    # The high watermark of a partition without followers moves before the append is an event: batches come last.
    for hold, known in zip(state.holds, state.known_at_start, strict=True):
        hold.producer_id = state.producers.get((hold.partition, hold.offset))
        if hold.producer_id is not None:
            hold.transactional_id = state.owners.get(hold.producer_id)
            hold.hangs = hold.transactional_id not in known
    return state.holds
