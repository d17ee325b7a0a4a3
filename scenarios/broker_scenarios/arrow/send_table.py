"""A table of sends with the table of its logs, partition by partition: the form in which a large history is judged.

The sends stay in columns until their partition is judged. `row` is the place of an event in the table: it names the
event in findings.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from broker_scenarios.arrow.history_table import HISTORY_SCHEMA, read_table
from broker_scenarios.arrow.result_table import LOGS_SCHEMA
from broker_scenarios.errors import HistoryError
from broker_scenarios.history import NO_OFFSET, NO_PARTITION, EventType
from broker_scenarios.operations import Function, Op, Send

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from broker_scenarios.checks.analysis import Analysis

__all__ = [
    "EVENTS_SCHEMA",
    "EVENT_COLUMNS",
    "EVENT_TYPES",
    "HELD_SCHEMA",
    "OPTIONAL_COLUMNS",
    "UNKNOWN_NUMBERS",
    "SendTable",
    "TablePart",
    "add_records",
    "in_order",
    "operations_at",
    "operations_of",
    "read_logs_table",
    "read_send_table",
    "send_numbers",
]

EVENT_COLUMNS: Final = ["process", "index", "type", "time_us", "topic", "partition", "value_id", "offset", "error"]
"""The columns of HISTORY_SCHEMA that the checks need."""
UNKNOWN_NUMBERS: Final = {"partition": NO_PARTITION, "offset": NO_OFFSET}
"""The columns of events that may have nulls, and the number that stands for one."""
EVENTS_SCHEMA: Final = pa.schema(
    [HISTORY_SCHEMA.field(name).with_nullable(name in {*UNKNOWN_NUMBERS, "error"}) for name in EVENT_COLUMNS]
)
"""The columns of a history that is judged; it may have others."""
HELD_SCHEMA: Final = pa.schema([field.with_nullable(field.name == "truncated") for field in LOGS_SCHEMA])
"""The columns of its logs."""
OPTIONAL_COLUMNS: Final = ("error", "truncated")
"""The columns of both that may be missing."""
EVENT_TYPES: Final = [each.value for each in EventType]
"""In the order of events of one time: an acknowledgement precedes other completions of the same send."""
_RANKS: Final = pa.array(EVENT_TYPES)
_TYPES: Final = {each.value: each for each in EventType}
_ROWS_AT_ONCE: Final = 50_000
"""The rows that are Python objects at a time, beside those of the checks."""


class TablePart(NamedTuple):
    """The events of one partition and what its log holds, as tables."""

    topic: str
    partition: int
    events: pa.Table
    logs: pa.Table

    @property
    def key(self) -> str:
        """The partition as one text: `orders-0`."""
        return f"{self.topic}-{self.partition}"


class SendTable:
    """The events of a history with their logs, in columns: about 60 bytes per event."""

    def __init__(self, events: pa.Table, logs: pa.Table) -> None:
        self._logs = logs
        self._events = _with_partitions(events, logs)

    def __len__(self) -> int:
        return len(self._events)

    def span_us(self) -> tuple[int, int]:
        """Return the times of the first and of the last event."""
        span = pc.min_max(self._events["time_us"]).as_py()
        return span["min"], span["max"]

    def parts(self) -> Iterator[TablePart]:
        """Return each partition that has events or records in its log, sorted by topic and partition."""
        events, logs = _slices(self._events), _slices(self._logs)
        for topic, partition in sorted({**events, **logs}):
            place = topic, partition
            yield TablePart(
                topic,
                partition,
                in_order(events.get(place, self._events.slice(0, 0))),
                logs.get(place, self._logs.slice(0, 0)),
            )


def read_send_table(path: Path) -> pa.Table:
    """Read the events of a Parquet file, of a folder of them, or of an Arrow file, with their rows.

    Raises:
        HistoryError: it cannot be read, it has no events, or an event has an unknown type.
    """
    table = read_table(path, "history", EVENTS_SCHEMA, EVENT_COLUMNS, OPTIONAL_COLUMNS)
    if not table:
        raise HistoryError(f"{path}: the history has no operations")
    unknown = pc.filter(table["type"], pc.invert(pc.is_in(table["type"], _RANKS)))
    if unknown:
        raise HistoryError(f"{path}: 'type': expected one of {', '.join(EventType)}, not {unknown[0].as_py()!r}")
    for name, number in UNKNOWN_NUMBERS.items():
        table = _without_nulls(table, name, number)
    for name in ("type", "topic", "error"):
        at = table.column_names.index(name)
        table = table.set_column(at, name, table[name].dictionary_encode())
    return table.append_column("row", _numbers(len(table)))


def read_logs_table(path: Path) -> pa.Table:
    """Read the records that the logs hold. Raises HistoryError if the file cannot be read."""
    table = read_table(path, "logs", HELD_SCHEMA, HELD_SCHEMA.names, OPTIONAL_COLUMNS)
    table = _without_nulls(table, "truncated", False)
    return table.set_column(0, "topic", table["topic"].dictionary_encode())


def in_order(events: pa.Table) -> pa.Table:
    """Return events in the order in which they are judged, which does not depend on their order in the table."""
    ranked = events.append_column("rank", pc.index_in(events["type"], _RANKS))
    by = ("time_us", "rank", "process", "index", "row")
    return events.take(pc.sort_indices(ranked, [(name, "ascending") for name in by]))


def operations_of(events: pa.Table, key: str, begin_us: int) -> Iterator[Op]:
    """Return the events of one partition as operations of the neutral form; times count from `begin_us`."""
    for batch in events.to_batches(_ROWS_AT_ONCE):
        columns = [_integers(batch, name) for name in ("row", "process", "value_id", "offset", "time_us")]
        types = map(_TYPES.__getitem__, batch["type"].to_pylist())
        for row, process, value, offset, time_us, event, error in zip(*columns, types, _errors(batch), strict=True):
            yield Op(
                index=row,
                process=process,
                type=event,
                f=Function.SEND,
                mops=[Send(key, value, offset if event is EventType.OK else NO_OFFSET)],
                time_ms=(time_us - begin_us) / 1000,
                error=error,
            )


def send_numbers(events: pa.Table) -> dict[int, int]:
    """Return the number of the send (`index`) of each row."""
    numbers: dict[int, int] = {}
    for batch in events.to_batches(_ROWS_AT_ONCE):
        numbers.update(zip(_integers(batch, "row"), _integers(batch, "index"), strict=True))
    return numbers


def operations_at(path: Path, rows: dict[int, str]) -> Iterator[Op]:
    """Return the operations of some rows of a history, each with the partition that is known for it."""
    table = read_send_table(path)
    begin_us = pc.min(table["time_us"]).as_py()
    for row, key in rows.items():
        yield from operations_of(table.slice(row, 1), key, begin_us)


def add_records(analysis: Analysis, logs: pa.Table) -> None:
    """Add what a log holds, and what a replica has cut off, to the analysis of its partition."""
    analysis.log_known = True
    for batch in logs.sort_by("offset").to_batches(_ROWS_AT_ONCE):
        cut_off = batch["truncated"].to_pylist()
        for offset, value, truncated in zip(
            _integers(batch, "offset"), _integers(batch, "value_id"), cut_off, strict=True
        ):
            if truncated:
                analysis.truncated.setdefault(value, []).append(offset)
            else:
                analysis.add_record(value, offset)


def _without_nulls(table: pa.Table, name: str, value: object) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pc.fill_null(table[name], value))


def _integers(batch: pa.RecordBatch, name: str) -> list[int]:
    """As to_pylist, in a tenth of its time: for a column of integers without nulls."""
    column = batch[name]
    numbers = memoryview(column.buffers()[1]).cast("i" if column.type == pa.int32() else "q")
    return numbers[column.offset : column.offset + len(column)].tolist()


def _errors(batch: pa.RecordBatch) -> Iterable[str | None]:
    errors = batch["error"]
    return repeat(None, len(errors)) if errors.null_count == len(errors) else errors.to_pylist()


def _with_partitions(events: pa.Table, logs: pa.Table) -> pa.Table:
    """As checks.analysis.by_partition: that of the send's own completion, then the lowest log that holds the value.

    A send without either has partition 0.
    """
    own = events.group_by(["process", "index"]).aggregate([("partition", "max")])
    known = events.select(["row", "process", "index"]).join(own, ["process", "index"]).sort_by("row")
    partition = pc.if_else(pc.greater_equal(known["partition_max"], 0), known["partition_max"], None)
    unknown = events.filter(pc.is_null(partition)).select(["row", "topic", "value_id"])
    if unknown:
        held = _plain(logs).group_by(["topic", "value_id"]).aggregate([("partition", "min")])
        found = _plain(unknown).join(held, ["topic", "value_id"]).sort_by("row")["partition_min"]
        partition = pc.replace_with_mask(
            partition.combine_chunks(), pc.is_null(partition).combine_chunks(), pc.fill_null(found, 0).combine_chunks()
        )
    return events.set_column(events.column_names.index("partition"), "partition", [partition])


def _slices(table: pa.Table) -> dict[tuple[str, int], pa.Table]:
    """Return the rows of each topic and partition."""
    topics = pa.array(sorted(pc.unique(table["topic"].cast(pa.string())).to_pylist()), pa.string())
    numbered = table.append_column("at", pc.index_in(table["topic"].cast(pa.string()), topics))
    places = numbered.group_by(["at", "partition"]).aggregate([([], "count_all")])
    by = [("at", "ascending"), ("partition", "ascending")]
    ordered = table.take(pc.sort_indices(numbered, by))
    found: dict[tuple[str, int], pa.Table] = {}
    first = 0
    for place in places.sort_by(by).to_pylist():
        found[topics[place["at"]].as_py(), place["partition"]] = ordered.slice(first, place["count_all"])
        first += place["count_all"]
    return found


def _plain(table: pa.Table) -> pa.Table:
    """Return a table whose topics are no dictionary: tables with two dictionaries cannot be joined."""
    return table.set_column(table.column_names.index("topic"), "topic", table["topic"].cast(pa.string()))


def _numbers(count: int) -> pa.Array:
    return pa.array(range(count), pa.int64())
