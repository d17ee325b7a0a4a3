"""Building record batches of magic 2, record by record. Mirrors MemoryRecordsBuilder and DefaultRecord.writeTo.

An append collects the parts of a record, which `build` joins. Small varints come from tables, and values shared by
records with one timestamp are cached, because append is the hottest call of a producer. The size is always known
(`size_in_bytes`, before compression). Keys and values are bytes that are kept, not copied, until the batch is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from protocol_specs.records.batch_peek import (
    CONTROL_FLAG_MASK,
    COVERED_BY_CRC,
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
    UP_TO_CRC,
    TimestampType,
)
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.records.varints import (
    SMALL_VARINTS,
    SMALL_VARINTS_END,
    encode_varint,
    encode_varlong,
    size_of_varint,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Header = tuple[str, bytes | None]
RecordTuple: TypeAlias = "tuple[int, bytes | None, bytes | None, Iterable[Header]]"
"""A record to append: its timestamp in ms, key, value and headers."""

# Length 5, attributes 1, timestamp delta 10, offset delta 5: DefaultRecord.MAX_RECORD_OVERHEAD.
MAX_RECORD_OVERHEAD: Final = 21

_NULL: Final = encode_varint(-1)
_NO_HEADERS: Final = encode_varint(0)
_ATTRIBUTES: Final = b"\x00"
_OFFSETS_AND_NULL_KEY: Final = [varint + _NULL for varint in SMALL_VARINTS]
_LENGTHS_AND_ATTRIBUTES: Final = [varint + _ATTRIBUTES for varint in SMALL_VARINTS]
_FRAMED_SIZES: Final = [size + (1 if size < 64 else 2) for size in range(SMALL_VARINTS_END)]
_ONE_BYTE_END: Final = 64
# Constants that each batch needs, because looking up a member of an enum is slow.
_NO_CODEC: Final = CompressionCodec.NONE
_LOG_APPEND_TIME: Final = TimestampType.LOG_APPEND_TIME

# Offsets of three bytes are added to the tables when a batch first reaches them.
_OFFSETS_END: Final = 1 << 15
_NEVER: Final = 1 << 31


class RecordBatchBuilder:
    """One batch in the making: append records, then `build`.

    The producer's id, epoch and sequence are plain attributes, because a producer sets them only when it drains the
    batch (MemoryRecordsBuilder.setProducerState). `build` does not change the builder and can be called again.
    """

    __slots__ = (
        "_base_timestamp",
        "_count",
        "_frames",
        "_last_offset_delta",
        "_max_timestamp",
        "_other_fields_size",
        "_parts",
        "_timestamp",
        "_timestamp_delta",
        "_turn_at",
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
        self._parts: list[bytes | memoryview] = []
        self._count = 0
        self._last_offset_delta = -1
        self._base_timestamp = NO_TIMESTAMP
        self._max_timestamp = NO_TIMESTAMP
        # Set by `_turn` once for the records that share a timestamp and the width of their offsets.
        self._timestamp: int | None = None
        self._timestamp_delta = b""
        self._other_fields_size = 0
        self._frames = _FRAMES[0]
        self._turn_at = 0

    def take_section(
        self, section: bytes | memoryview, *, records_count: int, base_timestamp: int, max_timestamp: int
    ) -> None:
        """Replace the appended records by encoded ones, whose offsets count up from 0."""
        self._parts = [section]
        self._count = records_count
        self._last_offset_delta = records_count - 1
        self._base_timestamp = base_timestamp
        self._max_timestamp = max_timestamp
        self._timestamp = None
        self._turn_at = 0
        self.size_in_bytes = RECORD_BATCH_OVERHEAD + len(section)

    def pack(self) -> None:
        """Join the appended parts, so that a waiting batch needs no more memory than its bytes."""
        self._parts = [b"".join(self._parts)]

    @property
    def records_count(self) -> int:
        """The number of appended records."""
        return self._count

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp so far, or -1."""
        return self._max_timestamp

    def append(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Iterable[Header] = ()) -> int:
        """Add a record at the next offset; return its size. Raises ValueError for a number wider than its field."""
        offset_delta = self._last_offset_delta + 1
        if timestamp_ms != self._timestamp or offset_delta >= self._turn_at:
            self._turn(timestamp_ms, offset_delta)
        if headers or value is None:
            return self._append(offset_delta, timestamp_ms, key, value, headers)
        try:
            if key is None:
                length, value_size, size = self._frames[len(value)]
                offset = _OFFSETS_AND_NULL_KEY[offset_delta]
                self._parts += (length, self._timestamp_delta, offset, value_size, value, _NO_HEADERS)
            else:
                key_size, plain_size = len(key), len(value)
                size = self._other_fields_size + _FRAMED_SIZES[key_size] + _FRAMED_SIZES[plain_size]
                self._parts += (
                    _LENGTHS_AND_ATTRIBUTES[size],
                    self._timestamp_delta,
                    SMALL_VARINTS[offset_delta],
                    SMALL_VARINTS[key_size],
                    key,
                    SMALL_VARINTS[plain_size],
                    value,
                    _NO_HEADERS,
                )
                size = _FRAMED_SIZES[size]
        except IndexError:
            return self._append(offset_delta, timestamp_ms, key, value, headers)
        self._count += 1
        self._last_offset_delta = offset_delta
        if timestamp_ms > self._max_timestamp:  # noqa: PLR1730 - max() costs a tenth of an append
            self._max_timestamp = timestamp_ms
        self.size_in_bytes += size
        return size

    def append_many(self, records: Iterable[RecordTuple]) -> int:
        """Add records at the next offsets, each (timestamp, key, value, headers); return their total size.

        If one raises, the records before it are in the batch.
        """
        size_before = self.size_in_bytes
        add, offsets_and_null_key, no_headers = self._parts.extend, _OFFSETS_AND_NULL_KEY, _NO_HEADERS
        delta, frames, other_fields_size = self._timestamp_delta, self._frames, self._other_fields_size
        timestamp: int | None = None
        max_timestamp = self._max_timestamp
        turn_at = size_sum = 0
        offset_delta = self._last_offset_delta + 1
        try:
            for timestamp_ms, key, value, headers in records:
                if timestamp_ms != timestamp or offset_delta >= turn_at:
                    self._turn(timestamp_ms, offset_delta)
                    timestamp, turn_at, delta = timestamp_ms, self._turn_at, self._timestamp_delta
                    frames, other_fields_size = self._frames, self._other_fields_size
                try:
                    if headers or value is None:
                        size = -1
                    elif key is None:
                        length, value_size, size = frames[len(value)]
                        add((length, delta, offsets_and_null_key[offset_delta], value_size, value, no_headers))
                    else:
                        key_size, plain_size = len(key), len(value)
                        size = other_fields_size + _FRAMED_SIZES[key_size] + _FRAMED_SIZES[plain_size]
                        add(
                            (
                                _LENGTHS_AND_ATTRIBUTES[size],
                                delta,
                                SMALL_VARINTS[offset_delta],
                                SMALL_VARINTS[key_size],
                                key,
                                SMALL_VARINTS[plain_size],
                                value,
                                no_headers,
                            )
                        )
                        size = _FRAMED_SIZES[size]
                except IndexError:
                    size = -1
                if size < 0:
                    self._note(offset_delta, size_sum, max_timestamp)
                    size_sum = 0
                    self._append(offset_delta, timestamp_ms, key, value, headers)
                else:
                    size_sum += size
                if timestamp_ms > max_timestamp:  # noqa: PLR1730 - as in append
                    max_timestamp = timestamp_ms
                offset_delta += 1
        finally:
            self._note(offset_delta, size_sum, max_timestamp)
        return self.size_in_bytes - size_before

    def next_frames(self, timestamp_ms: int) -> tuple[Mapping[int, tuple[bytes, bytes, int]], int]:
        """The frame sizes of the next records without key and headers, and the number of records they are valid for.

        The last of the three at the size of a value is the upper bound of its record: a byte more than needed while its
        offset has one byte. Raises IndexError for a value too large for the table.
        """
        offset_delta = self._last_offset_delta + 1
        if timestamp_ms != self._timestamp or offset_delta >= self._turn_at:
            self._turn(timestamp_ms, offset_delta)
        width = len(self._timestamp_delta)
        if offset_delta < SMALL_VARINTS_END:
            return _FRAMES[width + 2], SMALL_VARINTS_END - offset_delta
        return _FRAMES[width + 3], max(_OFFSETS_END - offset_delta, 0)

    def append_values(self, timestamp_ms: int, values: Sequence[bytes]) -> int:
        """Add records without key and headers, within the limits of `next_frames`; return the size of the largest."""
        largest, left = 0, values
        while left:
            first = self._last_offset_delta + 1
            if timestamp_ms != self._timestamp or first >= self._turn_at:
                self._turn(timestamp_ms, first)
            count = self._turn_at - first
            values, left = left[:count], left[count:]
            value_sizes = set(map(len, values))
            if len(value_sizes) > 1:
                self.append_many((timestamp_ms, None, value, ()) for value in values)
            else:
                self._append_alike(timestamp_ms, values)
            largest = max(largest, self._frames[max(value_sizes)][2])
        return largest

    def _append_alike(self, timestamp_ms: int, values: Sequence[bytes]) -> None:
        """Add records of one size, with the widths of timestamp and offset from `_turn`, column by column."""
        first, count = self._last_offset_delta + 1, len(values)
        length, value_size, size = self._frames[len(values[0])]
        parts = [length, self._timestamp_delta, b"", value_size, b"", _NO_HEADERS] * count
        parts[2::6] = _OFFSETS_AND_NULL_KEY[first : first + count]
        parts[4::6] = values
        self._parts += parts
        self._note(first + count, size * count, timestamp_ms)

    def append_with_offset(
        self,
        offset: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[Header] = (),
    ) -> int:
        """Add a record at an offset after the last one; compaction leaves such gaps."""
        offset_delta = offset - self.base_offset
        if offset_delta <= self._last_offset_delta:
            last = self.base_offset + self._last_offset_delta
            raise ValueError(f"offset {offset} is not after the batch's last, {last}")
        if not self._count:
            self._base_timestamp = timestamp_ms
            self._timestamp = None
        return self._append(offset_delta, timestamp_ms, key, value, headers)

    def build(self) -> bytes:
        """Return the batch. Raises ValueError if it has no record."""
        if not self._count:
            raise ValueError("a batch needs a record; an empty one is made by empty_batch")
        records = b"".join(self._parts)
        if self.codec != _NO_CODEC:
            records = compress(self.codec, records, self.level)
        attributes = int(self.codec)
        max_timestamp = self._max_timestamp
        if self.timestamp_type == _LOG_APPEND_TIME:
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

    def _turn(self, timestamp_ms: int, offset_delta: int) -> None:
        """Set the values shared by the records from this one on. Raises ValueError if the timestamp does not fit."""
        if not offset_delta:
            self._base_timestamp = timestamp_ms
        delta = timestamp_ms - self._base_timestamp
        # encode_varlong uses the table as well; one call less saves a tenth of an append with a new timestamp.
        encoded = SMALL_VARINTS[delta] if 0 <= delta < SMALL_VARINTS_END else encode_varlong(delta)
        self._timestamp_delta = encoded
        self._timestamp = timestamp_ms
        if offset_delta < _ONE_BYTE_END:
            offset_width, self._turn_at = 1, _ONE_BYTE_END
        elif offset_delta < SMALL_VARINTS_END:
            offset_width, self._turn_at = 2, SMALL_VARINTS_END
        else:
            offset_width, self._turn_at = 3, _OFFSETS_END if offset_delta < _OFFSETS_END else _NEVER
            if len(_OFFSETS_AND_NULL_KEY) < _OFFSETS_END:
                _OFFSETS_AND_NULL_KEY[:] = [encode_varint(offset) + _NULL for offset in range(_OFFSETS_END)]
        self._frames = frames = _FRAMES[len(encoded) + offset_width]
        self._other_fields_size = frames.other_fields_size

    def _note(self, offset_delta: int, size: int, max_timestamp: int) -> None:
        """Count the records that append_many has added; `offset_delta` is that of the next one."""
        self._count += offset_delta - 1 - self._last_offset_delta
        self._last_offset_delta = offset_delta - 1
        self.size_in_bytes += size
        self._max_timestamp = max(self._max_timestamp, max_timestamp)

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
    """Encode a record without the length before it, with any deltas and attributes, also invalid ones."""
    parts = [
        bytes((attributes,)) if attributes else _ATTRIBUTES,
        encode_varlong(timestamp_delta),
        encode_varint(offset_delta),
    ]
    _add_nullable(parts, key)
    _add_nullable(parts, value)
    if not headers:
        parts.append(_NO_HEADERS)
        return b"".join(parts)
    encoded_headers: list[bytes] = []
    count = 0
    for name, header_value in headers:
        count += 1
        _add_nullable(encoded_headers, name.encode())
        _add_nullable(encoded_headers, header_value)
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
    """Prefix a records section with a header. Raises struct.error if a field does not fit."""
    covered = COVERED_BY_CRC.pack(
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        records_count,
    )
    length = RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(records)
    crc = crc32c(records, crc32c(covered))
    return b"".join((UP_TO_CRC.pack(base_offset, length, partition_leader_epoch, MAGIC_V2, crc), covered, records))


