"""How the start offset of a share partition moves: after finished records, and with the log's start.

Mirrors SharePartition.maybeUpdateCachedStateAndOffsets and updateCacheAndOffsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.share.state_batches import StateBatch
from broker_sim.share_partitions.record_states import RecordState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.share_partitions.in_flight_batch import InFlightBatch
    from broker_sim.share_partitions.in_flight_state import InFlightState
    from broker_sim.share_partitions.share_partition import SharePartition

__all__ = ["advance_start_offset", "archive", "move_to_log_start"]


def advance_start_offset(partition: SharePartition) -> bool:
    """Move the start offset after the finished records at the beginning; return True if it could move."""
    if not _start_is_finished(partition):
        return False
    last_finished, finished_count = _last_finished(partition)
    if last_finished is None:
        return False
    batches = partition.batches
    if last_finished == batches.last.last_offset:
        partition.start_offset = partition.end_offset = last_finished + 1
        partition.complete_count = 0
        batches.clear()
        return True
    batch = batches.floor(last_finished)
    assert batch is not None
    if last_finished == batch.last_offset:
        following = batches.following(last_finished)
        assert following is not None
        partition.start_offset = max(partition.start_offset, following.first_offset)
        if partition.read_gap is not None and partition.has_read_gap:
            partition.start_offset = min(partition.read_gap.start_offset, partition.start_offset)
        batches.remove_before(batch.first_offset + 1)
    else:
        partition.start_offset = max(partition.start_offset, last_finished + 1)
        batches.remove_before(batch.first_offset)
    partition.complete_count -= finished_count
    return True


def _start_is_finished(partition: SharePartition) -> bool:
    batch = partition.batches.floor(partition.start_offset) if len(partition.batches) else None
    if batch is None:
        return False
    state = batch.offsets.get(partition.start_offset) if batch.whole is None else batch.whole
    return state is not None and _is_finished(state)


def _is_finished(state: InFlightState) -> bool:
    return state.state.is_terminal and not state.in_transition


def _last_finished(partition: SharePartition) -> tuple[int | None, int]:
    """Return the last offset of the finished records at the beginning, and their number from the start offset on."""
    last_finished: int | None = None
    count = 0
    for batch in partition.batches:
        gap = partition.read_gap
        if gap is not None and partition.has_read_gap and batch.last_offset >= gap.start_offset:
            break
        for first, last, state in batch.parts():
            if not _is_finished(state):
                return last_finished, count
            last_finished = last
            count += partition.count_from_start(first, last)
    return last_finished, count


def move_to_log_start(partition: SharePartition, log_start_offset: int) -> None:
    """Archive the available records below the log's start, and begin there. It is stored with the next change."""
    if log_start_offset <= partition.start_offset:
        return
    if not len(partition.batches):
        partition.start_offset = partition.end_offset = log_start_offset
        partition.complete_count = 0
        return
    finished = _finished_below(partition, log_start_offset)
    if archive(
        partition,
        partition.start_offset,
        log_start_offset,
        partition.batches,
        of_state=RecordState.AVAILABLE,
        count=False,
        reason="below the start of the log",
    ):
        partition.search_available = True
    partition.start_offset = log_start_offset
    partition.complete_count -= finished
    partition.end_offset = max(partition.end_offset, log_start_offset)


def _finished_below(partition: SharePartition, log_start_offset: int) -> int:
    return sum(
        partition.count_from_start(first, min(last, log_start_offset - 1))
        for batch in partition.batches
        for first, last, state in batch.parts()
        if state.state.is_terminal
    )


def archive(
    partition: SharePartition,
    first_offset: int,
    end_offset: int,
    batches: Iterable[InFlightBatch],
    *,
    of_state: RecordState,
    count: bool,
    reason: str,
) -> bool:
    """Archive records of a state in a range, without `end_offset`; return True if there was one.

    With `count` they count as finished; the journal has the `reason`. Mirrors archiveRecords.
    """
    archived = False
    for batch in batches:
        if batch.first_offset >= end_offset:
            break
        if not batch.is_within(first_offset, end_offset - 1):
            if batch.whole is not None and batch.whole.state is not of_state:
                continue
            batch.split(partition.locks)
        for first, last, state in batch.parts():
            if first_offset <= first and last < end_offset and state.state is of_state:
                state.archive()
                archived = True
                partition.report("", StateBatch(first, last, state.delivery_count, state.state), reason)
                if count:
                    partition.complete_count += last - first + 1
    return archived
