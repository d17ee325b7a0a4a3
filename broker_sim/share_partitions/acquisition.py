"""The records that one fetch acquires in a share partition. Mirrors SharePartition.acquire (KIP-932, KIP-1206).

The fetch has read batches of the log. Those that overlap batches in delivery are delivered again where they are
available; the others are new. Records whose deliveries have failed are isolated from others: from half of the delivery
limit on a batch goes out alone and in halving pieces, at the last attempt record by record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.coordinators.share.state_batches import StateBatch
from broker_sim.share_partitions.in_flight_batch import InFlightBatch
from broker_sim.share_partitions.in_flight_state import InFlightState
from broker_sim.share_partitions.record_states import RecordState
from broker_sim.share_partitions.start_offset import archive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.share_partitions.share_partition import SharePartition

__all__ = ["AcquireRequest", "AcquiredRange", "acquire"]

LOWEST_ISOLATION_COUNT: Final = 2


class AcquiredRange(NamedTuple):
    """Acquired offsets with one delivery count."""

    first_offset: int
    last_offset: int
    delivery_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquireRequest:
    """The limits of one member for one partition; `max_records` is a hard limit with `record_limit`."""

    member_id: str
    record_limit: bool
    batch_size: int
    max_records: int
    fetch_offset: int


def acquire(
    partition: SharePartition, request: AcquireRequest, batches: Sequence[StoredBatch]
) -> tuple[list[AcquiredRange], int]:
    """Acquire records of the batches; return their ranges, and how many offsets count for the request."""
    if not partition.is_active or request.max_records <= 0 or not batches:
        return [], 0
    if batches[-1].last_offset < partition.start_offset:
        return [], 0
    limits = _limits(partition, request, batches[-1].last_offset)
    if limits is None:
        return [], 0
    ranges, count = _Acquisition(partition, request, batches, *limits).run()
    for first, last, delivery_count in ranges:
        partition.report(request.member_id, StateBatch(first, last, delivery_count, RecordState.ACQUIRED))
    return ranges, count


def _limits(partition: SharePartition, request: AcquireRequest, last_offset: int) -> tuple[int, int] | None:
    """Return the last offset to acquire, and how many; None at the limit of records in delivery."""
    limit = partition.settings.in_flight_limit(partition.key.group_id)
    count = min(request.max_records, limit - partition.in_flight_count)
    if count > 0:
        return last_offset, count
    if request.fetch_offset > partition.end_offset:
        return None
    # At the limit records in delivery may be available again, but no new ones.
    count = min(request.max_records, partition.end_offset - request.fetch_offset + 1)
    return min(last_offset, partition.end_offset), count


class _Acquisition:
    def __init__(
        self,
        partition: SharePartition,
        request: AcquireRequest,
        batches: Sequence[StoredBatch],
        last_offset: int,
        max_records: int,
    ) -> None:
        self._partition = partition
        self._request = request
        self._log_batches = batches
        self._first_offset = batches[0].base_offset
        self._last_offset = last_offset
        self._max_records = max_records
        self._ranges: list[AcquiredRange] = []
        self._count = 0
        limit = partition.delivery_limit
        self._delivery_limit = limit
        self._isolation_count = max(LOWEST_ISOLATION_COUNT, (limit + 1) // 2)

    @property
    def _remaining(self) -> int:
        return self._max_records - self._count

    def run(self) -> tuple[list[AcquiredRange], int]:
        partition = self._partition
        self._archive_missing()
        base = self._first_offset
        floor = partition.batches.floor(base)
        if floor is None:
            base = max(base, partition.start_offset)
        elif floor.last_offset >= base:
            base = floor.first_offset
        overlapping = partition.batches.between(min(self._first_offset, base), self._last_offset)
        if not overlapping:
            self._acquire_new(base, self._last_offset)
            return self._ranges, self._count
        self._acquire_overlapping(overlapping, base)
        if self._remaining > 0 and overlapping[-1].last_offset < self._last_offset:
            self._acquire_new(overlapping[-1].last_offset + 1, self._last_offset)
        if self._ranges:
            self._move_gap(self._ranges[-1].last_offset + 1)
        return self._ranges, self._count

    def _archive_missing(self) -> None:
        """Archive records between the fetch offset and the first batch read: compaction has removed them."""
        partition, fetch_offset = self._partition, self._request.fetch_offset
        if not len(partition.batches) or fetch_offset >= self._first_offset:
            return
        floor = partition.batches.floor(fetch_offset)
        begin = floor.first_offset if floor is not None and floor.last_offset >= fetch_offset else fetch_offset
        missing = partition.batches.between(begin, self._first_offset - 1)
        if archive(
            partition,
            fetch_offset,
            self._first_offset,
            missing,
            of_state=RecordState.AVAILABLE,
            count=True,
            reason="removed by compaction",
        ):
            partition.search_available = True

    # Batches that are in delivery.

    def _acquire_overlapping(self, overlapping: Sequence[InFlightBatch], base: int) -> None:
        partition = self._partition
        gap_start = base
        for batch in overlapping:
            if self._remaining <= 0:
                return
            if partition.has_read_gap:
                if gap_start < batch.first_offset:
                    self._acquire_new(gap_start, batch.first_offset - 1)
                gap_start = batch.last_offset + 1
                if self._remaining <= 0:
                    return
            isolated = self._is_isolated(batch)
            if isolated and self._count > 0:
                self._max_records = 0
                return
            before = self._count
            self._acquire_again(batch, isolated=isolated)
            if isolated and self._count > before:
                self._max_records = 0
                return

    def _is_isolated(self, batch: InFlightBatch) -> bool:
        counts = [
            state.delivery_count
            for first, _, state in batch.parts()
            if state.is_available and (batch.whole is not None or self._first_offset <= first <= self._last_offset)
        ]
        return max(counts, default=0) >= self._isolation_count

    def _acquire_again(self, batch: InFlightBatch, *, isolated: bool) -> None:
        whole = batch.whole
        too_many = self._request.record_limit and batch.size > self._remaining
        is_part = too_many or isolated or not batch.is_within(self._first_offset, self._last_offset)
        if whole is not None and not whole.is_available:
            return
        if whole is None or is_part:
            batch.split(self._partition.locks)
            self._acquire_offsets(batch)
            return
        whole.acquire(self._request.member_id)
        whole.lock = self._partition.locks.lock(batch.first_offset, batch.last_offset, self._partition.lock_ms)
        self._ranges.append(AcquiredRange(batch.first_offset, batch.last_offset, whole.delivery_count))
        self._count += batch.size

    def _acquire_offsets(self, batch: InFlightBatch) -> None:
        partition, limit = self._partition, self._delivery_limit
        isolates_last = limit > LOWEST_ISOLATION_COUNT
        remaining, piece = self._remaining, 0
        acquired: list[AcquiredRange] = []
        for offset, state in batch.states_between(self._first_offset, self._last_offset):
            if not state.is_available:
                continue
            count = state.delivery_count
            if isolates_last and count == limit - 1 and acquired:
                break
            if count >= self._isolation_count and not piece:
                piece = max(1, batch.size >> (count - self._isolation_count + 1))
            state.acquire(self._request.member_id)
            state.lock = partition.locks.lock(offset, offset, partition.lock_ms)
            acquired.append(AcquiredRange(offset, offset, state.delivery_count))
            if (
                (isolates_last and state.delivery_count == limit)
                or (self._request.record_limit and len(acquired) == remaining)
                or len(acquired) == piece
            ):
                break
        self._count += len(acquired)
        self._ranges += _merged(acquired)

    # New batches.

    def _acquire_new(self, first_offset: int, last_offset: int) -> None:
        partition, limit = self._partition, self._remaining
        first = first_offset
        if not len(partition.batches) and partition.end_offset > first:
            first = partition.end_offset
        last = last_offset
        if limit < last - first + 1:
            # Whole batches are in delivery, also where fewer records are acquired.
            last = self._batch_end(first + limit - 1)
            if partition.has_read_gap and last > last_offset:
                last = last_offset
        ranges = self._add_batches(first, last, limit)
        if partition.batches.first.first_offset == first:
            partition.start_offset = first
        partition.end_offset = max(partition.end_offset, last)
        if self._request.record_limit:
            last = ranges[0].last_offset
        self._move_gap(last + 1)
        self._ranges += ranges
        self._count += last - first + 1

    def _batch_end(self, offset: int) -> int:
        found = None
        for batch in self._log_batches:
            if offset < batch.base_offset:
                break
            found = batch
        return found.last_offset if found is not None and offset <= found.last_offset else offset

    def _add_batches(self, first: int, last: int, limit: int) -> list[AcquiredRange]:
        partition, member_id = self._partition, self._request.member_id
        if self._request.record_limit and last - first + 1 > limit:
            batch = InFlightBatch(first, last, InFlightState(RecordState.ACQUIRED, 1, member_id))
            batch.split_acquired(first + limit - 1, partition.locks, partition.lock_ms)
            partition.batches.add(batch)
            partition.search_available = True
            return [AcquiredRange(first, first + limit - 1, 1)]
        ranges = self._divided(first, last)
        for each in ranges:
            lock = partition.locks.lock(each.first_offset, each.last_offset, partition.lock_ms)
            state = InFlightState(RecordState.ACQUIRED, 1, member_id, lock)
            partition.batches.add(InFlightBatch(each.first_offset, each.last_offset, state))
        return ranges

    def _divided(self, first: int, last: int) -> list[AcquiredRange]:
        """Divide a range at the batches of the log, so that each part has at least `batch_size` records."""
        batch_size = self._request.batch_size
        ranges: list[AcquiredRange] = []
        begin = first
        if not self._request.record_limit and last - first + 1 > batch_size:
            for batch in self._log_batches:
                if batch.base_offset > last:
                    break
                if batch.base_offset - begin >= batch_size:
                    ranges.append(AcquiredRange(begin, batch.base_offset - 1, 1))
                    begin = batch.base_offset
        ranges.append(AcquiredRange(begin, last, 1))
        return ranges

    def _move_gap(self, offset: int) -> None:
        """Note that the gaps of the stored state are read up to an offset."""
        partition = self._partition
        gap = partition.read_gap
        if gap is None:
            return
        if gap.end_offset == partition.end_offset and offset <= gap.end_offset:
            gap.start_offset = offset
        else:
            partition.read_gap = None


def _merged(ranges: Sequence[AcquiredRange]) -> list[AcquiredRange]:
    """Merge neighbours of the same delivery count."""
    merged: list[AcquiredRange] = []
    for each in ranges:
        if merged and merged[-1].last_offset + 1 == each.first_offset and merged[-1][2] == each.delivery_count:
            merged[-1] = merged[-1]._replace(last_offset=each.last_offset)
        else:
            merged.append(each)
    return merged
