"""Columns of records as Arrow tables, and back: what Spark, Parquet and pyarrow.compute work on.

The schema is `SCHEMA`: offset and timestamp (ms) int64, key and value binary (large_binary past 2 GiB), headers a list
of structs of key and value. Arrow's strings must be UTF-8, and header keys of a peer need not be: such keys are decoded
with replacements, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.records.columnar.arrays import LONG_BYTES, ColumnarUnavailable, gather_equal, np
from protocol_specs.records.columnar.columns import COLUMNS, HeadersColumn, RecordColumns, StringColumn

try:
    import pyarrow as pa
except ImportError:
    raise ColumnarUnavailable("pyarrow") from None

if TYPE_CHECKING:
    from protocol_specs.records.columnar.arrays import Ints

_HEADER: Final = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
_HEADERS: Final = pa.list_(_HEADER)

SCHEMA: Final = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", _HEADERS, nullable=False),
    ]
)
"""The types of all columns; a table has those that are in its RecordColumns."""

_FIELDS: Final = {field.name: field for field in SCHEMA}
_NO_HEADERS: Final = pa.array([], _HEADER)
_INT64: Final = pa.int64()
_BINARY: Final = pa.binary()
_INT32_MAX: Final = 0x7FFF_FFFF


def columns_to_arrow(columns: RecordColumns) -> Any:
    """Return a pyarrow Table of the present columns, in the order of SCHEMA."""
    names = columns.columns
    return table_of_arrays(
        columns_to_arrays(columns), SCHEMA if names == COLUMNS else pa.schema([_FIELDS[name] for name in names])
    )


def columns_to_arrays(columns: RecordColumns) -> list[Any]:
    """Return a pyarrow Array per present column, in the order of SCHEMA."""
    return [_array(getattr(columns, name)) for name in columns.columns]


def table_of_arrays(arrays: list[Any], schema: Any) -> Any:
    """Return a table; where the type of an array differs from that of its field, the array decides."""
    if [array.type for array in arrays] != schema.types:
        fields = [field.with_type(array.type) for field, array in zip(schema, arrays, strict=True)]
        schema = pa.schema(fields)
    return pa.Table.from_arrays(arrays, schema=schema)


def columns_from_arrow(table: Any) -> RecordColumns:
    """Take the columns of a pyarrow Table or RecordBatch that have names in COLUMNS; others are refused by name.

    Offsets and timestamps are integers (a timestamp also timestamp[ms]) without nulls; keys and values binary or string
    of any kind. Headers are lists of structs of a key and a value; a null list has none. Raises ValueError.
    """
    unknown = [name for name in table.schema.names if name not in COLUMNS]
    if unknown:
        raise ValueError(f"column {unknown[0]!r} is no part of a record; its columns are {', '.join(COLUMNS)}")
    found: dict[str, Any] = {}
    for name in table.schema.names:
        array = _one_chunk(table.column(name))
        if name in {"offset", "timestamp"}:
            found[name] = _int64s(name, array)
        elif name == "headers":
            found[name] = _headers_column(array)
        else:
            found[name] = _string_column(name, array)
    return RecordColumns(**found)


def _array(column: Any) -> Any:
    if isinstance(column, StringColumn):
        return _binary(column)
    if isinstance(column, HeadersColumn):
        return _headers(column)
    return pa.Array.from_buffers(_INT64, len(column), [None, pa.py_buffer(np.ascontiguousarray(column))])


def _binary(column: StringColumn, kind: Any = None) -> Any:
    count = len(column)
    least, most = column.size_range
    if most < 0:
        return pa.nulls(count, kind or _BINARY)
    valid = None
    if least == most < LONG_BYTES and 0 < most * count <= _INT32_MAX:
        offsets: Any = np.arange(0, most * count + 1, most, dtype=np.int32)
        data = gather_equal(column.data, column.starts, most)
    else:
        places, data = column.packed(has_nulls=least < 0)
        if len(data) > _INT32_MAX:
            kind, offsets = pa.large_string() if kind == pa.string() else pa.large_binary(), places
        else:
            offsets = places.astype(np.int32)
        if least < 0:
            valid = pa.py_buffer(np.packbits(column.sizes >= 0, bitorder="little"))
    return pa.Array.from_buffers(kind or _BINARY, count, [valid, pa.py_buffer(offsets), pa.py_buffer(data)])


def _headers(column: HeadersColumn) -> Any:
    count = len(column)
    if not len(column.key):
        offsets = pa.py_buffer(np.zeros(count + 1, np.int32))
        return pa.Array.from_buffers(_HEADERS, count, [None, offsets], children=[_NO_HEADERS])
    offsets = column.offsets.astype(np.int32)
    key = _binary(column.key)
    try:
        key = key.cast(pa.string())
    except pa.ArrowInvalid:
        key = pa.array([(name or b"").decode("utf-8", "replace") for name in column.key], pa.string())
    entries = pa.StructArray.from_arrays([key, _binary(column.value)], fields=list(_HEADER))
    return pa.ListArray.from_arrays(pa.array(offsets), entries, type=pa.list_(entries.type))


def _one_chunk(array: Any) -> Any:
    if isinstance(array, pa.ChunkedArray):
        return array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    return array


def _int64s(name: str, array: Any) -> Ints:
    kind = array.type
    if kind == pa.timestamp("ms") or (pa.types.is_timestamp(kind) and kind.unit == "ms"):
        array = array.cast(pa.int64())
    elif not pa.types.is_integer(kind):
        raise ValueError(f"column {name} has the type {kind}, not int64")
    if array.null_count:
        raise ValueError(f"column {name} has {array.null_count} nulls; every record needs one")
    try:
        numbers: Ints = array.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {name} does not fit into int64: {error}") from None
    return numbers


def _string_column(name: str, array: Any) -> StringColumn:
    kind = array.type
    if pa.types.is_null(kind):
        return StringColumn.of([None] * len(array))
    if pa.types.is_large_binary(kind) or pa.types.is_large_string(kind):
        offset_type: Any = np.int64
    elif pa.types.is_binary(kind) or pa.types.is_string(kind):
        offset_type = np.int32
    elif pa.types.is_fixed_size_binary(kind) or "view" in str(kind):
        return _string_column(name, array.cast(pa.large_binary()))
    else:
        raise ValueError(f"column {name} has the type {kind}, not binary or string")
    _, offsets, data = array.buffers()
    first = array.offset
    if not len(array) or offsets is None:
        return StringColumn.of([None] * len(array))
    places = np.frombuffer(offsets, offset_type)[first : first + len(array) + 1]
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    return StringColumn.from_offsets(b"" if data is None else data, places, valid)


def _headers_column(array: Any) -> HeadersColumn:
    kind = array.type
    if pa.types.is_null(kind):
        return HeadersColumn.none(len(array))
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise ValueError(f"column headers has the type {kind}, not a list of structs of key and value")
    entry = kind.value_type
    names = [entry.field(at).name for at in range(entry.num_fields)] if pa.types.is_struct(entry) else []
    if names != ["key", "value"]:
        raise ValueError(f"column headers has entries of the type {entry}, not structs of key and value")
    if array.null_count:
        # A null list has no headers, and flatten omits its values.
        counts = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        offsets = np.zeros(len(array) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
    else:
        offsets = array.offsets.to_numpy().astype(np.int64)
        offsets -= offsets[0]
    if not offsets[-1]:
        return HeadersColumn.none(len(array))
    entries = array.flatten()
    key, value = entries.field(0), entries.field(1)
    if key.null_count or entries.null_count:
        raise ValueError("column headers has a header without a key")
    return HeadersColumn(offsets, _string_column("headers.key", key), _string_column("headers.value", value))