def record_size_upper_bound(key: bytes | None, value: bytes | None, headers: Iterable[Header] = ()) -> int:
    """Return the upper bound of a record's size. Mirrors DefaultRecord.recordSizeUpperBound."""
    size = MAX_RECORD_OVERHEAD + _size_of_nullable(key) + _size_of_nullable(value)
    count = 0
    for name, header_value in headers:
        count += 1
        size += _size_of_nullable(name.encode()) + _size_of_nullable(header_value)
    return size + size_of_varint(count)


def estimate_size_in_bytes_upper_bound(key: bytes | None, value: bytes | None, headers: Iterable[Header] = ()) -> int:
    """Return the upper bound of the size of a batch with one record. Mirrors AbstractRecords' method of that name."""
    return RECORD_BATCH_OVERHEAD + record_size_upper_bound(key, value, headers)


def _add_nullable(parts: list[bytes], data: bytes | None) -> None:
    if data is None:
        parts.append(_NULL)
    else:
        parts += (encode_varint(len(data)), data)


def _size_of_nullable(data: bytes | None) -> int:
    return 1 if data is None else size_of_varint(len(data)) + len(data)


class _Frames(dict[int, tuple[bytes, bytes, int]]):
    """By the size of a value: the record's length and attributes, the value's length, the whole size.

    For records without key and headers whose deltas of timestamp and offset take `deltas_width` bytes. An entry is made
    on first use. Raises IndexError if a length takes more than two bytes.
    """

    def __init__(self, deltas_width: int) -> None:
        super().__init__()
        self.other_fields_size = len(_ATTRIBUTES) + deltas_width + len(_NO_HEADERS)

    def __missing__(self, value_size: int) -> tuple[bytes, bytes, int]:
        length = self.other_fields_size + len(_NULL) + _FRAMED_SIZES[value_size]
        self[value_size] = _LENGTHS_AND_ATTRIBUTES[length], SMALL_VARINTS[value_size], _FRAMED_SIZES[length]
        return self[value_size]


# Timestamp deltas take up to 10 bytes, offset deltas of a table up to 3.
_FRAMES: Final = [_Frames(width) for width in range(14)]
