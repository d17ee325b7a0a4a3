"""What each producer was told: one event per invoke, ok, fail and info, in Jepsen's terms, as Arrow rows.

A send is one `invoke` and, once the client knows, one completion under the same (process, index):
`ok` (acknowledged; offset -1 under acks=0), `fail` (certainly not stored) or `info` (nobody knows). A process
is one client lifetime. Times are microseconds of the clock that the journal uses, so that the two can be
joined. The stored and the truncated rows are the truth beside it: what the brokers' logs held.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from broker_scenarios.errors import HistoryError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "HISTORY_SCHEMA",
    "LOGS_SCHEMA",
    "NO_OFFSET",
    "NO_PARTITION",
    "STORED_SCHEMA",
    "TRUNCATED_SCHEMA",
    "EventType",
    "HistoryRecorder",
    "join_logs",
    "read_history",
    "write_history",
]

NO_OFFSET: Final = -1
NO_PARTITION: Final = -1


class EventType(StrEnum):
    """The four kinds of event of a Jepsen history."""

    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


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
"""One row an event. `index` numbers the sends of a process; a completion carries its invoke's index."""

STORED_SCHEMA: Final = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("value_id", pa.int64(), nullable=False),
        pa.field("leader_epoch", pa.int32(), nullable=False),
        pa.field("broker", pa.int32(), nullable=False),
        pa.field("batch_base_offset", pa.int64(), nullable=False),
    ]
)
"""One row a record in the log of the partition's leader at the end of the run."""

TRUNCATED_SCHEMA: Final = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("value_id", pa.int64(), nullable=False),
        pa.field("broker", pa.int32(), nullable=False),
        pa.field("leader_epoch", pa.int32(), nullable=False),
        pa.field("time_us", pa.int64(), nullable=False),
    ]
)
"""One row a record that a replica cut off; `leader_epoch` is the epoch of the leader that it then followed."""

LOGS_SCHEMA: Final = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("value_id", pa.int64(), nullable=False),
        pa.field("truncated", pa.bool_(), nullable=False),
    ]
)
"""Stored and truncated rows in one table: all that the checks need of the logs."""

_Row = tuple[int, int, int, str, int, str, int, bytes | None, int, int, int, int, int, str | None]


class HistoryRecorder:
    """Collects the events of one or more processes. Several threads may record; one drains."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._rows: deque[_Row] = deque()

    def __len__(self) -> int:
        return len(self._rows)

    def record(
        self,
        event: EventType,
        *,
        process: int,
        producer_id: int,
        index: int,
        time_us: int,
        topic: str,
        value_id: int,
        size_bytes: int,
        key: bytes | None = None,
        partition: int = NO_PARTITION,
        offset: int = NO_OFFSET,
        timestamp_ms: int = -1,
        error_code: int = 0,
        error: str | None = None,
    ) -> None:
        """Append one event; deque.append is atomic, so no lock is needed."""
        self._rows.append(
            (
                process, producer_id, index, event.value, time_us, topic, partition, key,
                value_id, size_bytes, offset, timestamp_ms, error_code, error,
            )
        )  # fmt: skip

    def drain(self, limit: int | None = None) -> pa.RecordBatch:
        """Take the oldest events, at most `limit`, as one batch of HISTORY_SCHEMA (perhaps without rows)."""
        count = len(self._rows) if limit is None else min(limit, len(self._rows))
        rows = [self._rows.popleft() for _ in range(count)]
        columns = list(zip(*rows, strict=True)) if rows else [()] * (len(HISTORY_SCHEMA) - 1)
        arrays = [pa.repeat(pa.scalar(self._run_id, pa.string()), count)]
        arrays += [
            pa.array(column, type=field.type) for column, field in zip(columns, list(HISTORY_SCHEMA)[1:], strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=HISTORY_SCHEMA)

    def table(self) -> pa.Table:
        """Drain everything into one table."""
        return pa.Table.from_batches([self.drain()], schema=HISTORY_SCHEMA)


def join_logs(stored: pa.Table, truncated: pa.Table | None = None) -> pa.Table:
    """Put stored and truncated rows into one table of LOGS_SCHEMA."""
    parts = [_log_part(stored, truncated=False)]
    if truncated is not None:
        parts.append(_log_part(truncated, truncated=True))
    return pa.concat_tables(parts)


def write_history(path: Path, history: pa.Table) -> None:
    """Write a history as one Parquet file; refuses a table that is not of HISTORY_SCHEMA."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(_of_history_schema(history, str(path)), path, compression="zstd")


def read_history(path: Path) -> pa.Table:
    """Read a history from a Parquet file or from a folder of them, as Spark writes it."""
    if not path.exists():
        raise HistoryError(f"history {path} does not exist")
    return _of_history_schema(pq.read_table(path), str(path))


def _log_part(rows: pa.Table, *, truncated: bool) -> pa.Table:
    flag = pa.repeat(pa.scalar(truncated, pa.bool_()), rows.num_rows)
    part = rows.select(["topic", "partition", "offset", "value_id"]).append_column("truncated", flag)
    return part.cast(LOGS_SCHEMA)


def _of_history_schema(table: pa.Table, origin: str) -> pa.Table:
    missing = [name for name in HISTORY_SCHEMA.names if name not in table.column_names]
    if missing:
        raise HistoryError(f"history {origin} has no column {', '.join(missing)}")
    return table.select(HISTORY_SCHEMA.names).cast(HISTORY_SCHEMA)
