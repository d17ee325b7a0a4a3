"""One segment of a log: its batches in order, and the conditions for a roll to a new one. Mirrors LogSegment.

Segments are visible to clients: a fetch never crosses a segment boundary, retention deletes whole segments, and
compaction rewrites whole segments. The indexes limit the segment's size: each has one entry per
`index.interval.bytes`, and at most as many as `segment.index.bytes` holds. The offset index also bounds the list of
aborted transactions of a read.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from broker_sim.log.stored_batch import NO_TIMESTAMP
from broker_sim.log.transaction_index import kept_before

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.config.topic_config import TopicConfig
    from broker_sim.log.producer_state import ProducerStateEntry
    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.log.transaction_index import AbortedTransaction

_LARGEST_RELATIVE_OFFSET: Final = 2**31 - 1
_NO_PRODUCERS: Final[Mapping[int, ProducerStateEntry]] = MappingProxyType({})
OFFSET_INDEX_ENTRY_BYTES: Final = 8
TIME_INDEX_ENTRY_BYTES: Final = 12


class LogSegment:
    """Batches from `base_offset` on. `last_offsets` has the last offset of each one, for binary search."""

    __slots__ = (
        "_index_at",
        "_index_entries_max",
        "_index_interval_bytes",
        "_last_indexed_timestamp",
        "_limits_of",
        "_roll_at",
        "_roll_jitter_ms",
        "_rolls_by_record_time",
        "_size_max",
        "_time_entries",
        "_time_entries_max",
        "aborted_transactions",
        "age_timestamp_min",
        "base_offset",
        "batches",
        "created_ms",
        "indexed_offsets",
        "indexed_positions",
        "indexes_full",
        "last_offsets",
        "max_timestamp",
        "modified_ms",
        "producer_snapshot",
        "size",
    )

    def __init__(
        self,
        base_offset: int,
        created_ms: int,
        config: TopicConfig,
        *,
        roll_jitter_ms: int = 0,
        producer_snapshot: Mapping[int, ProducerStateEntry] | None = None,
    ) -> None:
        """Make an empty segment; `producer_snapshot` has the log's producer states at the start of the segment."""
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.modified_ms = created_ms
        self.producer_snapshot = producer_snapshot or _NO_PRODUCERS
        self.aborted_transactions: list[AbortedTransaction] = []
        """The transactions whose abort markers are in this segment, in the order of the markers."""
        self._roll_jitter_ms = roll_jitter_ms
        self._size_max = 0
        self._roll_at: float = 0
        self._rolls_by_record_time = False
        self.configure(config)
        self._clear()

    def configure(self, config: TopicConfig) -> None:
        """Use the index limits of a configuration from now on."""
        self._limits_of: TopicConfig | None = None
        """The configuration of the limits of `should_roll`; None while they are not known."""
        self.age_timestamp_min = config.age_timestamp_min
        self._index_interval_bytes = config.index_interval_bytes
        self._index_entries_max = config.segment_index_bytes // OFFSET_INDEX_ENTRY_BYTES
        # The time index reserves its last entry for the roll.
        self._time_entries_max = config.segment_index_bytes // TIME_INDEX_ENTRY_BYTES - 1

    def _clear(self) -> None:
        self._limits_of = None
        self.batches: list[StoredBatch] = []
        self.last_offsets: list[int] = []
        self.size = 0
        self.max_timestamp = NO_TIMESTAMP
        self._index_at = self._index_interval_bytes
        self.indexed_offsets: list[int] = []
        """The offset index: the last offset of a batch, and (`indexed_positions`) the byte at which it begins."""
        self.indexed_positions: list[int] = []
        self._time_entries = 0
        self._last_indexed_timestamp = NO_TIMESTAMP
        self._update_indexes_full()

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp of the records; the time of the last append if the records have no valid timestamp."""
        return self.max_timestamp if self.max_timestamp >= self.age_timestamp_min else self.modified_ms

    @property
    def first_timestamp(self) -> int:
        """The max timestamp of the first batch, -1 in an empty segment."""
        return self.batches[0].max_timestamp if self.batches else NO_TIMESTAMP

    @property
    def offset_index_bytes(self) -> int:
        """The size of the offset index."""
        return len(self.indexed_offsets) * OFFSET_INDEX_ENTRY_BYTES

    @property
    def time_index_bytes(self) -> int:
        """The size of the time index."""
        return self._time_entries * TIME_INDEX_ENTRY_BYTES

    def should_roll(self, config: TopicConfig, batch: StoredBatch, now_ms: int) -> bool:
        """True if a batch needs a new segment: segment.bytes, segment.ms, an index or the relative offset is full."""
        if self._limits_of is not config:
            self._set_limits(config)
        return (
            self.size + batch.size > self._size_max
            or (batch.max_timestamp if self._rolls_by_record_time else now_ms) > self._roll_at
            or self.indexes_full
            or batch.last_offset - self.base_offset > _LARGEST_RELATIVE_OFFSET
        )

    def _set_limits(self, config: TopicConfig) -> None:
        """Compute size and time of the roll; the time is known when the segment has its first batch."""
        self._size_max = config.segment_bytes
        self._roll_at = math.inf
        if self.batches:
            # Record time if the first batch has a valid timestamp, else the age of the segment.
            first = self.batches[0].max_timestamp
            self._rolls_by_record_time = first >= self.age_timestamp_min
            start = first if self._rolls_by_record_time else self.created_ms
            self._roll_at = start + config.max_segment_ms - self._roll_jitter_ms
            self._limits_of = config

    def append(self, batch: StoredBatch) -> None:
        """Add a batch at the end."""
        self.batches.append(batch)
        self.last_offsets.append(batch.last_offset)
        if batch.max_timestamp > self.max_timestamp:  # noqa: PLR1730 - a call would cost more than the comparison
            self.max_timestamp = batch.max_timestamp
        if self.size > self._index_at:
            self._index()
        self.size += batch.size

    def _index(self) -> None:
        self._index_at = self.size + self._index_interval_bytes
        self.indexed_offsets.append(self.last_offsets[-1])
        self.indexed_positions.append(self.size)
        if self.max_timestamp > self._last_indexed_timestamp:
            self._last_indexed_timestamp = self.max_timestamp
            self._time_entries += 1
        self._update_indexes_full()

    def _update_indexes_full(self) -> None:
        self.indexes_full = (
            len(self.indexed_offsets) >= self._index_entries_max or self._time_entries >= self._time_entries_max
        )

    def index_of(self, offset: int) -> int:
        """Return the index of the first batch that ends at or after an offset; the number of batches if none does."""
        return bisect_left(self.last_offsets, offset)

    def append_aborted(self, transaction: AbortedTransaction) -> None:
        """Add the transaction that the segment's last batch has aborted."""
        self.aborted_transactions.append(transaction)

    def upper_bound_offset(self, offset: int, size: int) -> int | None:
        """Return an offset that is not below the end of `size` bytes from the batch with `offset` on.

        It is the offset of the first entry of the offset index at or after that end (after it, if the entry is the
        first of all), None if there is none. Mirrors OffsetIndex.fetchUpperBoundOffset.
        """
        first = self.index_of(offset)
        position = batch = 0
        entry = bisect_right(self.indexed_offsets, offset) - 1
        if entry >= 0:
            position = self.indexed_positions[entry]
            batch = self.index_of(self.indexed_offsets[entry])
        position += sum(each.size for each in self.batches[batch:first])
        positions = self.indexed_positions
        after = bisect_left(positions, position + size)
        if after == 0 and positions and positions[0] == position + size:
            after = 1  # Kafka's binary search does not compare the first entry with the end
        return self.indexed_offsets[after] if after < len(self.indexed_offsets) else None

    def truncate_to(self, offset: int) -> list[StoredBatch]:
        """Remove and return the batches that end at or after an offset."""
        self.aborted_transactions = kept_before(self.aborted_transactions, offset)
        index = self.index_of(offset)
        kept, removed = self.batches[:index], self.batches[index:]
        if removed:
            self._clear()
            self.extend(kept)
        return removed

    def extend(self, batches: Iterable[StoredBatch]) -> None:
        """Add batches at the end, in order."""
        for batch in batches:
            self.append(batch)
