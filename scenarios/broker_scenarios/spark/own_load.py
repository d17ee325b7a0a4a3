"""A user's own records as a load: the rows of a DataFrame get an id, a producer and the columns of LOAD_SCHEMA."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (PySpark's own convention)

from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.connector import register
from broker_scenarios.spark.connector.record_columns import check_columns
from broker_scenarios.spark.drive import drive_keyed_load, drive_partitions
from broker_scenarios.spark.failures import spark_errors
from broker_scenarios.workloads.load_source import load_source
from sim_runtime.spelling import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from broker_scenarios.drive import DriveSpec
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.workloads.keyed_load import LoadSpec

__all__ = ["PlannedLoad", "own_load_frame", "planned_load"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLoad:
    """The load of a scenario, or the records of a user in its place."""

    spark: SparkSession
    seed: int
    scenario: Scenario
    """Its load has the number of the records."""
    spec: LoadSpec
    source: str | None = None
    """The source of the user's records."""
    frame: DataFrame | None = None
    """The user's records, with LOAD_SCHEMA and OWN_COLUMNS."""

    def send(self, spec: DriveSpec, folder: str) -> None:
        """Send all records, and write the history to a folder. Raises ScenarioError."""
        with spark_errors("the load"):
            if self.frame is None:
                drive_keyed_load(self.spark, self.spec, self.seed, spec, folder)
            else:
                drive_partitions(self.frame, spec, folder)

    @property
    def text(self) -> str:
        """The load in a few words."""
        if self.source is None:
            return f"{self.spec.records:,} records from {self.spec.producers} producers at {self.spec.rate_per_s:g}/s"
        return f"{plural(self.spec.records, 'record')} of {self.source} from {plural(self.spec.producers, 'producer')}"


def planned_load(
    spark: SparkSession,
    scenario: Scenario,
    seed: int,
    source: str | None,
    connection: Mapping[str, str] = MappingProxyType({}),
) -> PlannedLoad:
    """Return the load that the file generates, or the records of `source` in its place.

    `connection` are the configurations by which clients connect to the Kafka of a topic.

    Raises:
        ScenarioError: the source, a column or a topic cannot be used.
    """
    spec = _spec_of(scenario)
    if source is None:
        return PlannedLoad(spark=spark, seed=seed, scenario=scenario, spec=spec)
    what = f"--load {source}"
    rows = _read(spark, source, what, connection)
    topic = None if "topic" in rows.columns else spec.topic
    frame = own_load_frame(rows, what, topic=topic)
    with spark_errors(what):
        records, partitions = rows.count(), rows.rdd.getNumPartitions()
        named = [spec.topic] if topic is not None else [row.topic for row in rows.select("topic").distinct().collect()]
    declared = [each.name for each in scenario.topics]
    for name in named:
        if name not in declared:
            raise ScenarioError(f"{what}: topic {name!r} is not in {scenario.path}: expected {', '.join(declared)}")
    changed = _with_producers(scenario.with_records(records), partitions)
    return PlannedLoad(spark=spark, seed=seed, scenario=changed, spec=_spec_of(changed), source=source, frame=frame)


def _with_producers(scenario: Scenario, producers: int) -> Scenario:
    group = scenario.only_load
    assert group.load is not None, "it was chosen for its load"
    return replace(scenario, clients=(replace(group, load=replace(group.load, producers=producers)),))


def _spec_of(scenario: Scenario) -> LoadSpec:
    spec = scenario.only_load.load
    assert spec is not None, "it was chosen for its load"
    return spec


def _read(spark: SparkSession, source: str, what: str, connection: Mapping[str, str]) -> DataFrame:
    """Return the records of a source, with all columns of a file, or with those of a topic that can be sent."""
    found = load_source(source)
    with spark_errors(what):
        if isinstance(found, Path):
            return spark.read.parquet(str(found.resolve()))
        register(spark)
        options = {
            **{f"kafka.{name}": value for name, value in connection.items()},
            "kafka.bootstrap.servers": found.bootstrap_servers,
            "subscribe": found.topic,
            "includeHeaders": "true",
        }
        return spark.read.format("broker_sim").options(**options).load().select("key", "value", "headers")


def own_load_frame(frame: DataFrame, what: str, *, topic: str | None) -> DataFrame:
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
        "producer_id": F.spark_partition_id(),
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


_WRONG: Final = {
    "headers": "a null header or key: expected a key (string) in each header",
    "partition": "a negative number: expected a partition, or null",
    "timestamp": "a time before 1970: expected a later one, or null",
}


def _refused(wrong: Column, what: str, name: str, otherwise: Column | str) -> Column:
    """Return a column that fails the job where `wrong` is true."""
    column = F.col(otherwise) if isinstance(otherwise, str) else otherwise
    message = f"{what}: column {name!r} has {_WRONG[name]}"
    return F.when(wrong, F.raise_error(message)).otherwise(column)
