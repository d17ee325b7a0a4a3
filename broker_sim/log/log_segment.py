"""One segment of a log: its batches in order, and when a new one must follow. Mirrors LogSegment.

Segments matter to readers: one fetch never crosses from one to the next.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from broker_sim.log.stored_batch import NO_TIMESTAMP

if TYPE_CHECKING:
    from broker_sim.config.topic_config import TopicConfig
    from broker_sim.log.stored_batch import StoredBatch

_LARGEST_RELATIVE_OFFSET: Final = 2**31 - 1


class LogSegment:
    """Batches from `base_offset` on. `last_offsets` runs beside `batches`, to search in."""

    __slots__ = ("base_offset", "batches", "created_ms", "last_offsets", "max_timestamp", "size")

    def __init__(self, base_offset: int, created_ms: int) -> None:
        self.base_offset = base_offset
        self.batches: list[StoredBatch] = []
        self.last_offsets: list[int] = []
        self.size = 0
        self.max_timestamp = NO_TIMESTAMP
        self.created_ms = created_ms

    def should_roll(self, config: TopicConfig, batch: StoredBatch, now_ms: int) -> bool:
        """Whether a batch must go to a new segment: no room, too much time, or an offset too far from the base."""
        if self.size > config.segment_bytes - batch.size:
            return True
        if self.size and self._waited_ms(batch.max_timestamp, now_ms) > config.segment_ms:
            return True
        return batch.last_offset - self.base_offset > _LARGEST_RELATIVE_OFFSET

    def _waited_ms(self, timestamp: int, now_ms: int) -> int:
        """By record time when the first batch has one (its age is not what counts then), else by the clock."""
        first = self.batches[0].max_timestamp
        return timestamp - first if first >= 0 else now_ms - self.created_ms

    def append(self, batch: StoredBatch) -> None:
        """Add a batch at the end."""
        self.batches.append(batch)
        self.last_offsets.append(batch.last_offset)
        self.size += batch.size
        if batch.max_timestamp > self.max_timestamp:  # noqa: PLR1730 - a call would cost more than the comparison
            self.max_timestamp = batch.max_timestamp

    def index_of(self, offset: int) -> int:
        """The index of the first batch that ends at or after an offset; the number of batches if none does."""
        return bisect_left(self.last_offsets, offset)

    def truncate_to(self, offset: int) -> list[StoredBatch]:
        """Remove the batches that end at or after an offset, and answer them."""
        index = self.index_of(offset)
        removed = self.batches[index:]
        del self.batches[index:]
        del self.last_offsets[index:]
        self.size -= sum(batch.size for batch in removed)
        self.max_timestamp = max((batch.max_timestamp for batch in self.batches), default=NO_TIMESTAMP)
        return removed
