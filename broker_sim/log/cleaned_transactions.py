"""Transactions during compaction: which records were aborted, and which markers can be deleted.

Mirrors CleanedTransactionMetadata. A marker can be deleted when no record of its transaction remains before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.records.control_records import ControlRecordType, control_record_type
from protocol_specs.records.record_batch import read_records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.log.transaction_index import AbortedTransaction


class CleanedTransactions:
    """Reads the batches of a log in order and finds for each whether its transaction was aborted or has ended."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        """`aborted` are the transactions in the indexes of the log that overlap with the batches."""
        self._aborted = sorted(aborted, key=_first_offset, reverse=True)
        self._ongoing_aborted: dict[int, AbortedTransaction] = {}
        self._seen: dict[int, None] = {}
        """The producers whose ongoing aborted transaction still has a batch."""
        self._ongoing_committed: dict[int, None] = {}
        self.retained: list[AbortedTransaction] = []
        """The aborted transactions whose markers stay, since a batch of theirs was read: the new index."""

    def batch_is_aborted(self, batch: StoredBatch) -> bool:
        """Return True if an abort marker follows a batch of records."""
        if not batch.is_transactional:
            return False
        self._begin_up_to(batch.last_offset)
        if batch.producer_id in self._ongoing_aborted:
            self._seen[batch.producer_id] = None
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
            return not self._aborted_ends(batch.producer_id)
        if kind is ControlRecordType.COMMIT:
            known = batch.producer_id in self._ongoing_committed
            self._ongoing_committed.pop(batch.producer_id, None)
            return not known
        return False

    def _aborted_ends(self, producer_id: int) -> bool:
        """Return True if a batch of the transaction was read."""
        transaction = self._ongoing_aborted.pop(producer_id, None)
        if transaction is None or producer_id not in self._seen:
            return False
        del self._seen[producer_id]
        self.retained.append(transaction)
        return True

    def _begin_up_to(self, offset: int) -> None:
        while self._aborted and self._aborted[-1].first_offset <= offset:
            transaction = self._aborted.pop()
            self._ongoing_aborted.setdefault(transaction.producer_id, transaction)


def _type_of(batch: StoredBatch) -> ControlRecordType:
    records = read_records(batch.data)
    return control_record_type(records[0]) if records else ControlRecordType.UNKNOWN


def _first_offset(transaction: AbortedTransaction) -> int:
    return transaction.first_offset
