"""Valid records, batches and message sets of every magic and codec, with the records that a reader returns for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from protocol_specs.errors import CompressionUnavailable
from protocol_specs.records.batch_peek import NO_TIMESTAMP, TimestampType
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    end_transaction_marker_batch,
)
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.record_batch import Record, RecordBatchBuilder

if TYPE_CHECKING:
    from protocol_specs.fuzzing.choices import Choices
    from protocol_specs.records.record_batch import Header

    _Shape: TypeAlias = tuple[bytes | None, bytes | None, tuple[Header, ...]]

BASE_TIMESTAMP: Final = 1_700_000_000_000
"""The timestamps of valid records are around this one."""

MESSAGE_SET_CODECS: Final = tuple(codec for codec in CompressionCodec if codec is not CompressionCodec.ZSTD)
"""The codecs of message sets; zstd is newer than they are."""

_BORDER_SIZES: Final = (0, 1, 62, 63, 64, 65, 127, 128, 8190, 8191, 8192)
"""Sizes on both sides of where a varint takes another byte: 63, 64 and 8191, 8192."""
_TIMESTAMP_DELTAS: Final = ((0, 100), (-100, 10_000), (-(10**6), 10**9))


class ValidRecords:
    """Makes records and what contains them."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices

    def payload(self, size_max: int = 200) -> bytes:
        """A key or a value: a short one, or one around the sizes where a length takes another byte."""
        if not self._choices.happens(0.4):
            return self._choices.data(min(size_max, 40))
        size = self._choices.one_of([size for size in _BORDER_SIZES if size <= size_max])
        return bytes((self._choices.below(256),)) * size

    def headers(self) -> tuple[Header, ...]:
        """The headers of a record: mostly none."""
        choices = self._choices

        def make() -> Header:
            return choices.text(8), choices.data(16) if choices.happens(0.8) else None

        return tuple(choices.list_of(make, 4, 0.3))

    def records(self, count_max: int = 30, payload_bytes_max: int = 200) -> list[Record]:
        """The records of one batch: offsets from 0 without gaps, timestamps that mostly ascend.

        Half of the batches repeat one shape of record: producers do so, and readers have a fast path for it.
        """
        choices = self._choices
        count = choices.integer(1, count_max)
        low, high = choices.one_of(_TIMESTAMP_DELTAS)
        deltas = [choices.integer(low, high) for _ in range(count)]
        if choices.happens(0.5):
            shapes = [self._shape(payload_bytes_max) for _ in range(count)]
        else:
            key, value, _ = self._shape(payload_bytes_max)
            shapes = [(key, value, ())] * count
            if choices.happens(0.5):
                shapes[choices.below(count)] = self._shape(payload_bytes_max)
            if choices.happens(0.5):
                deltas = [abs(delta) % 200 for delta in sorted(deltas)]
        return [
            Record(offset=offset, timestamp=BASE_TIMESTAMP + delta, key=key, value=value, headers=headers)
            for offset, (delta, (key, value, headers)) in enumerate(zip(deltas, shapes, strict=True))
        ]

    def _shape(self, payload_bytes_max: int) -> _Shape:
        key = self.payload(payload_bytes_max) if self._choices.happens(0.7) else None
        value = self.payload(payload_bytes_max) if self._choices.happens(0.9) else None
        return key, value, self.headers()

    def batch(
        self, *, codec: CompressionCodec | None = None, base_offset: int | None = None, count_max: int = 30
    ) -> tuple[bytes, list[Record]]:
        """A batch as any producer or broker can write it, and its records."""
        choices = self._choices
        drawn = self.records(count_max)
        base_offset = choices.integer(0, 2**40) if base_offset is None else base_offset
        timestamp_type = choices.one_of(tuple(TimestampType))
        log_append_time = BASE_TIMESTAMP + choices.integer(0, 10**6)
        producer_id = choices.integer(0, 2**40) if choices.happens(0.5) else -1
        idempotent = producer_id >= 0
        builder = RecordBatchBuilder(
            codec=choices.one_of(tuple(CompressionCodec)) if codec is None else codec,
            timestamp_type=timestamp_type,
            log_append_time=log_append_time,
            base_offset=base_offset,
            partition_leader_epoch=choices.integer(-1, 100),
            producer_id=producer_id,
            producer_epoch=choices.integer(0, 2**15 - 1) if idempotent else -1,
            base_sequence=choices.integer(0, 2**31 - 1) if idempotent else -1,
            is_transactional=idempotent and choices.happens(0.5),
        )
        for record in drawn:
            builder.append(record.timestamp, record.key, record.value, record.headers)
        is_create_time = timestamp_type is TimestampType.CREATE_TIME
        return builder.build(), [
            replace(
                record,
                offset=base_offset + record.offset,
                timestamp=record.timestamp if is_create_time else log_append_time,
            )
            for record in drawn
        ]

    def control_batch(self) -> tuple[bytes, EndTransactionMarker]:
        """The batch that ends a transaction, and its marker."""
        choices = self._choices
        marker = EndTransactionMarker(
            control_type=choices.one_of((ControlRecordType.ABORT, ControlRecordType.COMMIT)),
            coordinator_epoch=choices.integer(0, 2**31 - 1),
        )
        batch = end_transaction_marker_batch(
            marker,
            producer_id=choices.integer(0, 2**40),
            producer_epoch=choices.integer(0, 2**15 - 1),
            timestamp_ms=BASE_TIMESTAMP,
            base_offset=choices.integer(0, 2**40),
            partition_leader_epoch=choices.integer(-1, 100),
        )
        return batch, marker

    def message_set(
        self,
        *,
        magic: int | None = None,
        codec: CompressionCodec | None = None,
        base_offset: int | None = None,
        count_max: int = 30,
    ) -> tuple[bytes, list[Record]]:
        """A message set of magic 0 or 1, one wrapper if it is compressed, and its records.

        Offsets can have gaps. In magic 0 there are no timestamps; with LogAppendTime all are the broker's.
        """
        choices = self._choices
        magic = choices.below(2) if magic is None else magic
        codec = choices.one_of(MESSAGE_SET_CODECS) if codec is None else codec
        timestamp_type = choices.one_of((TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME))
        offset = choices.integer(0, 2**40) if base_offset is None else base_offset
        builder = MessageSetBuilder(
            magic=magic,
            codec=codec,
            timestamp_type=timestamp_type,
            log_append_time=BASE_TIMESTAMP,
            base_offset=offset,
        )
        # The attributes of messages inside a wrapper have the timestamp type, too.
        appended_by_broker = magic == 1 and timestamp_type is TimestampType.LOG_APPEND_TIME
        expected: list[Record] = []
        for record in self.records(count_max):
            builder.append_with_offset(offset, record.timestamp, record.key, record.value)
            timestamp = BASE_TIMESTAMP if appended_by_broker else record.timestamp
            expected.append(
                replace(
                    record,
                    offset=offset,
                    timestamp=NO_TIMESTAMP if magic == 0 else timestamp,
                    headers=(),
                    attributes=8 if appended_by_broker else 0,
                )
            )
            offset += choices.one_of((1, 1, 1, 2, 100))
        return builder.build(), expected

    def record_set(
        self, *, codec: CompressionCodec | None = None, sets_max: int = 4, count_max: int = 8
    ) -> tuple[bytes, list[Record]]:
        """A record set of a partition whose format was raised: message sets, then batches, and all their records."""
        choices = self._choices
        parts: list[bytes] = []
        expected: list[Record] = []
        offset = choices.integer(0, 1000)
        for magic in sorted(choices.below(3) for _ in range(choices.integer(1, sets_max))):
            if magic < 2:
                old_codec = CompressionCodec.NONE if codec is CompressionCodec.ZSTD else codec
                part, found = self.message_set(magic=magic, codec=old_codec, base_offset=offset, count_max=count_max)
            else:
                part, found = self.batch(codec=codec, base_offset=offset, count_max=count_max)
            parts.append(part)
            expected += found
            offset = expected[-1].offset + choices.one_of((1, 5))
        return b"".join(parts), expected


def record_sets(choices: Choices, count: int) -> list[bytes]:
    """Record sets for the fields of messages: an empty one, then ones of every codec that is installed."""
    valid = ValidRecords(choices)
    made = [b""]
    while len(made) < count:
        if choices.happens(0.1):
            made.append(valid.control_batch()[0])
            continue
        codec = CompressionCodec(len(made) % len(CompressionCodec))
        try:
            made.append(valid.record_set(codec=codec, sets_max=3, count_max=4)[0])
        except CompressionUnavailable:
            made.append(valid.record_set(codec=CompressionCodec.NONE, sets_max=3, count_max=4)[0])
    return made
