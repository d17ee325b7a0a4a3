"""The ids of records by the column: headers that carry them, and the ids of records that were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from broker_scenarios.arrow.keyed_load_table import value_column
from broker_scenarios.workloads.record_ids import ID_BYTES, ID_HEADER
from protocol_specs.records.columnar.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = ["OWN_COLUMNS", "header_ids", "sent_table", "value_ids"]

OWN_COLUMNS: Final = ("value", "headers", "partition", "timestamp")
"""The columns of a user's load beside those of LOAD_SCHEMA; all but the value may be left out."""
_ENTRY: Final = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
_NONE: Final = -1


def sent_table(rows: pa.RecordBatch, run_id: str) -> pa.Table:
    """Return the rows of a load as Producer.send_batch takes them.

    Rows with a `value` have it, and a header with their id and the run; the others have a value that is made of the id.
    """
    ids = rows["value_id"].to_numpy()
    if "value" not in rows.schema.names:
        return pa.table({"key": rows["key"], "value": value_column(ids, rows["size_bytes"].to_numpy())})
    given = {name: rows[name] for name in ("key", *OWN_COLUMNS) if name in rows.schema.names}
    return pa.table({**given, "headers": _with_ids(given.get("headers"), ids, run_id)})


def header_ids(headers: Any, run_id: str) -> Ints:
    """Return the id of each record of a run by its last header; -1 for records of other clients and runs."""
    array = _one_chunk(headers)
    counts = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    ids = np.full(len(counts), _NONE, np.int64)
    rows = np.flatnonzero(counts)
    last = array.flatten().take(pa.array(np.cumsum(counts)[rows] - 1))
    keys, values = pc.struct_field(last, "key"), pc.struct_field(last, "value")
    run = run_id.encode()
    fits = pc.and_(pc.equal(keys, ID_HEADER), pc.equal(pc.binary_length(values), ID_BYTES + len(run)))
    marked = np.flatnonzero(pc.fill_null(fits, False).to_numpy(zero_copy_only=False))
    raw = _bytes_of(values.take(pa.array(marked))).reshape(-1, ID_BYTES + len(run))
    of_run = (raw[:, ID_BYTES:] == np.frombuffer(run, np.uint8)).all(axis=1)
    ids[rows[marked[of_run]]] = np.ascontiguousarray(raw[of_run, :ID_BYTES]).view(">i8").ravel()
    return ids


def value_ids(values: Any) -> Ints:
    """Return the id in the first bytes of each value; -1 for values that are too short for one."""
    array = _one_chunk(values)
    sizes = pc.fill_null(pc.binary_length(array), 0).to_numpy()
    ids = np.full(len(sizes), _NONE, np.int64)
    rows = np.flatnonzero(sizes >= ID_BYTES)
    starts = pc.binary_slice(array.take(pa.array(rows)), 0, ID_BYTES)
    ids[rows] = _bytes_of(starts).view(">i8")
    return ids


def _with_ids(headers: Any, ids: Ints, run_id: str) -> pa.Array:
    """Return the headers of each row, and after them the one with its id."""
    count, run = len(ids), np.frombuffer(run_id.encode(), np.uint8)
    raw = np.empty((count, ID_BYTES + len(run)), np.uint8)
    raw[:, :ID_BYTES] = ids.astype(">i8").view(np.uint8).reshape(count, ID_BYTES)
    raw[:, ID_BYTES:] = run
    ends = np.arange(count + 1, dtype=np.int32) * np.int32(raw.shape[1])
    values = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(raw)])
    own = pa.StructArray.from_arrays([pa.repeat(ID_HEADER, count), values], fields=[*_ENTRY])
    if headers is None:
        return pa.ListArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32)), own)
    array = _one_chunk(headers)
    given = array.flatten().cast(_ENTRY)
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(lengths + 1, out=offsets[1:])
    places = np.empty(int(offsets[-1]), np.int64)
    is_own = np.zeros(len(places), np.bool_)
    is_own[offsets[1:] - 1] = True
    places[is_own] = len(given) + np.arange(count)
    places[~is_own] = np.arange(len(given))
    return pa.ListArray.from_arrays(pa.array(offsets), pa.concat_arrays([given, own]).take(pa.array(places)))


def _bytes_of(array: Any) -> NDArray[np.uint8]:
    """Return all values of a binary array without nulls, one after the other."""
    if not len(array):
        return np.zeros(0, np.uint8)
    _, ends, data = array.buffers()
    offsets = np.frombuffer(ends, np.int64 if pa.types.is_large_binary(array.type) else np.int32)
    first, last = offsets[array.offset], offsets[array.offset + len(array)]
    return np.frombuffer(data, np.uint8)[first:last]


def _one_chunk(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
