"""The structural walk over a batch's records: the checks of a broker before it stores them, without making objects.

Mirrors the loops of LogValidator over DefaultRecordBatch's iterators. Kafka has more than one reader of records, and
they return different errors for some malformed ones; `RecordReading` names them.

There are six paths. A batch of one record is most often recognized by its first and last bytes, and a small batch of
equal sizes by the columns of its layout (`record_runs.alike_deltas`). Runs of records with
one layout (equal sizes and key lengths, no headers) are checked column by column (`record_runs`), records that differ
in size alone with one `struct` call each (`record_shapes`), other records in a loop over varints of one or two bytes.
The slow reader handles longer varints, headers and malformed records, and makes the error texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from protocol_specs.errors import InvalidRecord, MalformedVarint
from protocol_specs.records.record_runs import ALIKE_MAX, ALIKE_MIN, Layout, alike_deltas, measure_run
from protocol_specs.records.record_shapes import follow_shape
from protocol_specs.records.varints import MAX_VARINT_BYTES, decode_varint, decode_varlong, encode_varint

NOT_FOUND: Final = -1

_INT64_MIN: Final = -(1 << 63)
_INT64_MAX: Final = (1 << 63) - 1
_TWO_BYTES_END: Final = 1 << 14
_WORTH_RECORDS: Final = 16
"""A fast path for fewer records than this costs more than it saves."""
_PAUSE_FACTOR: Final = 4
"""After an unsuccessful attempt the next one comes this many times later."""


class RecordReading(Enum):
    """Which of Kafka's readers the walk mirrors."""

    BUFFER = auto()
    """Uncompressed records (DefaultRecord.readFrom a buffer): a record's fields must take exactly its length."""
    STREAM = auto()
    """Compressed records that are rewritten (readFrom a stream): likewise, but an unterminated length is error 87."""
    PARTIAL = auto()
    """Compressed records that are kept unchanged (readPartiallyFrom): the length is read and ignored."""


# Read in the loop for each batch, because the look-up of an enum's members is slow.
_BUFFER: Final = RecordReading.BUFFER
_PARTIAL: Final = RecordReading.PARTIAL


# Positional, because one is made for every batch; never changed afterwards.
@dataclass(slots=True)
class RecordsWalk:
    """The result of the walk. Deltas are those of the records; indexes count from 0, NOT_FOUND if there is none."""

    records_count: int
    min_timestamp_delta: int
    max_timestamp_delta: int
    first_wrong_offset_index: int
    first_null_key_index: int

    def min_timestamp(self, base_timestamp: int) -> int:
        """The smallest record timestamp of a CreateTime batch."""
        return base_timestamp + self.min_timestamp_delta

    def max_timestamp(self, base_timestamp: int) -> int:
        """The largest record timestamp of a CreateTime batch."""
        return base_timestamp + self.max_timestamp_delta

    def timestamps_wrap(self, base_timestamp: int) -> bool:
        """True if some timestamp exceeds int64, where Java wraps; then only read_records has the right ones."""
        return self.min_timestamp(base_timestamp) < _INT64_MIN or self.max_timestamp(base_timestamp) > _INT64_MAX


HEADS_MAX: Final = 4096
"""Most sizes of a lone record whose head is kept."""
_NULL: Final = encode_varint(-1)
_NO_HEADERS: Final = encode_varint(0)
_LONE_WITH_KEY: Final = RecordsWalk(1, 0, 0, NOT_FOUND, NOT_FOUND)
_LONE_WITHOUT_KEY: Final = RecordsWalk(1, 0, 0, NOT_FOUND, 0)


def walk_records(
    section: bytes | memoryview,
    count: int,
    *,
    reading: RecordReading = _BUFFER,
    start: int = 0,
    end: int | None = None,
) -> RecordsWalk:
    """Walk `count` records of a decompressed section; an offset delta is right when it is the record's index.

    The section begins at `start`, which errors count from, and ends at `end` or else with the bytes; records that go
    beyond `end` are refused, though not always with the text that they have without it. A view is copied first.
    Raises InvalidRecord (Kafka's 87) for the first malformed record, for bytes after the last one and for a negative
    count; MalformedVarint (Kafka's -1) in a BUFFER for a record length that does not end after five bytes.
    """
    if count < 0:
        raise InvalidRecord(0, 0, f"record count {count} is negative")
    if count == 0:
        return RecordsWalk(0, 0, 0, NOT_FOUND, NOT_FOUND)
    data = bytes(section)
    if end is None:
        end = len(data)
    if count == 1:
        lone = walk_lone(data, start) if end == len(data) else None
        if lone is not None:
            return lone
    elif ALIKE_MIN <= count <= ALIKE_MAX:
        alike = alike_deltas(data, count, start, end)
        if alike is not None:
            return RecordsWalk(count, alike[0], alike[1], NOT_FOUND, 0 if alike[2] else NOT_FOUND)
    if reading is not _PARTIAL:
        return _walk(data, count, reading, start, end)
    try:
        # The partial reader accepts every record of the strict one, with the same result.
        return _walk(data, count, RecordReading.STREAM, start, end)
    except InvalidRecord:
        return _walk_partially(data, count, start, end)


