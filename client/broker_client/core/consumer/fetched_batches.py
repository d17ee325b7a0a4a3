"""Batches as they were fetched, and the records in them. Mirrors CompletedFetch and ConsumerRecord.

Control records are left out; so are, with read_committed, those of transactions that were aborted: the broker names
their producers with the offset from which on they count, and the producer's abort marker ends it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker_client.errors import RecordTooLarge
from protocol_specs.records.batch_peek import LOG_OVERHEAD, MAGIC_OFFSET, MAGIC_V2, RECORD_BATCH_OVERHEAD
from protocol_specs.records.control_records import ControlRecordType, control_record_type
from protocol_specs.records.record_reader import read_records
from protocol_specs.records.record_rows import RowReader
from protocol_specs.records.record_set import check_any, iterate_any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_client.records import TopicPartition
    from protocol_specs.messages.fetch import AbortedTransaction
    from protocol_specs.records.record_set import AnyHeader

__all__ = ["ConsumerRecord", "FetchedBatch", "FetchedPartition"]


class ConsumerRecord(NamedTuple):
    """A record as it stands in a log; `leader_epoch` is -1 in the formats before 0.11. Mirrors ConsumerRecord.

    `key` and `value` are bytes, or what key.deserializer and value.deserializer return; null is None.
    `delivery_count` counts the deliveries to a share group, this one included; None outside share groups.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: Any
    value: Any
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int
    delivery_count: int | None = None


# In C, as ConsumerRecord._make is not.
_NEW_RECORD: Final = partial(tuple.__new__, ConsumerRecord)


@dataclass(slots=True, kw_only=True, frozen=True)
class FetchedBatch:
    """A batch as it was fetched; those of its records count that are at `position` or after it."""

    topic_partition: TopicPartition
    position: int
    next_offset: int
    leader_epoch: int
    batch: bytes | memoryview

    def reader(self) -> RowReader:
        """Return a reader of its records from the position on. Raises RecordBatchError if one cannot be read."""
        before, after = tuple(self.topic_partition), (self.leader_epoch, None)
        return RowReader(self.batch, before=before, after=after, make=_NEW_RECORD, first_offset=self.position)

    @property
    def size_bytes(self) -> int:
        """The bytes of its records, compressed if they are."""
        return len(self.batch) - (RECORD_BATCH_OVERHEAD if self.batch[MAGIC_OFFSET] == MAGIC_V2 else 0)

    def record_count(self, position: int) -> int:
        """The number of its records from a position on, if none of them was compacted away."""
        return self.next_offset - max(position, int.from_bytes(self.batch[:8], "big"))

    def records(self) -> list[ConsumerRecord]:
        """Return its records from the position on. Raises RecordBatchError if one cannot be read."""
        return self.reader().portion(sys.maxsize).rows()


class FetchedPartition:
    """One partition of a response, from the requested position; read once."""

    def __init__(
        self,
        key: TopicPartition,
        records: bytes | memoryview,
        position: int,
        *,
        aborted: Sequence[AbortedTransaction] | None = None,
        check_crcs: bool = True,
        partition_max_bytes: int = 0,
    ) -> None:
        self._key = key
        self._records = records
        self._check_crcs = check_crcs
        self._partition_max_bytes = partition_max_bytes
        # None: read_uncommitted, or nothing was aborted. The newest first, so that the oldest is popped.
        self._aborted = sorted(aborted, key=lambda one: -one.first_offset) if aborted else None
        self._aborted_producers: dict[int, None] = {}
        self.next_offset = position
        self.last_epoch = -1

    def batches(self) -> list[FetchedBatch]:
        """Return the records that a consumer sees; afterwards `next_offset` is the position to read on from.

        Raises RecordTooLarge when not even one batch fitted, and ChecksumMismatch.
        """
        position = self.next_offset
        found: list[FetchedBatch] = []
        whole = False
        for header, batch in iterate_any(self._records):
            whole = True
            if header.last_offset < position:
                continue
            if self._check_crcs:
                check_any(batch)
            if self._is_seen(header, batch):
                found.append(
                    FetchedBatch(
                        topic_partition=self._key,
                        position=position,
                        next_offset=header.next_offset,
                        leader_epoch=header.partition_leader_epoch,
                        batch=batch,
                    )
                )
            self.next_offset = header.next_offset
            self.last_epoch = header.partition_leader_epoch
        if len(self._records) and not whole:
            # Brokers before 0.10.1 cut even the first message off.
            size = int.from_bytes(self._records[8:LOG_OVERHEAD], "big") + LOG_OVERHEAD
            raise RecordTooLarge(size, self._partition_max_bytes, "max.partition.fetch.bytes")
        return found

    def _is_seen(self, header: AnyHeader, batch: memoryview) -> bool:
        if self._aborted is None or not header.has_producer_id:
            return not header.is_control
        while self._aborted and self._aborted[-1].first_offset <= header.last_offset:
            self._aborted_producers[self._aborted.pop().producer_id] = None
        if header.is_control:
            if _is_abort_marker(batch):
                self._aborted_producers.pop(header.producer_id, None)
            return False
        return not (header.is_transactional and header.producer_id in self._aborted_producers)


def _is_abort_marker(batch: memoryview) -> bool:
    records = read_records(batch)
    return bool(records) and control_record_type(records[0]) is ControlRecordType.ABORT
