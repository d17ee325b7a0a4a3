"""Records by the column: offsets, timestamps, keys, values and headers as arrays. The columnar form of DefaultRecord.

A byte string of a column is a range of a shared buffer, so that reading copies none. `columnar.builder` takes
`RecordColumns`, `columnar.reader` returns them, and `columnar.arrow` converts them to and from Arrow tables.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeVar

from protocol_specs.records.columnar.arrays import copy_strings, gather_strings, np
from protocol_specs.records.equal_records import NULL_SIZE
from protocol_specs.records.record_reader import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from protocol_specs.records.batch_builder import Header
    from protocol_specs.records.columnar.arrays import Bytes, Ints

COLUMNS: Final = ("offset", "timestamp", "key", "value", "headers")
"""The columns of a record, in this order."""

_INT64: Final = np.dtype(np.int64)
_SIZE: Final = struct.Struct("=q")

_Column = TypeVar("_Column")


@dataclass(slots=True)
class StringColumn:
    """Byte strings in one buffer: string i takes `sizes[i]` bytes from `starts[i]`; a size of -1 is null."""

    data: Bytes
    starts: Ints
    sizes: Ints
    equal_size: int | None = None
    """The size of all strings, if the maker of the column knows that they have one."""

    @classmethod
    def of(cls, strings: Iterable[bytes | None]) -> StringColumn:
        """Make a column of Python's bytes and None."""
        given = list(strings)
        sizes = np.array([NULL_SIZE if string is None else len(string) for string in given], np.int64)
        starts = np.zeros(len(given), np.int64)
        np.cumsum(np.maximum(sizes[:-1], 0), out=starts[1:])
        data = np.frombuffer(b"".join([string for string in given if string is not None]), np.uint8)
        return cls(data, starts, sizes)

    @classmethod
    def of_equal(cls, data: Bytes, starts: Ints, size: int) -> StringColumn:
        """Make a column of strings of one size."""
        # One number in memory stands for all.
        sizes = np.ndarray((len(starts),), np.int64, _SIZE.pack(size), strides=(0,))
        return cls(data, starts, sizes, size)

    @classmethod
    def from_offsets(cls, data: bytes | memoryview | Bytes, offsets: Ints, valid: Any = None) -> StringColumn:
        """Make a column of Arrow's layout: string i lies from `offsets[i]` to `offsets[i + 1]`, unless not `valid[i]`.

        Raises ValueError if the offsets descend or exceed the data.
        """
        buffer = data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
        offsets = np.asarray(offsets, np.int64)
        if not len(offsets):
            raise ValueError("offsets of a column need an end of the last string")
        sizes = offsets[1:] - offsets[:-1]
        if int(offsets[0]) < 0 or int(offsets[-1]) > len(buffer) or (len(sizes) and int(sizes.min()) < 0):
            raise ValueError(f"offsets must ascend from 0 to at most {len(buffer)}, the size of the data")
        if valid is not None:
            sizes = np.where(np.asarray(valid, np.bool_), sizes, NULL_SIZE)
        return cls(buffer, offsets[:-1], sizes)

    @property
    def size_range(self) -> tuple[int, int]:
        """The smallest and the largest size; those of null for a column without strings."""
        if self.equal_size is not None:
            return self.equal_size, self.equal_size
        if not len(self.sizes):
            return NULL_SIZE, NULL_SIZE
        return int(self.sizes.min()), int(self.sizes.max())

    @property
    def nulls(self) -> Any:
        """An array of bools: True for null strings."""
        return self.sizes < 0

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, index: int) -> bytes | None:
        start, size = int(self.starts[index]), int(self.sizes[index])
        return None if size < 0 else self.data[start : start + size].tobytes()

    def __iter__(self) -> Iterator[bytes | None]:
        data = self.data.data
        for start, size in zip(self.starts.tolist(), self.sizes.tolist(), strict=True):
            yield None if size < 0 else data[start : start + size].tobytes()

    def packed(self, *, has_nulls: bool = True) -> tuple[Ints, Bytes]:
        """Return Arrow's layout: the offsets, one more than strings, and the bytes without gaps; a null is empty."""
        return gather_strings(self.data, self.starts, np.maximum(self.sizes, 0) if has_nulls else self.sizes)


_NO_STRINGS: Final = StringColumn.of(())


@dataclass(slots=True)
class HeadersColumn:
    """Headers of records: those of record i are the keys and values from `offsets[i]` to `offsets[i + 1]`.

    A key is never null, and UTF-8 unless a peer sent other bytes.
    """

    offsets: Ints
    key: StringColumn
    value: StringColumn

    @classmethod
    def of(cls, headers: Iterable[Sequence[Header]]) -> HeadersColumn:
        """Make a column of headers as records have them."""
        given = [tuple(of_record) for of_record in headers]
        offsets = np.zeros(len(given) + 1, np.int64)
        np.cumsum([len(of_record) for of_record in given], out=offsets[1:])
        keys = StringColumn.of(name.encode() for of_record in given for name, _ in of_record)
        return cls(offsets, keys, StringColumn.of(value for of_record in given for _, value in of_record))

    @classmethod
    def none(cls, records_count: int) -> HeadersColumn:
        """Make the column of records that have no headers."""
        return cls(np.zeros(records_count + 1, np.int64), _NO_STRINGS, _NO_STRINGS)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[tuple[Header, ...]]:
        if not len(self.key):
            yield from ((),) * len(self)
            return
        pairs = [
            ((key or b"").decode("utf-8", "replace"), value) for key, value in zip(self.key, self.value, strict=True)
        ]
        for first, end in pairwise(self.offsets.tolist()):
            yield tuple(pairs[first:end])


