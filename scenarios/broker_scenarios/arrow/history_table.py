"""A history as an Arrow table and as Parquet files: one row per event, with the fields of HistoryEvent."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from broker_scenarios.errors import HistoryError
from broker_scenarios.history import HistoryEvent

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["HISTORY_SCHEMA", "events_of", "history_batch", "read_history", "write_history"]

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

_ARROW_FILES: Final = (".arrow", ".feather")
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
    if not path.exists():
        raise HistoryError(f"history {path} does not exist")
    try:
        table = feather.read_table(path) if path.suffix in _ARROW_FILES else pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise HistoryError(f"history {path} cannot be read: {_one_line(error)}") from None
    missing = [name for name in HISTORY_SCHEMA.names if name not in table.column_names]
    if missing:
        raise HistoryError(f"history {path} has no column {', '.join(missing)}")
    try:
        return events_of(table.select(HISTORY_SCHEMA.names).cast(HISTORY_SCHEMA))
    except (pa.ArrowException, ValueError) as error:
        raise HistoryError(f"history {path} has other types than the schema of histories: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
