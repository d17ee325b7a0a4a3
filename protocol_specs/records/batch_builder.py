"""Building record batches of magic 2, record by record. Mirrors MemoryRecordsBuilder and DefaultRecord.writeTo.

An append writes the record at once into bytes that are joined in `build`; small varints come from tables, because an
append is the hottest call of a producer. The size is known after every append (`size_in_bytes`, before compression).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.records.batch_peek import (
    ATTRIBUTES_OFFSET,
    CONTROL_FLAG_MASK,
    HEADER,
    LOG_OVERHEAD,
    MAGIC_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_FLAG_MASK,
    TimestampType,
)
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.records.varints import encode_varint, encode_varlong, size_of_varint

if TYPE_CHECKING:
    from collections.abc import Iterable

Header = tuple[str, bytes | None]

# Length 5, attributes 1, timestamp delta 10, offset delta 5: DefaultRecord.MAX_RECORD_OVERHEAD.
MAX_RECORD_OVERHEAD: Final = 21

_TABLE_SIZE: Final = 4096
_VARINTS: Final = [encode_varint(value) for value in range(_TABLE_SIZE)]
_NULL: Final = encode_varint(-1)
_NO_HEADERS: Final = encode_varint(0)
_ATTRIBUTES: Final = b"\x00"
_ATTRIBUTES_AND_DELTA: Final = [_ATTRIBUTES + varint for varint in _VARINTS]
_OFFSET_AND_NULL_KEY: Final = [varint + _NULL for varint in _VARINTS]


class RecordBatchBuilder:
    """One batch in the making: append records, then `build`.

    The producer's id, epoch and sequence are plain attributes, because a producer learns them only when it drains the
    batch (MemoryRecordsBuilder.setProducerState). Building leaves the builder as it is: it may be built again.
    """

    __slots__ = (
        "_base_timestamp",
        "_count",
        "_last_offset_delta",
        "_max_timestamp",
        "_parts",
        "base_offset",
        "base_sequence",
        "codec",
        "is_control",
        "is_transactional",
        "level",
        "log_append_time",
        "partition_leader_epoch",
        "producer_epoch",
        "producer_id",
        "size_in_bytes",
        "timestamp_type",
    )

    def __init__(
        self,
        *,
        codec: CompressionCodec = CompressionCodec.NONE,
        level: int | None = None,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        log_append_time: int = NO_TIMESTAMP,
        base_offset: int = 0,
        partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
    ) -> None:
        """Start an empty batch; `log_append_time` is its max timestamp when the type is LOG_APPEND_TIME."""
        self.codec = codec
        self.level = level
        self.timestamp_type = timestamp_type
        self.log_append_time = log_append_time
        self.base_offset = base_offset
        self.partition_leader_epoch = partition_leader_epoch
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = is_transactional
        self.is_control = is_control
        self.size_in_bytes = RECORD_BATCH_OVERHEAD
        self._parts: list[bytes] = []
        self._count = 0
        self._last_offset_delta = -1
        self._base_timestamp = NO_TIMESTAMP
        self._max_timestamp = NO_TIMESTAMP

    @property
    def records_count(self) -> int:
        """How many records were appended."""
        return self._count

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp so far, or -1."""
        return self._max_timestamp

    def append(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Iterable[Header] = ()) -> int:
        """Add a record at the next offset; answers its size. ValueError for a number wider than its field."""
        offset_delta = self._last_offset_delta + 1
        if not self._count:
            self._base_timestamp = timestamp_ms
        delta = timestamp_ms - self._base_timestamp
        if headers or value is None or not 0 <= delta < _TABLE_SIZE:
            return self._append(offset_delta, timestamp_ms, key, value, headers)
        try:
            if key is None:
                body = b"".join(
                    (
                        _ATTRIBUTES_AND_DELTA[delta],
                        _OFFSET_AND_NULL_KEY[offset_delta],
                        _VARINTS[len(value)],
                        value,
                        _NO_HEADERS,
                    )
                )
            else:
                body = b"".join(
                    (
                        _ATTRIBUTES_AND_DELTA[delta],
                        _VARINTS[offset_delta],
                        _VARINTS[len(key)],
                        key,
                        _VARINTS[len(value)],
                        value,
                        _NO_HEADERS,
                    )
                )
            size = len(body)
            prefix = _VARINTS[size]
        except IndexError:
            return self._append(offset_delta, timestamp_ms, key, value, headers)
        self._parts += (prefix, body)
        self._count += 1
        self._last_offset_delta = offset_delta
        if timestamp_ms > self._max_timestamp:  # noqa: PLR1730 - max() costs a tenth of an append
            self._max_timestamp = timestamp_ms
        size += len(prefix)
        self.size_in_bytes += size
        return size

    def append_with_offset(
        self,
        offset: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[Header] = (),
    ) -> int:
        """Add a record at an offset after the last one; gaps are what compaction leaves."""
        offset_delta = offset - self.base_offset
        if offset_delta <= self._last_offset_delta:
            last = self.base_offset + self._last_offset_delta
            raise ValueError(f"offset {offset} is not after the batch's last, {last}")
        if not self._count:
            self._base_timestamp = timestamp_ms
        return self._append(offset_delta, timestamp_ms, key, value, headers)

    def build(self) -> bytes:
        """Write the batch; ValueError when it has no record."""
        if not self._count:
            raise ValueError("a batch needs a record; an empty one is made by empty_batch")
        records = b"".join(self._parts)
        if self.codec != CompressionCodec.NONE:
            records = compress(self.codec, records, self.level)
        attributes = int(self.codec)
        max_timestamp = self._max_timestamp
        if self.timestamp_type == TimestampType.LOG_APPEND_TIME:
            attributes |= TIMESTAMP_TYPE_MASK
            max_timestamp = self.log_append_time
        if self.is_transactional:
            attributes |= TRANSACTIONAL_FLAG_MASK
        if self.is_control:
            attributes |= CONTROL_FLAG_MASK
        return seal_batch(
            records,
            base_offset=self.base_offset,
            partition_leader_epoch=self.partition_leader_epoch,
            attributes=attributes,
            last_offset_delta=self._last_offset_delta,
            base_timestamp=self._base_timestamp,
            max_timestamp=max_timestamp,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            records_count=self._count,
        )

    def _append(
        self,
        offset_delta: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[Header],
    ) -> int:
        body = encode_record_body(timestamp_ms - self._base_timestamp, offset_delta, key, value, headers)
        prefix = encode_varint(len(body))
        self._parts += (prefix, body)
        self._count += 1
        self._last_offset_delta = offset_delta
        self._max_timestamp = max(self._max_timestamp, timestamp_ms)
        size = len(prefix) + len(body)
        self.size_in_bytes += size
        return size