def walk_lone(data: bytes, start: int) -> RecordsWalk | None:
    """Walk a batch's only record: no attributes, deltas of 0, short lengths, no headers. None for any other."""
    size = len(data) - start
    head = _heads_with_null_key.get(size) or _head_with_null_key(size)
    # The last byte is the count of headers.
    if data.startswith(head, start) and not data[-1]:
        return _LONE_WITHOUT_KEY
    before_key = _head_before_key(size)
    if not data.startswith(before_key, start) or data[-1]:
        return None
    position = start + len(before_key)
    try:
        key = data[position]
        position += 1
        if not key & 1:
            position += key >> 1
        value = data[position]
        position += 1
        if value > 127:
            value += (data[position] << 7) - 128
            position += 1
        if not value & 1:
            position += value >> 1
    except IndexError:
        return None
    if key > 127 or value >= _TWO_BYTES_END or position + 1 != len(data):
        return None
    return _LONE_WITHOUT_KEY if key & 1 else _LONE_WITH_KEY


@lru_cache(maxsize=HEADS_MAX)
def _head_before_key(size: int) -> bytes:
    """The first bytes of the only record in a section of `size` bytes: length, attributes, deltas."""
    length = _sized(size)
    return _longer_than(size) if length is None else length + bytes(3)


_heads_with_null_key: Final[dict[int, bytes]] = {}
"""The heads that were needed, by size: looked up for each batch, and a dict is faster than lru_cache."""


def _head_with_null_key(size: int) -> bytes:
    """Its first bytes if its key is null and its value is not, up to the length of the value."""
    if len(_heads_with_null_key) >= HEADS_MAX:
        _heads_with_null_key.clear()
    before_value = _head_before_key(size) + _NULL
    value = _sized(size - len(before_value) - len(_NO_HEADERS))
    head = _heads_with_null_key[size] = _longer_than(size) if value is None else before_value + value
    return head


def _longer_than(size: int) -> bytes:
    """Bytes that no section of this size begins with. Few sizes need them: most sizes are possible."""
    return bytes(size + 1)


def _sized(size: int) -> bytes | None:
    """The length varint of a field of `size` bytes, which includes that varint; None if there is none."""
    for width in range(1, min(size, MAX_VARINT_BYTES) + 1):
        length = encode_varint(size - width)
        if len(length) == width:
            return length
    return None


def _walk(data: bytes, count: int, reading: RecordReading, start: int, end: int) -> RecordsWalk:  # noqa: PLR0915
    """The loop of the strict readers; its state is in local variables."""
    low, high = _INT64_MAX, _INT64_MIN
    first_wrong_offset = first_null_key = NOT_FOUND
    index = stop = length = timestamp = offset = key = 0
    position = start
    # A short batch has nothing to skip.
    next_try, pause = 1 if count > _WORTH_RECORDS else count + 1, _WORTH_RECORDS
    while index < count:
        begin = position
        try:
            length = data[position]
            position += 1
            if length > 127:
                length += (data[position] << 7) - 128
                position += 1
            stop = position + (length >> 1)
            timestamp = data[position + 1]
            position += 2
            if timestamp > 127:
                timestamp += (data[position] << 7) - 128
                position += 1
            offset = data[position]
            position += 1
            if offset > 127:
                offset += (data[position] << 7) - 128
                position += 1
            key = data[position]
            position += 1
            if key > 127:
                key += (data[position] << 7) - 128
                position += 1
            if not key & 1:
                position += key >> 1
            value = data[position]
            position += 1
            if value > 127:
                value += (data[position] << 7) - 128
                position += 1
            if not value & 1:
                position += value >> 1
            # A varint of three bytes or more has bits above 14. The last byte is the count of headers.
            plain = (length | timestamp | offset | key | value) < _TWO_BYTES_END and not data[position]
            position += 1
        except IndexError:
            plain = False
        if plain and position == stop and not length & 1:
            delta = (timestamp >> 1) ^ -(timestamp & 1)
        else:
            reader = _RecordReader(data, reading, start)
            position, delta, offset, key, plain = reader.read(begin, index)
        if offset != index << 1 and first_wrong_offset < 0:
            first_wrong_offset = index
        if key & 1 and first_null_key < 0:
            first_null_key = index
        if delta > high:  # noqa: PLR1730 - a call would cost more than the comparison
            high = delta
        if delta < low:  # noqa: PLR1730
            low = delta
        index += 1
        if index >= next_try and plain:
            first = index
            index, position, low, high = _skip_ahead(data, count, begin, index, position, low, high)
            if index - first < _WORTH_RECORDS:
                next_try, pause = index + pause, pause * _PAUSE_FACTOR
            else:
                next_try, pause = index + 1, _WORTH_RECORDS
    if position != end:
        raise _bytes_left(count, position, start, end)
    return RecordsWalk(count, low, high, first_wrong_offset, first_null_key)


