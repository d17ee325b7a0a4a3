"""The rows of an Arrow table as records to send: columns checked, sizes bounded, rows picked without copying a byte.

No Kafka class does this; each row is what a ProducerRecord is. Imported only when a table is sent: it needs pyarrow
and numpy (the extra `arrow`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.errors import ProducerError, SerializationError
from protocol_specs.records.batch_builder import MAX_RECORD_OVERHEAD
from protocol_specs.records.batch_peek import RECORD_BATCH_OVERHEAD
from protocol_specs.records.columnar.arrays import ColumnarUnavailable, np
from protocol_specs.records.columnar.arrow import columns_from_arrow
from protocol_specs.records.columnar.columns import HeadersColumn, RecordColumns, StringColumn
from protocol_specs.records.columnar.varints import spread, widths_of, zigzag

try:
    import pyarrow as pa
except ImportError:
    raise ColumnarUnavailable("pyarrow") from None
from protocol_specs.spelling import nearest

if TYPE_CHECKING:
    from protocol_specs.records.columnar.arrays import Ints

__all__ = ["NO_PARTITION", "TableRows", "rows_of", "take_rows"]

NO_PARTITION: Final = -1
_COLUMNS: Final = ("value", "key", "headers", "timestamp", "partition")
_INT32_MAX: Final = 0x7FFF_FFFF


class TableRows:
    """Checked rows: their columns as the builder of batches takes them, and the partition that a row names."""

    __slots__ = ("columns", "partition")

    def __init__(self, columns: RecordColumns, partition: Ints | None) -> None:
        self.columns = columns
        self.partition = partition
        """-1 where the row names no partition; None when no row does."""

    def __len__(self) -> int:
        return len(self.columns)

    def size_upper_bounds(self) -> Ints:
        """The most bytes that a batch of each row alone may take. Mirrors estimateSizeInBytesUpperBound."""
        sizes = _framed(self.columns.value.sizes) + (RECORD_BATCH_OVERHEAD + MAX_RECORD_OVERHEAD)
        sizes += _framed(self.columns.key.sizes) if "key" in self.columns.columns else 1
        headers = self.columns.headers if "headers" in self.columns.columns else None
        if headers is None or not len(headers.key):
            return sizes + 1
        ends = np.zeros(len(headers.key) + 1, np.int64)
        np.cumsum(_framed(headers.key.sizes) + _framed(headers.value.sizes), out=ends[1:])
        counts = headers.offsets[1:] - headers.offsets[:-1]
        bounds: Ints = sizes + widths_of(zigzag(counts)) + ends[headers.offsets[1:]] - ends[headers.offsets[:-1]]
        return bounds


def rows_of(table: Any, now_ms: int) -> TableRows:
    """Take a pyarrow Table or RecordBatch; SerializationError names the column that cannot be sent, and its type.

    Rows without a timestamp get `now_ms`.
    """
    if not isinstance(table, pa.Table | pa.RecordBatch):
        raise SerializationError(f"send_batch takes a pyarrow Table or RecordBatch, not {type(table).__name__}")
    names = table.schema.names
    _check_names(names)
    arrays = {name: table.column(name) for name in names if name != "partition"}
    timestamps = arrays.get("timestamp")
    if timestamps is None or pa.types.is_null(timestamps.type):
        arrays["timestamp"] = pa.array(np.full(table.num_rows, now_ms, np.int64))
    elif timestamps.null_count:
        arrays["timestamp"] = timestamps.fill_null(pa.scalar(now_ms, pa.int64()).cast(timestamps.type))
    if "key" in arrays and arrays["key"].null_count == table.num_rows:
        del arrays["key"]
    try:
        columns = columns_from_arrow(pa.table(arrays))
    except (ValueError, pa.ArrowException) as error:
        raise SerializationError(f"cannot send the table: {error}") from error
    if len(columns) and int(columns.timestamp.min()) < 0:
        row = int((columns.timestamp < 0).argmax())
        raise ProducerError(f"timestamp {int(columns.timestamp[row])} in row {row}: a timestamp is never negative")
    return TableRows(columns, _partitions(table.column("partition")) if "partition" in names else None)


def take_rows(columns: RecordColumns, rows: Ints) -> RecordColumns:
    """Return those rows, in that order, without copying their bytes."""
    return RecordColumns(
        timestamp=columns.timestamp[rows],
        key=_take_strings(columns.key, rows) if "key" in columns.columns else None,
        value=_take_strings(columns.value, rows),
        headers=_take_headers(columns.headers, rows) if "headers" in columns.columns else None,
    )


def _check_names(names: list[str]) -> None:
    for name in names:
        if name not in _COLUMNS:
            columns = ", ".join(_COLUMNS)
            raise SerializationError(
                f"column {name!r} is no part of a record; the columns are {columns}{nearest(name, _COLUMNS)}"
            )
        if names.count(name) > 1:
            raise SerializationError(f"column {name!r} is there {names.count(name)} times")
    if "value" not in names:
        raise SerializationError(
            f"the table has no column 'value' among {names}; only the other columns may be left out"
        )


def _partitions(array: Any) -> Ints | None:
    kind = array.type
    if pa.types.is_null(kind):
        return None
    if not pa.types.is_integer(kind):
        raise SerializationError(f"column partition has the type {kind}, not int32")
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    requested = array.cast(pa.int64(), safe=False).fill_null(0).to_numpy(zero_copy_only=False)
    given = array.is_valid().to_numpy(zero_copy_only=False)
    wrong = given & ((requested < 0) | (requested > _INT32_MAX))
    if wrong.any():
        row = int(wrong.argmax())
        raise ProducerError(f"partition {array[row].as_py()} in row {row}: a partition is an int32, never negative")
    partitions: Ints = np.where(given, requested, NO_PARTITION).astype(np.int64)
    return partitions if given.any() else None


def _framed(sizes: Ints) -> Ints:
    framed: Ints = np.maximum(sizes, 0) + spread(widths_of(zigzag(sizes)), len(sizes))
    return framed


def _take_strings(column: StringColumn, rows: Ints) -> StringColumn:
    return StringColumn(column.data, column.starts[rows], column.sizes[rows])


def _take_headers(column: HeadersColumn, rows: Ints) -> HeadersColumn:
    if not len(column.key):
        return HeadersColumn.none(len(rows))
    firsts = column.offsets[rows]
    counts = column.offsets[rows + 1] - firsts
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    entries = np.arange(int(offsets[-1])) + np.repeat(firsts - offsets[:-1], counts)
    return HeadersColumn(offsets, _take_strings(column.key, entries), _take_strings(column.value, entries))
