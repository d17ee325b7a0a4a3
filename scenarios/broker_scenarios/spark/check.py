"""The checks on Spark: plain sends are counted by the column, for all others applyInArrow calls check_partition."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  (PySpark's own convention)
from pyspark.sql.pandas.types import from_arrow_schema

from broker_scenarios.arrow.history_table import (
    HISTORY_SCHEMA,
    events_of,
    history_batch,
    parquet_files,
    read_history,
)
from broker_scenarios.arrow.plain_check import divide
from broker_scenarios.arrow.result_table import (
    LOGS_SCHEMA,
    RESULT_SCHEMA,
    log_records,
    logs_table,
    read_logs,
    result_of,
    result_table,
)
from broker_scenarios.checks.partition_check import check_all, check_partition
from broker_scenarios.garbage import without_collections
from broker_scenarios.history import NO_PARTITION
from broker_scenarios.spark.failures import spark_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_scenarios.arrow.plain_sends import FileFold
    from broker_scenarios.findings import CheckResult
    from broker_scenarios.verdict import History, Logs

__all__ = ["SparkEngine", "check_frames", "with_partitions"]

_DIRECT_ROWS_MAX: Final = 200_000
"""The events and log rows that the driver checks itself: about 200 MB, and less time than a stage needs."""


class SparkEngine:
    """Checks on a Spark session; a history given by its path is read by Spark."""

    name = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def check(self, history: History, logs: Logs) -> CheckResult:
        """Check all partitions; the results come in any order.

        Of a history and logs as Parquet, which executors can reach, the plain sends are counted by the column.
        """
        if isinstance(history, Path) and isinstance(logs, Path):
            return check_files(self._spark, history, logs)
        if isinstance(history, Path):
            frame = self._spark.read.schema(from_arrow_schema(HISTORY_SCHEMA)).parquet(str(history))
        else:
            frame = self._spark.createDataFrame(pa.Table.from_batches([history_batch(history)]))
        records = read_logs(logs) if isinstance(logs, Path) else logs
        return _collected(check_frames(frame, self._spark.createDataFrame(logs_table(records))))


def check_files(spark: SparkSession, history: Path, logs: Path) -> CheckResult:
    """Return the results of a history and its logs as Parquet: plain sends as counts, and the checks of the others."""

    def fold_all(fold: Callable[[int], FileFold], count: int) -> list[FileFold]:
        folded: list[FileFold] = spark.sparkContext.parallelize(range(count), count).map(fold).collect()
        return folded

    with TemporaryDirectory(prefix=f"_{history.name}-", dir=history.parent) as folder:
        with spark_errors("the check of the history"):
            divided = divide(history, logs, Path(folder), fold_all)
        result = _check_rest(spark, divided.events, divided.logs, Path(folder))
    result.records += divided.plain
    return result


def _check_rest(spark: SparkSession, history: Path | None, logs: pa.Table, folder: Path) -> CheckResult:
    """Check events and log rows: a few in this process, many on Spark."""
    rows = 0 if history is None else sum(count for _, count in parquet_files(history, "history", HISTORY_SCHEMA))
    if rows + len(logs) <= _DIRECT_ROWS_MAX:
        with without_collections():
            return check_all([] if history is None else read_history(history), log_records(logs))
    pq.write_table(logs, folder / "logs.parquet")
    held = spark.read.schema(from_arrow_schema(LOGS_SCHEMA)).parquet(str(folder / "logs.parquet"))
    schema = from_arrow_schema(HISTORY_SCHEMA)
    events = spark.createDataFrame([], schema) if history is None else spark.read.schema(schema).parquet(str(history))
    return _collected(check_frames(events, held))


def _collected(results: DataFrame) -> CheckResult:
    with spark_errors("the check of the history"):
        table = results.toArrow()
    with without_collections():
        return result_of(table)


def check_frames(history: DataFrame, logs: DataFrame) -> DataFrame:
    """Return the result rows (RESULT_SCHEMA) of a history and its log records."""
    keys = ["topic", "partition"]
    sent = with_partitions(history, logs, otherwise=NO_PARTITION).groupBy(*keys)
    return sent.cogroup(logs.groupBy(*keys)).applyInArrow(_check_group, from_arrow_schema(RESULT_SCHEMA))


def with_partitions(history: DataFrame, logs: DataFrame, *, otherwise: int) -> DataFrame:
    """Return the events with the partitions of their sends, as checks.analysis.by_partition finds them.

    That of the send's own completion takes precedence, then the lowest log that held the value, then `otherwise`.
    """
    held = logs.groupBy("topic", "value_id").agg(F.min("partition").alias("held"))
    # One shuffle and one sort for both: the events of a send have its value. A broadcast would collect the logs.
    by_value = history.repartition("topic", "value_id")
    own = F.max("partition").over(Window.partitionBy("topic", "value_id", "process", "index"))
    known = by_value.withColumn("own", own).join(held.hint("merge"), ["topic", "value_id"], "left")
    resolved = F.when(F.col("own") >= 0, F.col("own")).otherwise(F.coalesce(F.col("held"), F.lit(otherwise)))
    return known.withColumn("partition", resolved.cast("int")).select(*history.columns)


def _check_group(key: tuple[Any, ...], history: pa.Table, logs: pa.Table) -> pa.Table:
    topic, partition = (each.as_py() for each in key)
    with without_collections():
        return result_table(check_partition(topic, partition, events_of(history), log_records(logs)))
