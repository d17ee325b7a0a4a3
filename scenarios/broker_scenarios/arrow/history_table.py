"""A history as an Arrow table and as Parquet files: one row per event, with the fields of HistoryEvent."""

from __future__ import annotations

from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import dataset

from broker_scenarios.errors import HistoryError
from broker_scenarios.history import HistoryEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "HISTORY_SCHEMA",
    "events_of",
    "history_batch",
    "parquet_files",
    "read_history",
    "read_table",
    "table_batches",
    "write_history",
]

HISTORY_SCHEMA: Final = pa.schema(
    [
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("process", pa.int32(), nullable=False),
        pa.field("producer_id", pa.int32(), nullable=False),
        pa.field("index", pa.int64(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("time_us", pa.int64(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value_id", pa.int64(), nullable=False),
        pa.field("size_bytes", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp_ms", pa.int64(), nullable=False),
        pa.field("error_code", pa.int16(), nullable=False),
        pa.field("error", pa.string()),
    ]
)
"""One row per event. `index` numbers the sends of a process; a completion has the index of its invoke."""

_ARROW_FILES: Final = (".arrow", ".arrows", ".feather")
_STREAM: Final = b"\xff\xff\xff\xff"
"""The beginning of an Arrow IPC stream: the continuation marker of a message."""
_ROWS_AT_ONCE: Final = 200_000
_VALUES: Final = attrgetter(*HISTORY_SCHEMA.names)


def history_batch(events: Iterable[HistoryEvent]) -> pa.RecordBatch:
    """Return the events as one batch of HISTORY_SCHEMA."""
    columns = list(zip(*map(_VALUES, events), strict=True)) or [()] * len(HISTORY_SCHEMA)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, HISTORY_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=HISTORY_SCHEMA)


def events_of(table: pa.Table | pa.RecordBatch) -> list[HistoryEvent]:
    """Return the rows of a table as events."""
    columns = (table.column(name).to_pylist() for name in HISTORY_SCHEMA.names)
    return [HistoryEvent(*values) for values in zip(*columns, strict=True)]


def write_history(path: Path, history: Iterable[HistoryEvent]) -> None:
    """Write a history as one Parquet file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_batches([history_batch(history)]), path, compression="zstd")


def read_history(path: Path) -> list[HistoryEvent]:
    """Read a history from a Parquet file, from a folder of them, as Spark writes it, or from an Arrow file.

    Raises:
        HistoryError: the path does not exist, is no such file, or its table lacks a column or has other types.
    """
    return events_of(read_table(path, "history", HISTORY_SCHEMA, HISTORY_SCHEMA.names))


def read_table(
    path: Path, what: str, schema: pa.Schema, columns: list[str], optional: tuple[str, ...] = ()
) -> pa.Table:
    """Read some columns of a table that has all of a schema, file after file in the order of their names.

    An `optional` column that is missing has nulls.

    Raises:
        HistoryError: the path does not exist, is no such file, or its table lacks a column or has other types.
    """
    with _readable(path, what):
        files = _files(path, what, schema, optional)
        table = files.to_table([name for name in columns if name in files.schema.names])
    for name in columns:
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(len(table), schema.field(name).type))
    return _cast(table.select(columns), path, what, schema)


def table_batches(path: Path, what: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read the batches of a table that has all of a schema, one after another.

    Raises:
        HistoryError: the path does not exist, is no such file, or its table lacks a column or has other types.
    """
    with _readable(path, what):
        files = _files(path, what, schema)
        for batch in files.to_batches(
            columns=schema.names, batch_size=_ROWS_AT_ONCE, batch_readahead=1, fragment_readahead=1
        ):
            yield from _cast(pa.Table.from_batches([batch]), path, what, schema).to_batches()


def parquet_files(path: Path, what: str, schema: pa.Schema, optional: tuple[str, ...] = ()) -> list[tuple[Path, int]]:
    """Return the files of a table that has all of a schema, in the order of their names, and the rows of each.

    Raises:
        HistoryError: the path does not exist, is no Parquet, or its table lacks a column or has other types.
    """
    if path.suffix in _ARROW_FILES:
        raise HistoryError(f"{what} {path} cannot be read by Spark: expected Parquet")
    with _readable(path, what):
        files = _files(path, what, schema, optional)
        counted = [(Path(each.path), each.count_rows()) for each in files.get_fragments()]
    _cast(files.schema.empty_table(), path, what, schema)
    return counted


def _files(path: Path, what: str, schema: pa.Schema, optional: tuple[str, ...] = ()) -> dataset.Dataset:
    if not path.exists():
        raise HistoryError(f"{what} {path} does not exist")
    files = _stream(path) if _is_stream(path) else dataset.dataset(path, format=_format(path))
    missing = [name for name in schema.names if name not in files.schema.names and name not in optional]
    if missing:
        raise HistoryError(f"{what} {path} has no column {', '.join(missing)}")
    return files


def _format(path: Path) -> str:
    return "feather" if path.suffix in _ARROW_FILES else "parquet"


def _is_stream(path: Path) -> bool:
    """True for Arrow's IPC stream: no magic number begins it, but its first message."""
    if path.suffix not in _ARROW_FILES or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_STREAM)) == _STREAM


def _stream(path: Path) -> dataset.Dataset:
    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
        return dataset.dataset(stream.read_all())


@contextmanager
def _readable(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise HistoryError(f"{what} {path} cannot be read: {_one_line(error)}") from None


def _cast(table: pa.Table, path: Path, what: str, schema: pa.Schema) -> pa.Table:
    columns: list[pa.ChunkedArray] = []
    wanted = pa.schema([schema.field(name) for name in table.column_names if name in schema.names])
    for field in wanted:
        try:
            columns += table.select([field.name]).cast(pa.schema([field])).columns
        except (pa.ArrowException, ValueError) as error:
            raise HistoryError(
                f"{what} {path}: column {field.name!r} has another type than {field.type}, "
                f"as the schema of histories has it: {_one_line(error)}"
            ) from None
    return pa.table(columns, schema=wanted)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