class RecordColumns:
    """The columns of some records, all of one length. Access to a missing column raises ValueError."""

    __slots__ = ("_headers", "_key", "_offset", "_timestamp", "_value", "columns", "records_count")

    def __init__(
        self,
        *,
        offset: Any = None,
        timestamp: Any = None,
        key: StringColumn | None = None,
        value: StringColumn | None = None,
        headers: HeadersColumn | None = None,
    ) -> None:
        """Take columns; offsets and timestamps (ms) are anything that numpy turns into int64 without loss."""
        self._offset = _int64s("offset", offset)
        self._timestamp = _int64s("timestamp", timestamp)
        self._key = key
        self._value = value
        self._headers = headers
        lengths = {
            name: len(column)
            for name, column in zip(COLUMNS, (self._offset, self._timestamp, key, value, headers), strict=True)
            if column is not None
        }
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise ValueError(f"columns differ in length: {found}")
        self.columns = tuple(lengths)
        """The names of the present columns, in the order of COLUMNS."""
        self.records_count = next(iter(lengths.values()), 0)

    @classmethod
    def of_records(cls, records: Iterable[Record], columns: Sequence[str] = COLUMNS) -> RecordColumns:
        """Make the named columns of records; without their attributes, which Kafka does not use."""
        given = list(records)
        return cls(
            offset=np.array([record.offset for record in given], np.int64) if "offset" in columns else None,
            timestamp=np.array([record.timestamp for record in given], np.int64) if "timestamp" in columns else None,
            key=StringColumn.of(record.key for record in given) if "key" in columns else None,
            value=StringColumn.of(record.value for record in given) if "value" in columns else None,
            headers=HeadersColumn.of(record.headers for record in given) if "headers" in columns else None,
        )

    @classmethod
    def from_arrow(cls, table: Any) -> RecordColumns:
        """Take a pyarrow Table or RecordBatch with columns of the names in COLUMNS; see columnar.arrow."""
        from protocol_specs.records.columnar.arrow import columns_from_arrow

        return columns_from_arrow(table)

    @property
    def offset(self) -> Ints:
        """The offset of every record."""
        return _present("offset", self._offset)

    @property
    def timestamp(self) -> Ints:
        """The timestamp of every record, in ms."""
        return _present("timestamp", self._timestamp)

    @property
    def key(self) -> StringColumn:
        """The key of every record."""
        return _present("key", self._key)

    @property
    def value(self) -> StringColumn:
        """The value of every record."""
        return _present("value", self._value)

    @property
    def headers(self) -> HeadersColumn:
        """The headers of every record."""
        return _present("headers", self._headers)

    def __len__(self) -> int:
        return self.records_count

    def to_arrow(self) -> Any:
        """Return a pyarrow Table of the present columns; see columnar.arrow."""
        from protocol_specs.records.columnar.arrow import columns_to_arrow

        return columns_to_arrow(self)

    def to_records(self) -> list[Record]:
        """Return objects, as read_records does; requires all columns."""
        return [
            Record(offset=offset, timestamp=timestamp, key=key, value=value, headers=headers)
            for offset, timestamp, key, value, headers in zip(
                self.offset.tolist(), self.timestamp.tolist(), self.key, self.value, self.headers, strict=True
            )
        ]


def join_columns(parts: Sequence[RecordColumns], columns: Sequence[str] = COLUMNS) -> RecordColumns:
    """Return the named columns of all parts, one after the other."""
    return RecordColumns(
        offset=_joined([part.offset for part in parts]) if "offset" in columns else None,
        timestamp=_joined([part.timestamp for part in parts]) if "timestamp" in columns else None,
        key=_joined_strings([part.key for part in parts]) if "key" in columns else None,
        value=_joined_strings([part.value for part in parts]) if "value" in columns else None,
        headers=_joined_headers([part.headers for part in parts]) if "headers" in columns else None,
    )


def _joined(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate(arrays) if arrays else np.zeros(0, np.int64)


def _joined_strings(columns: Sequence[StringColumn]) -> StringColumn:
    """Pack the columns, so that no buffer of a part is kept for a few of its bytes."""
    sizes = _joined([column.sizes for column in columns])
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(np.maximum(sizes, 0), out=starts[1:])
    data = np.empty(int(starts[-1]), np.uint8)
    first = 0
    for column in columns:
        end = first + len(column)
        copy_strings(data, starts[first:end], column.data, column.starts, np.maximum(column.sizes, 0))
        first = end
    return StringColumn(data, starts[:-1], sizes)


def _joined_headers(columns: Sequence[HeadersColumn]) -> HeadersColumn:
    counts = _joined([column.offsets[1:] - column.offsets[:-1] for column in columns])
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return HeadersColumn(
        offsets,
        _joined_strings([column.key for column in columns]),
        _joined_strings([column.value for column in columns]),
    )


def _int64s(name: str, numbers: Any) -> Ints | None:
    if numbers is None:
        return None
    array = np.asarray(numbers)
    if array.dtype is _INT64 and array.ndim == 1:
        return array
    if array.ndim != 1 or not (np.can_cast(array.dtype, np.int64) or not len(array)):
        raise ValueError(f"column {name} has the numpy type {array.dtype} of {array.ndim} dimensions, not int64 of one")
    return array.astype(np.int64, copy=False)


def _present(name: str, column: _Column | None) -> _Column:
    if column is None:
        raise ValueError(f"column {name} is not here: name it in columns= when reading, or give it when building")
    return column
