"""The records of aborted transactions, which a share group with `share.isolation.level=read_committed` does not get.

They are archived right after they were acquired. Mirrors SharePartition.filterAbortedTransactionalAcquiredRecords.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.share_partitions.acquisition import AcquiredRange
from broker_sim.share_partitions.record_states import RecordState
from broker_sim.share_partitions.start_offset import archive
from protocol_specs.records.control_records import ControlRecordType, control_record_type
from protocol_specs.records.record_batch import read_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.log.transaction_index import AbortedTransaction
    from broker_sim.share_partitions.share_partition import SharePartition

__all__ = ["archive_aborted"]


def archive_aborted(
    partition: SharePartition,
    ranges: Sequence[AcquiredRange],
    batches: Iterable[StoredBatch],
    aborted: Sequence[AbortedTransaction],
) -> list[AcquiredRange]:
    """Archive the aborted batches of a fetch; return the acquired ranges without them."""
    removed = _aborted_batches(batches, aborted)
    for batch in removed:
        floor = partition.batches.floor(batch.base_offset)
        begin = batch.base_offset
        if floor is not None and floor.last_offset >= begin:
            begin = floor.first_offset
        in_delivery = partition.batches.between(begin, batch.last_offset)
        archive(
            partition,
            batch.base_offset,
            batch.next_offset,
            in_delivery,
            of_state=RecordState.ACQUIRED,
            count=True,
            reason="of an aborted transaction",
        )
    left = list(ranges)
    for batch in removed:
        left = [each for acquired in left for each in _without(acquired, batch)]
    return left


def _aborted_batches(batches: Iterable[StoredBatch], aborted: Sequence[AbortedTransaction]) -> list[StoredBatch]:
    """Return the batches between the start of an aborted transaction and its marker."""
    later = sorted(aborted, key=_first_offset, reverse=True)
    ongoing: dict[int, None] = {}
    found = []
    for batch in batches:
        if batch.producer_id < 0:
            continue
        while later and later[-1].first_offset <= batch.last_offset:
            ongoing[later.pop().producer_id] = None
        if batch.is_control and _is_abort(batch):
            ongoing.pop(batch.producer_id, None)
        elif batch.is_transactional and batch.producer_id in ongoing:
            found.append(batch)
    return found


def _without(acquired: AcquiredRange, batch: StoredBatch) -> list[AcquiredRange]:
    first, last = acquired.first_offset, acquired.last_offset
    if last < batch.base_offset or first > batch.last_offset:
        return [acquired]
    parts = ((first, batch.base_offset - 1), (batch.next_offset, last))
    return [AcquiredRange(begin, end, acquired.delivery_count) for begin, end in parts if begin <= end]


def _is_abort(batch: StoredBatch) -> bool:
    records = read_records(batch.data)
    return bool(records) and control_record_type(records[0]) is ControlRecordType.ABORT


def _first_offset(transaction: AbortedTransaction) -> int:
    return transaction.first_offset
