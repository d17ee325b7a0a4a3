"""Log records and check results as Arrow tables, for the checks on Spark.

The result table has three sorts of rows under one schema, because Spark's applyInArrow returns one table.
"""

from __future__ import annotations

from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from broker_scenarios.arrow.history_table import read_table
from broker_scenarios.findings import Cause, CheckCrash, CheckResult, Finding, FindingKind, Outcome, RecordResult
from broker_scenarios.history import LogRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = ["LOGS_SCHEMA", "RESULT_SCHEMA", "log_records", "logs_table", "read_logs", "result_of", "result_table"]

LOGS_SCHEMA: Final = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("value_id", pa.int64(), nullable=False),
        pa.field("truncated", pa.bool_(), nullable=False),
    ]
)
"""One row per record in a log or cut off from one, with the fields of LogRecord."""

RESULT_SCHEMA: Final = pa.schema(
    [
        ("sort", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("value_id", pa.int64()),
        ("process", pa.int32()),
        ("producer_id", pa.int32()),
        ("index", pa.int64()),
        ("outcome", pa.string()),
        ("invoke_us", pa.int64()),
        ("complete_us", pa.int64()),
        ("ack_offset", pa.int64()),
        ("offset", pa.int64()),
        ("copies", pa.int32()),
        ("lost", pa.bool_()),
        ("duplicated", pa.bool_()),
        ("reordered", pa.bool_()),
        ("error_code", pa.int16()),
        ("error", pa.string()),
        ("count", pa.int64()),
        ("kind", pa.string()),
        ("cause", pa.string()),
        ("other_value_id", pa.int64()),
        ("values", pa.list_(pa.int64())),
        ("detail", pa.string()),
    ]
)
"""One row per record, finding or crash (`sort`), with the fields of RecordResult, Finding or CheckCrash."""


class _Sort(StrEnum):
    """The three sorts of rows of RESULT_SCHEMA."""

    RECORD = "record"
    FINDING = "finding"
    CRASH = "crash"


_RECORD_FIELDS: Final = (
    "topic", "partition", "value_id", "process", "producer_id", "index", "outcome", "invoke_us", "complete_us",
    "ack_offset", "copies", "lost", "duplicated", "reordered", "error_code", "error", "count",
)  # fmt: skip
_FINDING_FIELDS: Final = (
    "topic", "partition", "value_id", "process", "producer_id", "index", "complete_us", "ack_offset", "offset", "kind",
    "cause", "other_value_id", "values", "detail",
)  # fmt: skip
_CRASH_FIELDS: Final = ("topic", "partition", "kind", "detail")
_FIELDS: Final = {_Sort.RECORD: _RECORD_FIELDS, _Sort.FINDING: _FINDING_FIELDS, _Sort.CRASH: _CRASH_FIELDS}
_OUTCOMES: Final = {each.value: each for each in Outcome}
_ROWS_AT_ONCE: Final = 50_000
"""The rows whose values are Python objects at a time, beside the results."""


def logs_table(logs: Iterable[LogRecord]) -> pa.Table:
    """Return the log records as a table of LOGS_SCHEMA."""
    columns = list(zip(*logs, strict=True)) or [()] * len(LOGS_SCHEMA)
    return pa.table(dict(zip(LOGS_SCHEMA.names, columns, strict=True)), schema=LOGS_SCHEMA)


def read_logs(path: Path) -> list[LogRecord]:
    """Read log records from Parquet. Raises HistoryError if they cannot be read."""
    return log_records(read_table(path, "logs", LOGS_SCHEMA, LOGS_SCHEMA.names))


def log_records(table: pa.Table) -> list[LogRecord]:
    """Return the rows of a table of LOGS_SCHEMA."""
    columns = (table.column(name).to_pylist() for name in LOGS_SCHEMA.names)
    return list(map(LogRecord._make, zip(*columns, strict=True)))


def result_table(result: CheckResult) -> pa.Table:
    """Return the result as a table of RESULT_SCHEMA."""
    sorts = ((_Sort.RECORD, result.records), (_Sort.FINDING, result.findings), (_Sort.CRASH, result.crashes))
    return pa.concat_tables([_rows(sort, items) for sort, items in sorts])


def result_of(table: pa.Table) -> CheckResult:
    """Return the rows of a table of RESULT_SCHEMA as records, findings and crashes."""
    result = CheckResult()
    for row in _values(table, _Sort.RECORD):
        row["outcome"] = _OUTCOMES[row["outcome"]]
        result.records.append(RecordResult(**row))
    for row in _values(table, _Sort.FINDING):
        row.update(kind=FindingKind(row["kind"]), cause=Cause(row["cause"]), values=tuple(row["values"]))
        result.findings.append(Finding(**row))
    for row in _values(table, _Sort.CRASH):
        result.crashes.append(CheckCrash(**row))
    return result


def _rows(sort: _Sort, items: Sequence[object]) -> pa.Table:
    fields = _FIELDS[sort]
    columns = dict(zip(fields, zip(*map(attrgetter(*fields), items), strict=True), strict=False))
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(len(items), field.type)
        for field in RESULT_SCHEMA
    ]
    arrays[0] = pa.repeat(sort.value, len(items))
    return pa.Table.from_arrays(arrays, schema=RESULT_SCHEMA)


def _values(table: pa.Table, sort: _Sort) -> Iterator[dict[str, Any]]:
    rows = table.filter(pc.equal(table["sort"], sort.value))
    names = _FIELDS[sort]
    for batch in rows.select(list(names)).to_batches(_ROWS_AT_ONCE):
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield dict(zip(names, values, strict=True))
