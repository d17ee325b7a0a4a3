"""The format broker_sim: what its readers and writers do in the processes of Spark, which cost more than these tests.

tests/interop/test_spark_streams.py has them called by Spark.
"""

from contextlib import closing
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType

from broker_client import Admin, Producer, TopicPartition
from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.connector import BrokerSimSource, register
from broker_scenarios.spark.connector.epochs import write_epoch
from broker_sim.threaded_cluster import ThreadedCluster

KEPT = {"log.retention.ms": "-1"}  # the records of the tests have old timestamps
TOPICS = ["orders:2:1", "copies:1:1", "streamed:2:1", "epochs:1:1", "everything:2:1"]


@pytest.fixture(scope="module")
def servers(spark):
    """The address of a broker; schemas are parsed by the session."""
    register(spark)
    with closing(ThreadedCluster(brokers=1, topics=TOPICS, config=KEPT)) as cluster:
        yield cluster.bootstrap_servers


def options(servers, **more):
    return {"kafka.bootstrap.servers": servers, **more}


def source(servers, **more):
    made = BrokerSimSource(options(servers, **more))
    return made, StructType.fromDDL(made.schema())


def values(servers, topic, **more):
    """The values of a topic as the source reads them, in the order of partitions and offsets."""
    made, schema = source(servers, subscribe=topic, **more)
    reader = made.reader(schema)
    return [
        value for part in reader.partitions() for batch in reader.read(part) for value in batch["value"].to_pylist()
    ]


def send(servers, topic, *records):
    with Producer(bootstrap_servers=servers) as producer:
        for partition, value in records:
            producer.send(topic, value, partition=partition)


def test_a_stream_follows_the_ends_within_its_limits_and_reads_each_offset_once(servers):
    send(servers, "streamed", *[(number % 2, b"%d" % number) for number in range(10)])
    made, schema = source(servers, subscribe="streamed", startingOffsets="earliest", maxOffsetsPerTrigger="4")
    reader = made.streamReader(schema)
    start = reader.initialOffset()
    assert start == {"streamed": {"0": 0, "1": 0}}
    assert reader.getDefaultReadLimit() == ReadMaxRows(4)
    middle = reader.latestOffset(start, reader.getDefaultReadLimit())
    assert middle == {"streamed": {"0": 2, "1": 2}}
    reader.prepareForTriggerAvailableNow()
    send(servers, "streamed", (0, b"late"))
    end = reader.latestOffset(middle, ReadAllAvailable())
    assert end == {"streamed": {"0": 5, "1": 5}}
    assert reader.latestOffset(end, ReadAllAvailable()) == end
    assert reader.partitions(end, end) == []
    read = [
        value
        for first, last in ((start, middle), (middle, end))
        for part in reader.partitions(first, last)
        for batch in reader.read(part)
        for value in batch["value"].to_pylist()
    ]
    assert sorted(read) == [b"%d" % number for number in range(10)]
    reader.stop()


def test_lost_records_are_an_error_unless_the_option_permits_it(servers):
    send(servers, "copies", *[(0, b"%d" % number) for number in range(4)])
    with Admin(bootstrap_servers=servers) as admin:
        admin.delete_records({TopicPartition("copies", 0): 2})
    starts = {"startingOffsets": '{"copies": {"0": 0}}'}
    with pytest.raises(ScenarioError, match=r"copies-0: offsets 0 to 2 are gone .* failOnDataLoss"):
        values(servers, "copies", **starts)
    assert values(servers, "copies", **starts, failOnDataLoss="false") == [b"2", b"3"]
    made, schema = source(servers, subscribe="copies")
    for start, message in (
        ({"copies": {"0": 9}}, "copies-0: offset 9 is beyond the end 4"),
        ({"copies": {"0": 4, "7": 1}}, "copies-7 is gone"),
    ):
        reader = made.streamReader(schema)
        with pytest.raises(ScenarioError, match=message):
            reader.latestOffset(start, ReadAllAvailable())
        reader.stop()


