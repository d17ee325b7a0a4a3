"""A table of sends judged on Spark: each partition in a task, by the function that judges it in one process.

The driver holds the findings alone; a task holds the events and the log of one partition.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  (PySpark's own convention)
from pyspark.sql.pandas.types import from_arrow_schema

from broker_scenarios.arrow.history_table import parquet_files
from broker_scenarios.arrow.send_table import (
    EVENT_COLUMNS,
    EVENT_TYPES,
    EVENTS_SCHEMA,
    HELD_SCHEMA,
    OPTIONAL_COLUMNS,
    UNKNOWN_NUMBERS,
    TablePart,
    in_order,
    operations_of,
    send_numbers,
)
from broker_scenarios.errors import HistoryError
from broker_scenarios.histories.history_verdict import HistoryVerdict
from broker_scenarios.histories.table_judgement import TableJudge, add_table
from broker_scenarios.spark.check import with_partitions
from broker_scenarios.spark.failures import spark_errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from broker_scenarios.histories.circumstances import Circumstances
    from broker_scenarios.histories.table_judgement import AddLogs

__all__ = ["judge_on_spark"]

_VERDICT_SCHEMA: Final = pa.schema([pa.field("key", pa.string()), pa.field("verdict", pa.string())])
"""One row per partition; `verdict` is a JSON object."""
_PARTS_PER_SLOT: Final = 8
"""Shuffle partitions per task slot: one large partition delays the others less."""


def judge_on_spark(
    spark: SparkSession, history: Path, circumstances: Circumstances, logs: Path | None = None
) -> HistoryVerdict:
    """Judge a table of sends (Parquet) with the table of its logs; executors and driver can reach both paths.

    Raises:
        ScenarioError: an input is malformed (HistoryError for the history), or Spark fails.
    """
    events = _read_events(spark, history)
    with spark_errors(str(history)):
        span = events.agg(
            F.min("time_us").alias("begin_us"),
            F.max("time_us").alias("end_us"),
            F.min(F.when(~F.col("type").isin(EVENT_TYPES), F.col("type"))).alias("unknown"),
        ).first()
    assert span is not None, "an aggregate without groups has one row"
    if span.begin_us is None:
        raise HistoryError(f"{history}: the history has no operations")
    if span.unknown is not None:
        raise HistoryError(f"{history}: 'type': expected one of {', '.join(EVENT_TYPES)}, not {span.unknown!r}")
    judge = TableJudge(history=str(history), circumstances=circumstances, begin_us=span.begin_us, end_us=span.end_us)
    held = _read_logs(spark, logs)
    judged = _judged_group(judge, None if logs is None else str(logs))
    slots = spark.sparkContext.defaultParallelism
    by_place = [
        frame.repartition(slots * _PARTS_PER_SLOT, "topic", "partition").groupBy("topic", "partition")
        for frame in (with_partitions(events, held, otherwise=0), held)
    ]
    with spark_errors(str(history)):
        rows = by_place[0].cogroup(by_place[1]).applyInArrow(judged, from_arrow_schema(_VERDICT_SCHEMA)).collect()
    return judge.merged({row.key: HistoryVerdict.from_json(json.loads(row.verdict)) for row in rows})


def _read_events(spark: SparkSession, history: Path) -> DataFrame:
    """Return the events with their rows, as read_send_table does: file after file in the order of their names."""
    first_rows: list[Any] = []
    row = 0
    for path, rows in parquet_files(history, "history", EVENTS_SCHEMA, OPTIONAL_COLUMNS):
        first_rows += [F.lit(path.name), F.lit(row)]
        row += rows
    frame = spark.read.schema(from_arrow_schema(EVENTS_SCHEMA)).parquet(str(history))
    first = F.create_map(*first_rows)[F.col("_metadata.file_name")]
    events = frame.select(*EVENT_COLUMNS, (first + F.col("_metadata.row_index")).alias("row"))
    return events.fillna(UNKNOWN_NUMBERS)


def _read_logs(spark: SparkSession, logs: Path | None) -> DataFrame:
    schema = from_arrow_schema(HELD_SCHEMA)
    if logs is None:
        return spark.createDataFrame([], schema)
    for _ in parquet_files(logs, "logs", HELD_SCHEMA, OPTIONAL_COLUMNS):
        pass
    return spark.read.schema(schema).parquet(str(logs)).fillna({"truncated": False})


def _judged_group(
    judge: TableJudge, logs_path: str | None
) -> Callable[[tuple[Any, ...], pa.Table, pa.Table], pa.Table]:
    def judged(place: tuple[Any, ...], events: pa.Table, logs: pa.Table) -> pa.Table:
        part = TablePart(place[0].as_py(), place[1].as_py(), in_order(events), logs)
        add_logs: AddLogs = partial(add_table, part, logs_path) if logs_path is not None else _no_logs
        operations = operations_of(part.events, part.key, judge.begin_us)
        verdict = judge.part(part.key, operations, send_numbers(part.events), add_logs)
        row = {"key": part.key, "verdict": json.dumps(verdict.as_json())}
        return pa.Table.from_pylist([row], schema=_VERDICT_SCHEMA)

    return judged


def _no_logs(_: object) -> None:
    pass