def encode_record_body(
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[Header] = (),
    *,
    attributes: int = 0,
) -> bytes:
    """Write a record without the length before it; any deltas and attributes, also those no producer would write."""
    parts = [
        bytes((attributes,)),
        encode_varlong(timestamp_delta),
        encode_varint(offset_delta),
        *_encode_nullable(key),
        *_encode_nullable(value),
    ]
    encoded_headers: list[bytes] = []
    count = 0
    for name, header_value in headers:
        count += 1
        encoded_headers += (*_encode_nullable(name.encode()), *_encode_nullable(header_value))
    parts.append(encode_varint(count))
    parts += encoded_headers
    return b"".join(parts)


def seal_batch(
    records: bytes | memoryview,
    *,
    base_offset: int,
    partition_leader_epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    records_count: int,
) -> bytes:
    """Put a header with length and checksum before a records section; struct.error when a field does not fit."""
    header = bytearray(
        HEADER.pack(
            base_offset,
            RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(records),
            partition_leader_epoch,
            MAGIC_V2,
            0,
            attributes,
            last_offset_delta,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            records_count,
        )
    )
    crc = crc32c(records, crc32c(header[ATTRIBUTES_OFFSET:]))
    header[ATTRIBUTES_OFFSET - 4 : ATTRIBUTES_OFFSET] = crc.to_bytes(4, "big")
    return b"".join((header, records))


def record_size_upper_bound(key: bytes | None, value: bytes | None, headers: Iterable[Header] = ()) -> int:
    """Answer the most bytes that a record may take. Mirrors DefaultRecord.recordSizeUpperBound."""
    size = MAX_RECORD_OVERHEAD + _size_of_nullable(key) + _size_of_nullable(value)
    count = 0
    for name, header_value in headers:
        count += 1
        size += _size_of_nullable(name.encode()) + _size_of_nullable(header_value)
    return size + size_of_varint(count)


def estimate_size_in_bytes_upper_bound(key: bytes | None, value: bytes | None, headers: Iterable[Header] = ()) -> int:
    """Answer the most bytes that a batch of this one record may take. Mirrors AbstractRecords' method of that name."""
    return RECORD_BATCH_OVERHEAD + record_size_upper_bound(key, value, headers)


def _encode_nullable(data: bytes | None) -> tuple[bytes, ...]:
    if data is None:
        return (_NULL,)
    return encode_varint(len(data)), data


def _size_of_nullable(data: bytes | None) -> int:
    return 1 if data is None else size_of_varint(len(data)) + len(data)
