"""Spark's own Kafka connector on our brokers: batch and streaming, reading and writing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as f

from broker_client import OffsetAndMetadata, TopicPartition
from broker_client.consumer import Consumer
from broker_scenarios.spark.session import start_session
from tests.interop.served_cluster import served_cluster
from tests.interop.spark_connector import connector_jars, end_jvm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 3
RECORDS = 3_000
TOPICS = ("written", "copied", "streamed", "resumed", "committed")
STREAM_SECONDS_MAX = 120


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    end_jvm()
    session = start_session("connector", jars=connector_jars())
    yield session
    session.stop()


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    topics = [f"--topic={name}:{PARTITIONS}:3" for name in TOPICS]
    with served_cluster("--brokers", "3", "--port", "0", *topics) as cluster:
        yield cluster.bootstrap_servers


def numbered(spark: SparkSession) -> DataFrame:
    """Records with key, value and a header, spread over the partitions by their numbers."""
    number = f.col("id").cast("string")
    header = f.struct(f.lit("origin").alias("key"), f.lit(b"spark").alias("value"))
    return spark.range(RECORDS).select(
        number.alias("key"),
        f.concat(f.lit("value "), number).alias("value"),
        f.array(header).alias("headers"),
        (f.col("id") % PARTITIONS).cast("int").alias("partition"),
    )


def write(frame: DataFrame, servers: str, topic: str) -> None:
    options = {"kafka.bootstrap.servers": servers, "topic": topic, "includeHeaders": "true"}
    frame.write.format("kafka").options(**options).save()


def kafka(reader: Any, servers: str, topic: str, **options: str) -> DataFrame:
    frame: DataFrame = (
        reader.format("kafka")
        .options(**{"kafka.bootstrap.servers": servers, "subscribe": topic, "includeHeaders": "true", **options})
        .load()
    )
    return frame


def test_what_spark_writes_is_read_by_everybody(spark: SparkSession, servers: str) -> None:
    write(numbered(spark), servers, "written")
    with Consumer(bootstrap_servers=servers) as consumer:
        ends = consumer.end_offsets([TopicPartition("written", index) for index in range(PARTITIONS)])
    assert sum(ends.values()) == RECORDS
    read = kafka(spark.read, servers, "written", startingOffsets="earliest", endingOffsets="latest")
    rows = read.select("partition", "offset", f.col("key").cast("string"), f.col("value").cast("string"), "headers")
    found = rows.collect()
    assert {row["value"] for row in found} == {f"value {number}" for number in range(RECORDS)}
    assert all(int(row["key"]) % PARTITIONS == row["partition"] for row in found)
    assert {(header["key"], bytes(header["value"])) for row in found for header in row["headers"]} == {
        ("origin", b"spark")
    }
    assert sorted((row["partition"], row["offset"]) for row in found) == [
        (partition, offset) for partition in range(PARTITIONS) for offset in range(RECORDS // PARTITIONS)
    ]


def test_offsets_and_times_bound_what_is_read(spark: SparkSession, servers: str) -> None:
    write(numbered(spark), servers, "copied")
    bounded = kafka(
        spark.read,
        servers,
        "copied",
        startingOffsets='{"copied": {"0": 100, "1": -2, "2": 7}}',
        endingOffsets='{"copied": {"0": 150, "1": 10, "2": 7}}',
    )
    assert {row["partition"]: row["count"] for row in bounded.groupBy("partition").count().collect()} == {0: 50, 1: 10}
    times = bounded.agg(f.min("timestamp").cast("double").alias("first")).collect()[0]
    since = kafka(spark.read, servers, "copied", startingTimestamp=str(int(times["first"] * 1000) - 60_000))
    assert since.count() == RECORDS


def test_a_stream_reads_and_writes_each_record_once(spark: SparkSession, servers: str, tmp_path: Path) -> None:
    write(numbered(spark), servers, "written")
    source = kafka(spark.readStream, servers, "written", startingOffsets="earliest", maxOffsetsPerTrigger="4000")
    query = (
        source.select("key", "value")
        .writeStream.format("kafka")
        .options(
            **{
                "kafka.bootstrap.servers": servers,
                "topic": "streamed",
                "checkpointLocation": str(tmp_path / "checkpoint"),
            }
        )
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(STREAM_SECONDS_MAX)
    assert len(query.recentProgress) > 1  # several triggers, each from where the last one ended
    written, streamed = (
        kafka(spark.read, servers, topic).select(f.col("value").cast("string")).groupBy("value").count().collect()
        for topic in ("written", "streamed")
    )
    assert {row["value"]: row["count"] for row in streamed} == {row["value"]: row["count"] for row in written}


def test_a_stream_goes_on_where_its_checkpoint_ends(spark: SparkSession, servers: str, tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "checkpoint")

    def run() -> int:
        """Read what is there, with a group id of its own, and return the number of records."""
        options = {"startingOffsets": "earliest", "kafka.group.id": "a-stream"}
        source = kafka(spark.readStream, servers, "resumed", **options)
        query = source.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(availableNow=True)
        running = query.start()
        assert running.awaitTermination(STREAM_SECONDS_MAX)
        return sum(progress["numInputRows"] for progress in running.recentProgress)

    write(numbered(spark), servers, "resumed")
    assert run() == RECORDS
    write(numbered(spark), servers, "resumed")
    assert run() == RECORDS
    assert run() == 0


def test_a_batch_starts_at_the_committed_offsets_of_a_group(spark: SparkSession, servers: str) -> None:
    write(numbered(spark), servers, "committed")
    partitions = [TopicPartition("committed", index) for index in range(PARTITIONS)]
    with Consumer(bootstrap_servers=servers, group_id="a-batch") as consumer:
        consumer.assign(partitions)
        consumer.commit({key: OffsetAndMetadata(offset=100 * key.partition) for key in partitions})
        offsets = {str(key.partition): found.offset for key, found in consumer.committed(partitions).items() if found}
    starts = json.dumps({"committed": offsets})
    rows = kafka(spark.read, servers, "committed", startingOffsets=starts).groupBy("partition").count().collect()
    of_each = RECORDS // PARTITIONS
    assert {row["partition"]: row["count"] for row in rows} == {0: of_each, 1: of_each - 100, 2: of_each - 200}
