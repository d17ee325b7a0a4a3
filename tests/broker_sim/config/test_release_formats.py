"""Message formats over the raw wire: what each release stores of a Produce, and gives to each version of Fetch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from protocol_specs.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from protocol_specs.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.record_batch import RecordBatchBuilder
from protocol_specs.records.record_set import iterate_any, read_any_record_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.log.replica_log import ReplicaLog
    from broker_sim.threaded_cluster import ThreadedCluster
    from tests.broker_sim.config.conftest import RawClient

    Start = Callable[..., ThreadedCluster]
    Connect = Callable[[ThreadedCluster], RawClient]

NOW_MS = 1_767_225_600_000
TOPIC = "orders"
RECORDS = 3
OLD_CODECS = (CompressionCodec.NONE, CompressionCodec.GZIP, CompressionCodec.SNAPPY, CompressionCodec.LZ4)


def record_set(magic: int, codec: CompressionCodec = CompressionCodec.NONE, *, key: bytes | None = b"k") -> bytes:
    builder: MessageSetBuilder | RecordBatchBuilder
    builder = RecordBatchBuilder(codec=codec) if magic == 2 else MessageSetBuilder(magic=magic, codec=codec)
    for index in range(RECORDS):
        builder.append(NOW_MS + index if magic else -1, key, b"value %d" % index * 10)
    return bytes(builder.build())


def produce(client: RawClient, version: int, records: bytes) -> tuple[ErrorCode, int]:
    request = ProduceRequest(
        acks=1,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=records)])],
    )
    response = client.call(request, version, ProduceResponse).responses[0].partition_responses[0]
    return ErrorCode(response.error_code), response.base_offset


def fetch(client: RawClient, version: int, offset: int = 0) -> tuple[ErrorCode, bytes]:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(replica_id=-1, max_wait_ms=0, topics=[FetchTopic(topic=TOPIC, partitions=[partition])])
    response = client.call(request, version, FetchResponse).responses[0].partitions[0]
    assert not isinstance(response.records, list)
    return ErrorCode(response.error_code), bytes(response.records or b"")


def magics(data: bytes) -> set[int]:
    return {header.magic for header, _ in iterate_any(data)}


def records_of(data: bytes) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in read_any_record_set(data)]


def log_of(cluster: ThreadedCluster) -> ReplicaLog:
    log = cluster.cluster.log_of(1, TOPIC, 0)
    assert log is not None
    return log


WRITTEN = [(index, b"k", b"value %d" % index * 10) for index in range(RECORDS)]


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize(
    ("release", "produce_version", "magic", "stored"),
    [
        ("0.8.2", 0, 0, 0),
        ("0.9", 1, 0, 0),
        ("0.10.0", 1, 0, 1),
        ("0.10.0", 2, 1, 1),
        ("0.10.2", 2, 1, 1),
        ("0.11", 2, 1, 2),
        ("0.11", 3, 2, 2),
        ("2.8", 0, 0, 2),
        ("3.7", 2, 1, 2),
    ],
)
def test_each_release_stores_its_own_format_and_gives_each_fetch_the_one_that_it_reads(
    start: Start,
    connect: Connect,
    codec: CompressionCodec,
    release: str,
    produce_version: int,
    magic: int,
    stored: int,
) -> None:
    cluster = start(release, f"{TOPIC}:1:1")
    client = connect(cluster)
    assert produce(client, produce_version, record_set(magic, codec)) == (ErrorCode.NONE, 0)
    assert {batch.data[16] for batch in log_of(cluster).batches()} == {stored}
    highest = cluster.cluster.config.release_table.api_versions[1].highest
    for version, newest in ((0, 0), (1, 0), (2, 1), (3, 1), (4, 2)):
        if version <= highest:
            error, data = fetch(client, version)
            assert (error, magics(data), records_of(data)) == (ErrorCode.NONE, {min(stored, newest)}, WRITTEN)


def test_messages_are_stored_one_by_one_and_found_by_their_offsets(start: Start, connect: Connect) -> None:
    cluster = start("0.10.2", f"{TOPIC}:1:1")
    client = connect(cluster)
    produce(client, 2, record_set(1))
    assert produce(client, 2, record_set(1)) == (ErrorCode.NONE, RECORDS)
    assert [(batch.base_offset, batch.records_count) for batch in log_of(cluster).batches()] == [
        (offset, 1) for offset in range(2 * RECORDS)
    ]
    assert [offset for offset, _, _ in records_of(fetch(client, 3, offset=4)[1])] == [4, 5]


def test_a_wrapper_is_one_batch_that_holds_its_offsets(start: Start, connect: Connect) -> None:
    cluster = start("0.10.2", f"{TOPIC}:1:1")
    client = connect(cluster)
    produce(client, 2, record_set(1, CompressionCodec.GZIP))
    [wrapper] = log_of(cluster).batches()
    assert (wrapper.base_offset, wrapper.last_offset, wrapper.records_count) == (0, 2, 3)
    assert [offset for offset, _, _ in records_of(fetch(client, 3, offset=2)[1])] == [0, 1, 2]


@pytest.mark.parametrize(("version", "magic"), [("0.9.0", 0), ("0.10.2", 1), ("0.11.0", 2), ("2.8", 2)])
def test_message_format_version_decides_between_0_10_and_3_0(
    start: Start, connect: Connect, version: str, magic: int
) -> None:
    cluster = start("2.8", f"{TOPIC}:1:1", log_message_format_version=version)
    client = connect(cluster)
    assert produce(client, 3, record_set(2)) == (ErrorCode.NONE, 0)
    assert {batch.data[16] for batch in log_of(cluster).batches()} == {magic}
    error, data = fetch(client, 11)
    assert (error, magics(data), records_of(data)) == (ErrorCode.NONE, {magic}, WRITTEN)


@pytest.mark.parametrize(
    ("release", "version", "magic", "codec", "error"),
    [
        ("0.9", 1, 1, CompressionCodec.NONE, ErrorCode.CORRUPT_MESSAGE),
        ("0.10.2", 2, 2, CompressionCodec.NONE, ErrorCode.CORRUPT_MESSAGE),
        ("0.8.1", 0, 0, CompressionCodec.LZ4, ErrorCode.UNKNOWN_SERVER_ERROR),
        ("0.8.2", 0, 0, CompressionCodec.LZ4, ErrorCode.NONE),
        ("2.0", 6, 2, CompressionCodec.ZSTD, ErrorCode.UNKNOWN_SERVER_ERROR),
        ("2.1", 6, 2, CompressionCodec.ZSTD, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ("2.1", 7, 2, CompressionCodec.ZSTD, ErrorCode.NONE),
        ("2.3", 3, 1, CompressionCodec.NONE, ErrorCode.CORRUPT_MESSAGE),
        ("2.4", 3, 1, CompressionCodec.NONE, ErrorCode.INVALID_RECORD),
    ],
)
def test_formats_and_codecs_of_later_are_refused_as_at_the_time(
    start: Start, connect: Connect, release: str, version: int, magic: int, codec: CompressionCodec, error: ErrorCode
) -> None:
    cluster = start(release, f"{TOPIC}:1:1")
    assert produce(connect(cluster), version, record_set(magic, codec))[0] is error


@pytest.mark.parametrize(
    ("release", "error"),
    [("0.9", ErrorCode.CORRUPT_MESSAGE), ("2.3", ErrorCode.CORRUPT_MESSAGE), ("2.4", ErrorCode.INVALID_RECORD)],
)
def test_a_record_without_a_key_on_a_compacted_topic_has_the_error_of_the_time(
    start: Start, connect: Connect, release: str, error: ErrorCode
) -> None:
    cluster = start(release, f"{TOPIC}:1:1", log_cleanup_policy="compact")
    assert produce(connect(cluster), 1, record_set(0, key=None))[0] is error


@pytest.mark.parametrize("release", ["0.10.0", "0.10.2"])
def test_0_10_converts_all_that_it_sends_to_the_codec_of_the_first(
    start: Start, connect: Connect, release: str
) -> None:
    cluster = start(release, f"{TOPIC}:1:1")
    client = connect(cluster)
    for codec in (CompressionCodec.GZIP, CompressionCodec.NONE, CompressionCodec.SNAPPY):
        produce(client, 2, record_set(1, codec))
    [(header, _)] = iterate_any(fetch(client, 1)[1])
    assert (header.magic, header.codec, header.last_offset) == (0, CompressionCodec.GZIP, 3 * RECORDS - 1)
    assert len(list(iterate_any(fetch(client, 2)[1]))) == RECORDS + 2


@pytest.mark.parametrize(("release", "closes"), [("0.8.2", True), ("2.7", True), ("2.8", False), ("3.7", False)])
def test_null_records_were_unreadable_before_2_8(start: Start, connect: Connect, release: str, *, closes: bool) -> None:
    client = connect(start(release, f"{TOPIC}:1:1"))
    partition = PartitionProduceData(index=0, records=None)
    request = ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name=TOPIC, partition_data=[partition])]
    )
    if closes:
        with pytest.raises(AssertionError, match="closed the connection"):
            client.call(request, 0, ProduceResponse)
    else:
        response = client.call(request, 0, ProduceResponse).responses[0].partition_responses[0]
        assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    ("release", "records", "error"),
    [
        ("0.11", record_set(1), None),
        ("2.0", record_set(2) * 2, None),
        ("2.1", record_set(1), ErrorCode.CORRUPT_MESSAGE),
        ("2.1", b"", None),
        ("2.7", record_set(2)[:-3], None),
        ("2.8", b"", ErrorCode.INVALID_RECORD),
    ],
)
def test_record_sets_that_v3_does_not_take_closed_the_connection_once(
    start: Start, connect: Connect, release: str, records: bytes, error: ErrorCode | None
) -> None:
    client = connect(start(release, f"{TOPIC}:1:1"))
    if error is None:
        with pytest.raises(AssertionError, match="closed the connection"):
            produce(client, 3, records)
    else:
        assert produce(client, 3, records)[0] is error


@pytest.mark.parametrize(("release", "version", "magic"), [("0.9", 1, 0), ("0.10.2", 2, 1)])
def test_messages_have_a_largest_size_and_sets_of_them_have_none(
    start: Start, connect: Connect, release: str, version: int, magic: int
) -> None:
    client = connect(start(release, f"{TOPIC}:1:1", message_max_bytes="200"))
    builder = MessageSetBuilder(magic=magic)
    for _ in range(10):
        builder.append(NOW_MS if magic else -1, None, bytes(100))
    assert produce(client, version, builder.build()) == (ErrorCode.NONE, 0)
    large = MessageSetBuilder(magic=magic)
    large.append(NOW_MS if magic else -1, None, bytes(200))
    assert produce(client, version, large.build())[0] is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize(("release", "found"), [("0.10.2", []), ("3.4", []), ("3.7", [0])])
def test_only_newer_brokers_take_minus_4_for_the_start(
    start: Start, connect: Connect, release: str, found: list[int]
) -> None:
    cluster = start(release, f"{TOPIC}:1:1")
    client = connect(cluster)
    produce(client, 2, record_set(1))
    requested = ListOffsetsPartition(partition_index=0, timestamp=-4, max_num_offsets=1)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=TOPIC, partitions=[requested])])
    assert client.call(request, 0, ListOffsetsResponse).topics[0].partitions[0].old_style_offsets == found


@pytest.mark.parametrize("release", ["4.0", "4.3"])
@pytest.mark.parametrize("version", [0, 1, 2])
def test_4_x_closes_on_old_produce_and_old_fetch(start: Start, connect: Connect, release: str, version: int) -> None:
    cluster = start(release, f"{TOPIC}:1:1")
    with pytest.raises(AssertionError, match="closed the connection"):
        produce(connect(cluster), version, record_set(1))
    with pytest.raises(AssertionError, match="closed the connection"):
        fetch(connect(cluster), version)


@pytest.mark.parametrize(("timestamp", "error"), [(-1, 0), (-2, 0), (5, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)])
def test_messages_without_timestamps_are_not_found_by_time(
    start: Start, connect: Connect, timestamp: int, error: int
) -> None:
    cluster = start("1.1", f"{TOPIC}:1:1", log_message_format_version="0.9.0")
    client = connect(cluster)
    produce(client, 1, record_set(0))
    requested = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=TOPIC, partitions=[requested])])
    assert client.call(request, 2, ListOffsetsResponse).topics[0].partitions[0].error_code == error


def test_messages_of_magic_1_are_found_by_time(start: Start, connect: Connect) -> None:
    cluster = start("0.10.2", f"{TOPIC}:1:1")
    client = connect(cluster)
    for codec in OLD_CODECS[:2]:
        produce(client, 2, record_set(1, codec))
    requested = ListOffsetsPartition(partition_index=0, timestamp=NOW_MS + 1)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=TOPIC, partitions=[requested])])
    found = client.call(request, 1, ListOffsetsResponse).topics[0].partitions[0]
    assert (found.error_code, found.offset, found.timestamp) == (0, 1, NOW_MS + 1)
