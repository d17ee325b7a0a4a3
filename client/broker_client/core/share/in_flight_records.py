"""Records that were delivered and await their acknowledgement. Mirrors ShareFetch and ShareInFlightBatch."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from broker_client.core.share.acknowledgements import Acknowledgements, NodeAcknowledgements
from broker_client.errors import IllegalState
from broker_client.share_groups import AcknowledgeType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.consumer_errors import RecordDeserializationError
    from broker_client.core.consumer.fetched_batches import ConsumerRecord
    from broker_client.share_groups import CorruptRecords, TopicIdPartition

__all__ = ["InFlightBatch", "InFlightRecords", "UnreadableRecords"]

UnreadableRecords: TypeAlias = "CorruptRecords | RecordDeserializationError"

CANNOT_ACKNOWLEDGE = "The record cannot be acknowledged."


class InFlightBatch:
    """Delivered records of one partition; `error` is that of records which could not be read."""

    def __init__(self, node_id: int, lock_timeout_ms: int | None) -> None:
        self.node_id = node_id
        self.lock_timeout_ms = lock_timeout_ms
        self.error: UnreadableRecords | None = None
        self.ends_delivery = False  # True if the next record cannot be read, and waits for the next poll
        self._unreadable: Sequence[int] = ()
        self.acknowledgements = Acknowledgements()
        self._records: dict[int, ConsumerRecord] = {}
        self._acknowledged: dict[int, None] = {}
        self._renewing: dict[int, ConsumerRecord] = {}
        self._renewed: dict[int, ConsumerRecord] = {}

    @property
    def records(self) -> list[ConsumerRecord]:
        """The records in flight, by offset."""
        return [self._records[offset] for offset in sorted(self._records)]

    @property
    def has_records(self) -> bool:
        """True if records are in flight."""
        return bool(self._records)

    @property
    def is_empty(self) -> bool:
        """True if there are neither records nor acknowledgements."""
        return not (self._records or self.acknowledgements)

    @property
    def has_renewals(self) -> bool:
        """True if locks are being renewed, or were renewed since the last poll."""
        return bool(self._renewing or self._renewed)

    @property
    def is_acknowledged(self) -> bool:
        """True if the application has acknowledged every record."""
        return len(self._records) == len(self._acknowledged)

    def add_record(self, record: ConsumerRecord) -> None:
        """Deliver a record."""
        self._records[record.offset] = record

    def fail(self, error: UnreadableRecords, offsets: Sequence[int], kind: AcknowledgeType) -> None:
        """Acknowledge records that could not be read, unless the application chooses another type."""
        self.error, self._unreadable = error, offsets
        for offset in offsets:
            self.acknowledgements.add(offset, kind)

    def merge(self, other: InFlightBatch) -> None:
        """Add the records and gaps of another fetch of the partition."""
        self._records.update(other._records)
        self.acknowledgements.merge(other.acknowledgements)

    def acknowledge(self, offset: int, kind: AcknowledgeType, *, is_unreadable: bool) -> None:
        """Choose the type of a record in flight, or of an unreadable one; the last choice counts.

        Raises:
            IllegalState: there is no such record.
        """
        if offset not in (self._unreadable if is_unreadable else self._records):
            raise IllegalState(CANNOT_ACKNOWLEDGE)
        self.acknowledgements.add(offset, kind)
        if not is_unreadable:
            self._acknowledged[offset] = None

    def acknowledge_all(self, kind: AcknowledgeType) -> None:
        """Choose the type of all records that have none."""
        for offset in self._records:
            if self.acknowledgements.add_if_absent(offset, kind):
                self._acknowledged[offset] = None

    def take_acknowledged(self) -> Acknowledgements:
        """Remove the acknowledged records and return their acknowledgements, with those of gaps."""
        taken, self.acknowledgements = self.acknowledgements, Acknowledgements()
        for offset in self._acknowledged:
            record = self._records.pop(offset)
            if taken.types[offset] is AcknowledgeType.RENEW:
                self._renewing[offset] = record
        self._acknowledged = {}
        self.error, self._unreadable = None, ()
        return taken

    def renewed(self, completed: Acknowledgements) -> None:
        """Keep the records whose locks were renewed for the next poll; after an error, none."""
        for offset, kind in completed.types.items():
            record = self._renewing.pop(offset, None)
            if kind is AcknowledgeType.RENEW and record is not None and completed.error is None:
                self._renewed[offset] = record

    def take_renewed(self) -> None:
        """Return records with renewed locks to those in flight."""
        self._records.update(self._renewed)
        self._renewed = {}


class InFlightRecords:
    """The delivery of one poll; no more records are added once it `is_complete`."""

    def __init__(self) -> None:
        self.is_complete = False
        self._batches: dict[TopicIdPartition, InFlightBatch] = {}
        self.lock_timeout_ms: int | None = None
        self._renewed_lock_timeout_ms: int | None = None

    @property
    def records(self) -> list[ConsumerRecord]:
        """All records in flight, by partition."""
        return [record for batch in self._batches.values() for record in batch.records]

    @property
    def count(self) -> int:
        """The number of records in flight."""
        return sum(len(batch.records) for batch in self._batches.values())

    @property
    def is_empty(self) -> bool:
        """True if no records are in flight."""
        return not any(batch.has_records for batch in self._batches.values())

    @property
    def has_renewals(self) -> bool:
        """True if locks are being renewed, or were renewed since the last poll."""
        return any(batch.has_renewals for batch in self._batches.values())

    @property
    def is_acknowledged(self) -> bool:
        """True if the application has acknowledged every record."""
        return all(batch.is_acknowledged for batch in self._batches.values())

    def add(self, partition: TopicIdPartition, batch: InFlightBatch) -> None:
        """Add what was fetched from a partition."""
        known = self._batches.get(partition)
        if known is None:
            self._batches[partition] = batch
        else:
            known.merge(batch)
        if batch.lock_timeout_ms is not None:
            self.lock_timeout_ms = batch.lock_timeout_ms

    def acknowledge(
        self, topic: str, partition: int, offset: int, kind: AcknowledgeType, *, is_unreadable: bool = False
    ) -> None:
        """Choose the type of a record, or of one that could not be read.

        Raises:
            IllegalState: the last poll did not return the record, or it was acknowledged and sent.
        """
        for key, batch in self._batches.items():
            if key.topic == topic and key.partition == partition:
                batch.acknowledge(offset, kind, is_unreadable=is_unreadable)
                return
        raise IllegalState(CANNOT_ACKNOWLEDGE)

    def acknowledge_all(self, kind: AcknowledgeType) -> None:
        """Choose the type of all records that have none."""
        for batch in self._batches.values():
            batch.acknowledge_all(kind)

    def take_acknowledged(self) -> dict[TopicIdPartition, NodeAcknowledgements]:
        """Remove the acknowledged records and return the acknowledgements to send."""
        taken = {
            key: NodeAcknowledgements(batch.node_id, batch.take_acknowledged()) for key, batch in self._batches.items()
        }
        self._batches = {key: one for key, one in self._batches.items() if one.has_records or one.has_renewals}
        return {key: one for key, one in taken.items() if one.acknowledgements}

    def renewed(self, completed: Mapping[TopicIdPartition, Acknowledgements], lock_timeout_ms: int | None) -> None:
        """Take the outcome of acknowledgements among which are renewals."""
        for key, acknowledgements in completed.items():
            batch = self._batches.get(key)
            if batch is not None:
                batch.renewed(acknowledgements)
        self._renewed_lock_timeout_ms = lock_timeout_ms

    def take_renewed(self) -> None:
        """Return records with renewed locks to those in flight."""
        for batch in self._batches.values():
            batch.take_renewed()
        if self._renewed_lock_timeout_ms is not None:
            self.lock_timeout_ms = self._renewed_lock_timeout_ms