def test_names_of_topics_and_partitions_are_checked(servers):
    assert values(servers, "copies", startingOffsets='{"copies": {"0": 3}}') == [b"3"]
    for wrong, message in [
        ({"subscribe": "absent"}, "topic 'absent' does not exist"),
        ({"assign": '{"copies": [1]}'}, "assign: copies-1 does not exist"),
        ({"subscribe": "copies", "startingOffsets": '{"orders": {"0": 1}}'}, "startingOffsets: orders-0 is not read"),
        ({"subscribe": "orders", "startingOffsets": '{"orders": {"0": 1}}'}, "no offset for orders-1"),
    ]:
        made, schema = source(servers, **wrong)
        with pytest.raises(ScenarioError, match=message):
            made.reader(schema).partitions()
    made, schema = source(servers, subscribePattern="copi.*|epoch.*")
    assert [each.topic for each in made.reader(schema).partitions()] == ["copies"]


def test_an_epoch_that_is_committed_is_not_written_again_and_a_failed_one_leaves_nothing(servers):
    def write(epoch, *, fails=False):
        def rows(producer):
            producer.send("epochs", b"%d" % epoch)
            producer.flush()
            if fails:
                raise ScenarioError("the task fails")
            return 1

        return write_epoch({"bootstrap.servers": servers}, "epochs", writer="query-0", epoch=epoch, send=rows)

    assert [write(0), write(0)] == [1, 0]
    with pytest.raises(ScenarioError, match="the task fails"):
        write(1, fails=True)
    assert [write(1), write(0), write(1), write(2)] == [1, 0, 0, 1]
    assert values(servers, "epochs", **{"kafka.isolation.level": "read_committed"}) == [b"0", b"1", b"2"]
    assert values(servers, "epochs") == [b"0", b"1", b"1", b"2"]


def test_a_row_that_is_not_written_fails_the_task(servers):
    made = BrokerSimSource(options(servers, topic="orders", **{"kafka.max.request.size": "1000"}))
    batch = pa.record_batch({"value": [b"x", bytes(2_000)]})
    for writer in (
        made.writer(StructType.fromDDL("value binary"), False),
        made.streamWriter(StructType.fromDDL("value binary"), False),
    ):
        with pytest.raises(ScenarioError, match="orders: 1 of 2 rows were not written"):
            writer.write(iter([batch]))
    for write in (made.writer, made.streamWriter):
        with pytest.raises(ScenarioError, match="cannot be overwritten"):
            write(StructType.fromDDL("value binary"), True)


def test_every_part_of_a_record_goes_there_and_back(servers):
    columns = (
        "key binary, value string, partition int, headers array<struct<key:string,value:binary>>, timestamp bigint"
    )
    sent = StructType.fromDDL(columns)
    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    batch = pa.record_batch(
        {
            "key": [b"a", None, b"b"],
            "value": ["first", None, "third"],
            "partition": pa.array([1, 0, 1], pa.int32()),
            "headers": pa.array(
                [[{"key": "origin", "value": b"here"}, {"key": "empty", "value": None}], None, []], headers
            ),
            "timestamp": [1_000, 2_000, 3_000],
        }
    )
    sink = BrokerSimSource(options(servers, topic="everything"))
    assert sink.writer(sent, False).write(iter([batch])).rows == 3
    made, schema = source(servers, subscribe="everything", includeHeaders="true", minPartitions="3")
    reader = made.reader(schema)
    parts = reader.partitions()
    assert [(part.partition, part.start, part.end) for part in parts] == [(0, 0, 1), (1, 0, 1), (1, 1, 2)]
    rows = [row for part in parts for read in reader.read(part) for row in read.to_pylist()]
    assert [tuple(row.values()) for row in rows] == [
        (None, None, "everything", 0, 0, datetime.fromtimestamp(2, UTC), 0, None),
        (
            b"a", b"first", "everything", 1, 0, datetime.fromtimestamp(1, UTC), 0,
            [{"key": "origin", "value": b"here"}, {"key": "empty", "value": None}],
        ),
        (b"b", b"third", "everything", 1, 1, datetime.fromtimestamp(3, UTC), 0, None),
    ]  # fmt: skip
