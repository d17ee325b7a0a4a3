"""A ProducerBatch in the formats before record batches: message sets of magic 0 and 1.

Mirrors what ProducerBatch and MemoryRecordsBuilder of Kafka up to 3.x do for brokers before 0.11 (KIP-98): offsets
count from 0, compressed messages are in a wrapper, headers and producer ids have no place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from broker_client.core.batching.producer_batch import Compression, ProducerBatch
from broker_client.errors import UnsupportedVersion
from protocol_specs.records.batch_peek import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from protocol_specs.records.message_set_builder import MessageSetBuilder, message_size
from protocol_specs.records.record_set import read_any_record_set

if TYPE_CHECKING:
    from broker_client.core.batching.compression_ratio import CompressionRatioEstimator
    from broker_client.core.producer.future_record_metadata import DeliveryCallback, FutureRecordMetadata
    from broker_client.records import Headers, TopicPartition
    from protocol_specs.records.batch_builder import RecordBatchBuilder
    from protocol_specs.records.record_reader import Record

__all__ = ["MessageSetBatch"]


class _MessageSetAppender(MessageSetBuilder):
    """A message set builder that takes the place of a record batch builder."""

    __slots__ = ()

    # A message has none of these.
    base_sequence = NO_SEQUENCE
    producer_id = NO_PRODUCER_ID
    producer_epoch = NO_PRODUCER_EPOCH
    is_transactional = False

    def append(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
        """Add a record at the next offset and return its size."""
        if headers:
            raise UnsupportedVersion(f"messages of magic {self.magic} have no headers: they need brokers of 0.11")
        return super().append(timestamp_ms, key, value)

    def pack(self) -> None:
        """Messages are bytes already."""


class MessageSetBatch(ProducerBatch):
    """For a leader whose Produce takes nothing newer than `magic`."""

    __slots__ = ()  # a trace's batch may be of this kind, too

    def __init__(
        self,
        topic_partition: TopicPartition,
        *,
        magic: int,
        number: int,
        compression: Compression,
        estimator: CompressionRatioEstimator,
        write_limit_bytes: int,
        granted_bytes: int,
        now_ms: int,
    ) -> None:
        super().__init__(
            topic_partition,
            number=number,
            compression=compression,
            estimator=estimator,
            write_limit_bytes=write_limit_bytes,
            granted_bytes=granted_bytes,
            now_ms=now_ms,
        )
        self.magic = magic
        builder = _MessageSetAppender(magic=magic, codec=compression.codec, level=compression.level)
        self._builder = cast("RecordBatchBuilder", builder)  # it has the methods that a batch uses
        self.estimated_size_in_bytes = builder.size_in_bytes
        # Its room is checked exactly, record by record.
        self._surely_fits_bytes = 0

    def try_append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        on_delivery: DeliveryCallback | None,
        now_ms: int,
    ) -> FutureRecordMetadata | None:
        """Add a record if there is room. One with headers gets a batch of its own, which refuses it."""
        if headers and self.record_count:
            return None
        return super().try_append(timestamp_ms, key, value, headers, on_delivery, now_ms)

    @property
    def can_split(self) -> bool:
        """A broker measures messages that are not in a wrapper one by one: to part them changes nothing."""
        return super().can_split and bool(self._builder.codec)

    @property
    def compression_ratio(self) -> float:
        """Bytes of the wrapper's messages per byte that was appended; its own overhead does not count."""
        built = self._bytes
        if built is None:
            return 1.0
        return (len(built) - self._empty_size) / max(self._builder.size_in_bytes - self._empty_size, 1)

    @property
    def _empty_size(self) -> int:
        return message_size(self.magic, None, None) if self._builder.codec else 0

    def _records(self) -> list[Record]:
        return list(read_any_record_set(self.close()))

    def _part(self, number: int, write_limit_bytes: int) -> ProducerBatch:
        return MessageSetBatch(
            self.topic_partition,
            magic=self.magic,
            number=number,
            compression=Compression(codec=self._builder.codec, level=self._builder.level),
            estimator=self._estimator,
            write_limit_bytes=write_limit_bytes,
            granted_bytes=0,
            now_ms=self.created_ms,
        )

    def _grown(self, size: int) -> int:
        return self._empty_size + int((size - self._empty_size) * self._growth)

    def _has_room_for(
        self,
        timestamp_ms: int,  # noqa: ARG002 - as wide in each message
        key: bytes | None,
        value: bytes | None,
        headers: Headers,  # noqa: ARG002 - there are none
    ) -> bool:
        return self._write_limit_bytes >= self.estimated_size_in_bytes + message_size(self.magic, key, value)