def _skip_ahead(
    data: bytes, count: int, begin: int, index: int, position: int, low: int, high: int
) -> tuple[int, int, int, int]:
    """Skip the records like the one at `begin`: (position after them, least and largest timestamp delta so far)."""
    if count - index < _WORTH_RECORDS:
        return index, position, low, high
    first = index
    layout = Layout(data, begin)
    size = position - begin
    run = measure_run(data, layout, size, index, count)
    if run is not None:
        low, high = min(low, run.min_timestamp_delta), max(high, run.max_timestamp_delta)
        position += run.records_count * size
        index += run.records_count
    if index - first < _WORTH_RECORDS:
        shaped = follow_shape(data, layout, position, index, count)
        if shaped is not None:
            low, high = min(low, shaped.min_timestamp_delta), max(high, shaped.max_timestamp_delta)
            position, index = shaped.position, shaped.index
    return index, position, low, high


def _walk_partially(data: bytes, count: int, start: int, end: int) -> RecordsWalk:
    reader = _RecordReader(data, _PARTIAL, start)
    low, high = _INT64_MAX, _INT64_MIN
    first_wrong_offset = first_null_key = NOT_FOUND
    position = start
    for index in range(count):
        position, delta, offset, key, _ = reader.read(position, index)
        if offset != index << 1 and first_wrong_offset < 0:
            first_wrong_offset = index
        if key and first_null_key < 0:
            first_null_key = index
        low, high = min(low, delta), max(high, delta)
    if position != end:
        raise _bytes_left(count, position, start, end)
    return RecordsWalk(count, low, high, first_wrong_offset, first_null_key)


def _bytes_left(count: int, position: int, start: int, end: int) -> InvalidRecord:
    return InvalidRecord(count, position - start, f"{end - position} bytes after the last record")


class _RecordReader:
    """Reads any record, one varint after the other, and makes the error text of a malformed one."""

    __slots__ = ("_data", "_reading", "_start")

    def __init__(self, data: bytes, reading: RecordReading, start: int) -> None:
        self._data = data
        self._reading = reading
        self._start = start

    def read(self, start: int, index: int) -> tuple[int, int, int, int, bool]:
        """Read a record: its end, timestamp delta, raw offset delta, 1 for a null key, True without headers."""
        data = self._data
        partial = self._reading is _PARTIAL
        position = start
        try:
            length, position = decode_varint(data, start)
        except MalformedVarint as error:
            if self._reading is _BUFFER and len(data) - start >= MAX_VARINT_BYTES:
                raise MalformedVarint(error.position - self._start, error.reason) from None
            raise self._invalid(index, start, error.reason) from None
        body = position
        if not partial and length > len(data) - body:
            raise self._invalid(index, start, f"length {length}, {len(data) - body} bytes left")
        try:
            timestamp, position = decode_varlong(data, body + 1)
            offset, position = decode_varint(data, position)
            key, position = decode_varint(data, position)
            position = self._skip(position, key, index)
            value, position = decode_varint(data, position)
            position = self._skip(position, value, index)
            headers, position = decode_varint(data, position)
            if headers < 0 or (headers > len(data) - position and not partial):
                raise self._invalid(index, position, f"{headers} headers, {len(data) - position} bytes left")
            for _ in range(headers):
                name, position = decode_varint(data, position)
                if name < 0:
                    raise self._invalid(index, position, f"length {name} of a header's key")
                position = self._skip(position, name, index)
                header_value, position = decode_varint(data, position)
                position = self._skip(position, header_value, index)
        except MalformedVarint as error:
            raise self._invalid(index, error.position, error.reason) from None
        if not partial and position - body != length:
            raise self._invalid(index, start, f"length {length}, its fields take {position - body} bytes")
        return position, timestamp, offset << 1, int(key < 0), not headers

    def _skip(self, position: int, size: int, index: int) -> int:
        if size <= 0:
            return position
        if size > len(self._data) - position:
            raise self._invalid(index, position, f"length {size}, {len(self._data) - position} bytes left")
        return position + size

    def _invalid(self, index: int, position: int, reason: str) -> InvalidRecord:
        return InvalidRecord(index, position - self._start, reason)
