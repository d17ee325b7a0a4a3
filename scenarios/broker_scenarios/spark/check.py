"""The checks on Spark: the same check_partition, called by applyInArrow for every topic-partition."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  (PySpark's own convention)
from pyspark.sql.pandas.types import from_arrow_schema

from broker_scenarios.arrow.history_table import HISTORY_SCHEMA, events_of, history_batch
from broker_scenarios.arrow.result_table import RESULT_SCHEMA, log_records, logs_table, result_of, result_table
from broker_scenarios.checks.partition_check import check_partition
from broker_scenarios.garbage import without_collections
from broker_scenarios.history import NO_PARTITION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_scenarios.findings import CheckResult
    from broker_scenarios.history import LogRecord
    from broker_scenarios.verdict import History

__all__ = ["SparkEngine", "check_frames", "with_partitions"]


class SparkEngine:
    """Checks on a Spark session; a history given by its path is read by Spark."""

    name = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def check(self, history: History, logs: Sequence[LogRecord]) -> CheckResult:
        """Check all partitions; the results come in any order."""
        if isinstance(history, Path):
            frame = self._spark.read.schema(from_arrow_schema(HISTORY_SCHEMA)).parquet(str(history))
        else:
            frame = self._spark.createDataFrame(pa.Table.from_batches([history_batch(history)]))
        results = check_frames(frame, self._spark.createDataFrame(logs_table(logs))).toArrow()
        with without_collections():
            return result_of(results)


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
