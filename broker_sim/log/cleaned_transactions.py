"""Transactions during compaction: which records were aborted, and which markers can be deleted.

Mirrors CleanedTransactionMetadata. A marker can be deleted when no record of its transaction remains before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from protocol_specs.records.control_records import ControlRecordType, control_record_type
from protocol_specs.records.record_batch import read_records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.log.stored_batch import StoredBatch


class AbortedTransaction(NamedTuple):
    """One aborted transaction: from its first record's offset to its marker's. Mirrors AbortedTxn."""

    producer_id: int
    first_offset: int
    last_offset: int


def aborted_transactions(batches: Iterable[StoredBatch]) -> list[AbortedTransaction]:
    """Return the aborted transactions of a log in the order of their first offsets."""
    ongoing: dict[int, int] = {}
    found = []
    for batch in batches:
        if batch.is_control:
            first_offset = ongoing.pop(batch.producer_id, None)
            if first_offset is not None and _type_of(batch) is ControlRecordType.ABORT:
                found.append(AbortedTransaction(batch.producer_id, first_offset, batch.last_offset))
        elif batch.is_transactional:
            ongoing.setdefault(batch.producer_id, batch.base_offset)
    return sorted(found, key=_first_offset)


class CleanedTransactions:
    """Reads the batches of a log in order and finds for each whether its transaction was aborted or has ended."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._aborted = list(aborted)[::-1]
        self._ongoing_aborted: dict[int, bool] = {}
        self._ongoing_committed: dict[int, None] = {}

    def batch_is_aborted(self, batch: StoredBatch) -> bool:
        """Return True if an abort marker follows a batch of records."""
        if not batch.is_transactional:
            return False
        self._begin_up_to(batch.last_offset)
        if batch.producer_id in self._ongoing_aborted:
            self._ongoing_aborted[batch.producer_id] = True
            return True
        self._ongoing_committed[batch.producer_id] = None
        return False

    def control_batch_read(self, batch: StoredBatch) -> bool:
        """Return True if a control batch can be deleted: no batch of its transaction was read before it."""
        self._begin_up_to(batch.last_offset)
        if not batch.records_count:
            return True
        kind = _type_of(batch)
        if kind is ControlRecordType.ABORT:
            return not self._ongoing_aborted.pop(batch.producer_id, False)
        if kind is ControlRecordType.COMMIT:
            known = batch.producer_id in self._ongoing_committed
            self._ongoing_committed.pop(batch.producer_id, None)
            return not known
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._aborted and self._aborted[-1].first_offset <= offset:
            self._ongoing_aborted.setdefault(self._aborted.pop().producer_id, False)


def _type_of(batch: StoredBatch) -> ControlRecordType:
    records = read_records(batch.data)
    return control_record_type(records[0]) if records else ControlRecordType.UNKNOWN


def _first_offset(transaction: AbortedTransaction) -> int:
    return transaction.first_offset
