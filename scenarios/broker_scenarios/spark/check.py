"""The checks on Spark: the same check_partition, called by applyInArrow for every topic-partition."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  (PySpark's own convention)
from pyspark.sql.pandas.types import from_arrow_schema

from broker_scenarios.checks.partition_check import check_partition
from broker_scenarios.findings import RESULT_SCHEMA
from broker_scenarios.history import HISTORY_SCHEMA, LOGS_SCHEMA

if TYPE_CHECKING:
    import pyarrow as pa

    from broker_scenarios.verdict import History

__all__ = ["SparkEngine", "check_frames"]


class SparkEngine:
    """Checks on a Spark session; a history given by its path is read by Spark."""

    name = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def check(self, history: History, logs: pa.Table) -> pa.Table:
        """Check all partitions; the rows come in any order."""
        if isinstance(history, Path):
            frame = self._spark.read.schema(from_arrow_schema(HISTORY_SCHEMA)).parquet(str(history))
        else:
            frame = self._spark.createDataFrame(history)
        return check_frames(frame, self._spark.createDataFrame(logs)).toArrow().cast(RESULT_SCHEMA)


def check_frames(history: DataFrame, logs: DataFrame) -> DataFrame:
    """The result rows (RESULT_SCHEMA) of a history and its log rows."""
    keys = ["topic", "partition"]
    sent = _assign_partitions(history, logs).groupBy(*keys)
    return sent.cogroup(logs.groupBy(*keys)).applyInArrow(_check_group, from_arrow_schema(RESULT_SCHEMA))


def _assign_partitions(history: DataFrame, logs: DataFrame) -> DataFrame:
    """As checks.analysis.assign_partitions: the send's own completion, then the lowest log that held the value."""
    held = logs.groupBy("topic", "value_id").agg(F.min("partition").alias("held"))
    own = F.max("partition").over(Window.partitionBy("process", "index"))
    known = history.withColumn("own", own).join(held, ["topic", "value_id"], "left")
    resolved = F.when(F.col("own") >= 0, F.col("own")).otherwise(F.coalesce(F.col("held"), F.lit(-1)))
    return known.withColumn("partition", resolved.cast("int")).select(*HISTORY_SCHEMA.names)


def _check_group(key: tuple[Any, ...], history: pa.Table, logs: pa.Table) -> pa.Table:
    topic, partition = (each.as_py() for each in key)
    return check_partition(topic, partition, history.cast(HISTORY_SCHEMA), logs.cast(LOGS_SCHEMA))
