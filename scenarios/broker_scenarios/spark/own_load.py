"""A user's own records as a load: the rows of a DataFrame get an id, a producer and the columns of LOAD_SCHEMA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (PySpark's own convention)

from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.connector.record_columns import check_columns
from broker_scenarios.spark.failures import spark_errors

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["own_load_frame", "read_parquet_load"]


def read_parquet_load(spark: SparkSession, path: Path) -> DataFrame:
    """Return the records of a Parquet file, or of a folder of them.

    Raises:
        ScenarioError: it does not exist, or cannot be read.
    """
    if not path.exists():
        raise ScenarioError(f"{path} (--load) does not exist: expected a Parquet file, or a folder of them")
    with spark_errors(f"{path} (--load)"):
        return spark.read.parquet(str(path.resolve()))


def own_load_frame(frame: DataFrame, what: str, *, producers: int, topic: str | None) -> DataFrame:
    """Return the rows as a load (LOAD_SCHEMA and OWN_COLUMNS). `topic` is that of all rows, else they have their own.

    Each partition of the DataFrame is sent by one producer in the order of its rows, as fast as it can.

    Raises:
        ScenarioError: a column is unknown or missing, or has another type; `what` begins the message. A null or
            negative value that no record can have fails the job later, with the name of its column.
    """
    check_columns(frame.schema, what, topic=topic)
    names = frame.columns
    value = F.col("value").cast("binary")
    columns = {
        "value_id": F.monotonically_increasing_id(),
        "producer_id": (F.spark_partition_id() % producers).cast("int"),
        "topic": F.lit(topic) if topic is not None else F.col("topic"),
        "key": F.col("key").cast("binary") if "key" in names else F.lit(None).cast("binary"),
        "size_bytes": F.coalesce(F.octet_length(value), F.lit(0)),
        "due_us": F.lit(0).cast("long"),
        "value": value,
    }
    if "headers" in names:
        wrong = F.exists("headers", lambda header: header.isNull() | header["key"].isNull())
        columns["headers"] = _refused(F.coalesce(wrong, F.lit(False)), what, "headers", "headers")
    if "partition" in names:
        columns["partition"] = _refused(F.col("partition") < 0, what, "partition", "partition")
    if "timestamp" in names:
        is_long = dict(frame.dtypes)["timestamp"] == "bigint"
        time_ms = F.col("timestamp") if is_long else F.unix_millis(F.col("timestamp").cast("timestamp"))
        columns["timestamp"] = _refused(time_ms < 0, what, "timestamp", time_ms)
    return frame.select(*(column.alias(name) for name, column in columns.items()))


_WRONG = {
    "headers": "a null header or key: expected a key (string) in each header",
    "partition": "a negative number: expected a partition, or null",
    "timestamp": "a time before 1970: expected a later one, or null",
}


def _refused(wrong: Column, what: str, name: str, otherwise: Column | str) -> Column:
    """Return a column that fails the job where `wrong` is true."""
    column = F.col(otherwise) if isinstance(otherwise, str) else otherwise
    message = f"{what}: column {name!r} has {_WRONG[name]}"
    return F.when(wrong, F.raise_error(message)).otherwise(column)
