"""The threaded producer on real sockets: its promises, and its error messages."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from broker_client import Producer, TopicPartition
from broker_client.admin import Admin, NewTopic
from broker_client.consumer import Consumer, FetchOptions
from broker_client.core.producer.trace import BatchEvent, BatchEventKind
from broker_client.errors import (
    BrokerError,
    BufferExhausted,
    MetadataTimeout,
    ProducerClosed,
    ProducerError,
    ProducerForked,
    ProducerTimeout,
    SerializationError,
    WaitExpired,
)
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_client.consumer import ConsumerRecord

SECONDS_MAX = 30


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=3, topics=["orders:3:3", "alone:1:1"]) as running:
        yield running


def read_all(cluster: ThreadedCluster, topic: str, partitions: int = 1) -> list[ConsumerRecord]:
    keys = [TopicPartition(topic, partition) for partition in range(partitions)]
    with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        consumer.assign(keys)
        ends = consumer.end_offsets(keys)
        records: list[ConsumerRecord] = []
        while any((consumer.position(key) or 0) < ends[key] for key in keys):
            records += consumer.poll(1.0)
        return records


@pytest.mark.parametrize("acks", ["0", "all"])
def test_a_trace_has_a_request_that_the_socket_accepts_at_once(cluster: ThreadedCluster, acks: str) -> None:
    events: list[BatchEvent] = []
    options = {"acks": acks, "enable_idempotence": acks == "all"}
    with Producer(bootstrap_servers=cluster.bootstrap_servers, trace=events.append, **options) as producer:
        producer.send("alone", b"traced").result(SECONDS_MAX)
    ways = [event for event in events if event.kind in (BatchEventKind.SENT, BatchEventKind.IN_FLIGHT)]
    assert [event.kind for event in ways] == [BatchEventKind.SENT, BatchEventKind.IN_FLIGHT]
    assert ways[0].correlation_id == ways[1].correlation_id >= 0
    assert [event.kind for event in events][-2:] == [BatchEventKind.ACKNOWLEDGED, BatchEventKind.FREED]


def test_records_of_many_threads_arrive_in_order_per_thread(cluster: ThreadedCluster) -> None:
    cluster.create_topic("threads:1:3")
    with Producer(bootstrap_servers=cluster.bootstrap_servers, batch_size=1_000) as producer:
        futures: list[Any] = []

        def send(thread: int) -> None:
            futures.extend(producer.send("threads", b"%d-%04d" % (thread, number)) for number in range(300))

        threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        producer.flush()
        assert sorted(future.result(0).offset for future in futures) == list(range(1_200))
    stored = [record.value or b"" for record in read_all(cluster, "threads")]
    for number in range(4):
        mine = [value for value in stored if value.startswith(b"%d-" % number)]
        assert mine == [b"%d-%04d" % (number, index) for index in range(300)]


def test_close_sends_queued_records(cluster: ThreadedCluster) -> None:
    producer = Producer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=60_000)
    futures = [producer.send("alone", b"%d" % number) for number in range(10)]
    producer.close()
    assert all(future.done() for future in futures)
    assert futures[0].exception() is None


def test_a_closed_producer_raises(cluster: ThreadedCluster) -> None:
    producer = Producer(bootstrap_servers=cluster.bootstrap_servers)
    producer.close()
    producer.close()
    with pytest.raises(ProducerClosed, match="cannot send: the producer is closed"):
        producer.send("alone", b"late")
    with pytest.raises(ProducerClosed, match="cannot flush"):
        producer.flush()


def test_callbacks_receive_place_or_error(cluster: ThreadedCluster) -> None:
    notified: list[Any] = []
    with Producer(bootstrap_servers=cluster.bootstrap_servers, max_request_size=1_000) as producer:
        good = producer.send("alone", b"x", on_delivery=lambda *outcome: notified.append(outcome))
        good.result(10)
        producer.send("alone", b"x" * 2_000, on_delivery=lambda *outcome: notified.append(outcome))
    assert notified[0] == (good.result(), None)
    metadata, error = notified[1]
    assert (metadata.offset, error.error_code) == (-1, ErrorCode.MESSAGE_TOO_LARGE)


def test_a_callback_may_send(cluster: ThreadedCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        chained: list[Any] = []
        first = producer.send(
            "orders", b"1", on_delivery=lambda *_: chained.append(producer.send("alone", b"from a callback"))
        )
        first.result(10)
        producer.flush()
        assert chained[0].result(10).topic == "alone"


def test_done_callbacks_and_waits_work_as_with_futures(cluster: ThreadedCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=60_000) as producer:
        future = producer.send("alone", b"x")
        assert (future.done(), future.running(), future.cancel(), future.cancelled()) == (False, True, False, False)
        with pytest.raises(WaitExpired, match=r"is not acknowledged after 0\.01 s"):
            future.result(0.01)
        called: list[Any] = []
        future.add_done_callback(called.append)
        producer.flush()
        future.add_done_callback(called.append)
        assert called == [future, future]


def test_serializers_convert_keys_and_values(cluster: ThreadedCluster) -> None:
    cluster.create_topic("text:1:1")
    with Producer(
        bootstrap_servers=cluster.bootstrap_servers,
        key_serializer=str.encode,
        value_serializer=lambda value: repr(value).encode(),
    ) as producer:
        producer.send("text", {"a": 1}, key="k", headers={"h": "text", "n": None}).result(10)
    (record,) = read_all(cluster, "text")
    assert (record.key, record.value, record.headers) == (b"k", b"{'a': 1}", (("h", b"text"), ("n", None)))


def test_a_value_without_serializer_names_the_option(cluster: ThreadedCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        with pytest.raises(SerializationError, match=r"is str, not bytes or None: set value\.serializer"):
            producer.send("alone", "text")
        with pytest.raises(SerializationError, match=r"set key\.serializer"):
            producer.send("alone", b"", key=3)
        with pytest.raises(SerializationError, match="header 'h' has a value of int"):
            producer.send("alone", b"", headers=[("h", 3)])  # type: ignore[list-item]
        with pytest.raises(SerializationError, match="header name 3 is int"):
            producer.send("alone", b"", headers=[(3, b"")])  # type: ignore[list-item]
        with pytest.raises(SerializationError, match="expected pairs"):
            producer.send("alone", b"", headers=[b"x"])  # type: ignore[list-item]
    with (
        Producer(bootstrap_servers=cluster.bootstrap_servers, value_serializer=int) as producer,
        pytest.raises(SerializationError, match=r"value\.serializer raised"),
    ):
        producer.send("alone", b"no number")


def test_null_keys_and_values_are_records_too(cluster: ThreadedCluster) -> None:
    cluster.create_topic("nulls:1:1")
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        place = producer.send("nulls").result(10)
    assert (place.serialized_key_size, place.serialized_value_size) == (-1, -1)
    (record,) = read_all(cluster, "nulls")
    assert (record.key, record.value) == (None, None)


def test_a_missing_topic_times_out(cluster: ThreadedCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers, max_block_ms=300) as producer:
        failure = producer.send("no such topic!", b"").exception(0)
        assert isinstance(failure, ProducerError)
        failure = producer.send("alone", b"", partition=5).exception(0)
        assert isinstance(failure, MetadataTimeout)
        with pytest.raises(ProducerError):
            producer.partitions_for("not there")


def test_an_address_without_a_listener_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with Producer(bootstrap_servers=f"127.0.0.1:{port}", max_block_ms=300) as producer:
            failure = producer.send("orders", b"").exception(0)
    assert isinstance(failure, MetadataTimeout)
    assert f"bootstrap.servers: 127.0.0.1:{port}" in str(failure)
    assert "raise max.block.ms to allow more" in str(failure)


def test_a_name_that_does_not_resolve_is_named() -> None:
    with Producer(bootstrap_servers="nowhere.invalid:9092", max_block_ms=2_000) as producer:
        failure = producer.send("orders", b"").exception(0)
    assert "bootstrap.servers: nowhere.invalid:9092" in str(failure)


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an HTTP response"),
        (b"\x15\x03\x03\x00\x02\x02\x0a", "a TLS record: it is a TLS listener"),
        (b"\xff\xff\xff\xff", "no Kafka frame"),
    ],
)
def test_a_listener_that_is_not_kafka_is_recognised(response: bytes, words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, contextlib.suppress(ConnectionError):
                        connection.recv(1_000)
                        connection.sendall(response)
                        connection.recv(1_000)

        threading.Thread(target=serve, daemon=True).start()
        with Producer(bootstrap_servers=f"127.0.0.1:{port}", max_block_ms=500) as producer:
            failure = producer.send("orders", b"").exception(0)
        server.shutdown(socket.SHUT_RDWR)
    assert words in str(failure)


def test_full_memory_ends_a_send_after_max_block_ms(cluster: ThreadedCluster) -> None:
    cluster.add_rule({"name": "slow", "select": {"api": "Produce"}, "act": {"hold": True}})
    with Producer(
        bootstrap_servers=cluster.bootstrap_servers, buffer_memory=20_000, batch_size=10_000, max_block_ms=300
    ) as producer:
        futures = [producer.send("alone", b"x" * 9_000) for _ in range(3)]
        assert isinstance(futures[2].exception(0), BufferExhausted)
        cluster.remove_rule("slow")
        assert futures[0].exception(10) is None


def test_flush_and_close_respect_their_timeouts(cluster: ThreadedCluster) -> None:
    cluster.add_rule({"name": "held", "select": {"api": "Produce"}, "act": {"hold": True}})
    try:
        producer = Producer(bootstrap_servers=cluster.bootstrap_servers)
        future = producer.send("alone", b"held")
        with pytest.raises(WaitExpired, match=r"flush is not done after 0\.1 s; raise flush\(timeout\)"):
            producer.flush(0.1)
        producer.close(0.1)
        failure = future.exception(0)
        assert isinstance(failure, ProducerClosed)
        assert failure.maybe_written
    finally:
        cluster.release_rule("held")
        cluster.remove_rule("held")


def in_child(producer: Producer, results: Any) -> None:
    try:
        producer.send("alone", b"from the child")
    except ProducerForked as error:
        results.put(str(error))
    else:
        results.put("sent")


def test_a_child_process_cannot_use_the_producer(cluster: ThreadedCluster) -> None:
    fork = multiprocessing.get_context("fork")
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        results = fork.Queue()
        child = fork.Process(target=in_child, args=(producer, results))
        child.start()
        result = results.get(timeout=20)
        child.join(20)
    assert f"the producer was made in process {os.getpid()}" in result
    assert "make a producer after the fork" in result


def test_unsent_records_are_logged_at_exit() -> None:
    code = """if True:
        from broker_client import Producer
        from broker_client.core.producer.producer_core import ProducerCore
        from broker_client.core.network.cluster import Cluster, Node, TopicMetadata
        from broker_client.records import PartitionInfo
        producer = Producer(bootstrap_servers="127.0.0.1:1", linger_ms=60000)
        info = PartitionInfo(topic="t", partition=0, leader=1, leader_epoch=0, replicas=(1,), in_sync_replicas=(1,),
                             offline_replicas=())
        topics = {"t": TopicMetadata(name="t", topic_id=None, partitions=(info,))}
        producer._core.metadata.cluster = Cluster(nodes={1: Node(1, "127.0.0.1", 1)}, topics=topics)
        producer.send("t", b"1"), producer.send("t", b"2")
    """
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "the process ends with 2 records of producer-1 unacknowledged: close() the producer" in ended.stderr


def test_partitions_and_metrics_are_returned(cluster: ThreadedCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        partitions = producer.partitions_for("orders")
        assert [partition.partition for partition in partitions] == [0, 1, 2]
        assert all(partition.leader in partition.in_sync_replicas for partition in partitions)
        producer.send("orders", b"x").result(10)
        metrics = producer.metrics()
    assert metrics["record-send-total"] == 1
    assert metrics["buffer-available-bytes"] == metrics["buffer-total-bytes"]


def test_admin_creates_describes_and_deletes(cluster: ThreadedCluster) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        assert len(admin.create_topic("made", partitions=2, replication_factor=3)) == 2
        with pytest.raises(BrokerError, match="TOPIC_ALREADY_EXISTS"):
            admin.create_topics([NewTopic(name="made", partitions=1, replication_factor=1)])
        assert admin.describe_topic_configs("made")["cleanup.policy"].value == "delete"
        assert "num.io.threads" in admin.describe_broker_configs(1)
        admin.delete_topics(["made"])
        with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            admin.delete_topics(["made"])


def test_a_consumer_reads_from_where_it_seeks(cluster: ThreadedCluster) -> None:
    cluster.create_topic("seek:1:3")
    key = TopicPartition("seek", 0)
    with Producer(bootstrap_servers=cluster.bootstrap_servers, batch_size=300) as producer:
        for number in range(100):
            producer.send("seek", b"%03d" % number, timestamp_ms=1_700_000_000_000 + number)
    with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        with pytest.raises(ProducerError, match="seek-0 is not assigned"):
            consumer.seek(key, 3)
        consumer.assign([key])
        consumer.seek(key, 95)
        got: list[bytes | None] = []
        while len(got) < 5:
            got += [record.value for record in consumer.poll(1.0)]
        assert got == [b"095", b"096", b"097", b"098", b"099"]
        assert consumer.poll(0.05) == []
        consumer.seek(key, 5_000)
        assert [record.offset for record in consumer.poll(1.0)][:1] == [0]


def test_latest_reads_only_new_records(cluster: ThreadedCluster) -> None:
    cluster.create_topic("latest:1:1")
    key = TopicPartition("latest", 0)
    with (
        Producer(bootstrap_servers=cluster.bootstrap_servers) as producer,
        Consumer(
            bootstrap_servers=cluster.bootstrap_servers, fetch=FetchOptions(auto_offset_reset="latest")
        ) as consumer,
    ):
        producer.send("latest", b"before").result(10)
        consumer.assign([key])
        assert consumer.position(key) == 1
        producer.send("latest", b"after").result(10)
        assert [record.value for record in consumer.poll(5.0)] == [b"after"]


def test_an_admin_without_brokers_ends_by_its_timeout() -> None:
    with (
        Admin(bootstrap_servers="127.0.0.1:1", default_api_timeout_ms=300) as admin,
        pytest.raises(ProducerTimeout, match=r"no metadata from bootstrap\.servers after 300 ms \(127\.0\.0\.1:1"),
    ):
        admin.describe_topic("orders")
