"""One record at a time: `send`, then `result` or `flush`, with linger.ms=0 on real sockets."""

from __future__ import annotations

from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread, get_ident
from typing import TYPE_CHECKING, Any

import pytest

from broker_client import Producer, TopicPartition
from broker_client.consumer import Consumer
from broker_client.core.producer.trace import BatchEvent, BatchEventKind
from broker_client.errors import BatchExpired, ProducerClosed, WaitExpired
from broker_sim.threaded_cluster import ThreadedCluster
from broker_sim.topic_spec import TopicSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS_MAX = 30
RECORDS = 50


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=2, topics=["alone:1:1", "orders:4:2"]) as running:
        yield running


@contextmanager
def sending(cluster: ThreadedCluster, **options: Any) -> Iterator[Producer]:
    """A producer that has its connections."""
    with Producer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=0, **options) as producer:
        producer.send("alone", b"first").result(SECONDS_MAX)
        yield producer


@contextmanager
def held_produce(cluster: ThreadedCluster) -> Iterator[None]:
    """No produce request gets a response before the end of the block."""
    cluster.add_rule({"name": "held", "select": {"api": "Produce"}, "act": {"hold": True}})
    try:
        yield
    finally:
        cluster.release_rule("held")
        cluster.remove_rule("held")


class Elsewhere(Thread):
    """Runs a function in a thread of its own, which receives no signals."""

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._function = function
        self._results: SimpleQueue[Any] = SimpleQueue()
        self.start()

    def run(self) -> None:
        try:
            self._results.put(self._function())
        except BaseException as error:  # noqa: BLE001 - it is the result
            self._results.put(error)

    def returned(self) -> Any:
        return self._results.get(timeout=SECONDS_MAX)


def stored(cluster: ThreadedCluster, topic: str = "alone") -> list[bytes]:
    key = TopicPartition(topic, 0)
    with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        consumer.assign([key])
        end = consumer.end_offsets([key])[key]
        values: list[bytes] = []
        while (consumer.position(key) or 0) < end:
            values += [record.value or b"" for record in consumer.poll(1.0)]
        return values


@pytest.mark.parametrize(
    "options", [{"acks": 0, "enable_idempotence": False}, {"partitioner_availability_timeout_ms": 500}], ids=str
)
def test_a_flush_after_each_record_awaits_it(cluster: ThreadedCluster, options: dict[str, Any]) -> None:
    with sending(cluster, **options) as producer:
        for number in range(RECORDS):
            future = producer.send("orders", b"%d" % number)
            producer.flush(SECONDS_MAX)
            assert future.done()
            assert future.result(0).topic == "orders"


def test_a_request_times_out_while_its_caller_waits(cluster: ThreadedCluster) -> None:
    kinds: list[BatchEventKind] = []

    def trace(event: BatchEvent) -> None:
        kinds.append(event.kind)

    options = {"request_timeout_ms": 200, "delivery_timeout_ms": 60_000, "retry_backoff_ms": 10}
    with sending(cluster, trace=trace, **options) as producer:
        with held_produce(cluster):
            kinds.clear()
            future = producer.send("alone", b"slow")
            with pytest.raises(WaitExpired):
                future.result(1)
            assert BatchEventKind.RETRIED in kinds
        future.result(SECONDS_MAX)


def test_a_record_expires_while_its_caller_waits(cluster: ThreadedCluster) -> None:
    with sending(cluster, request_timeout_ms=600, delivery_timeout_ms=1000) as producer, held_produce(cluster):
        future = producer.send("alone", b"late")
        with pytest.raises(BatchExpired):
            future.result(SECONDS_MAX)


def test_a_flush_that_takes_too_long_raises(cluster: ThreadedCluster) -> None:
    with sending(cluster) as producer:
        with held_produce(cluster):
            future = producer.send("alone", b"slow")
            with pytest.raises(WaitExpired, match=r"flush is not done after 0\.05 s"):
                producer.flush(0.05)
            assert not future.done()
        assert future.result(SECONDS_MAX).offset > 0


@pytest.mark.parametrize("kind", ["on_delivery", "done callback"])
def test_callbacks_run_on_the_network_thread(cluster: ThreadedCluster, kind: str) -> None:
    threads: list[int] = []

    def callback(*_: object) -> None:
        threads.append(get_ident())

    with sending(cluster) as producer:

        def send() -> None:
            for _ in range(RECORDS):
                if kind == "on_delivery":
                    future = producer.send("alone", b"x", on_delivery=callback)
                else:
                    future = producer.send("alone", b"x")
                    future.add_done_callback(callback)
                future.result(SECONDS_MAX)

        sender = Elsewhere(send)
        assert sender.returned() is None
    # A done callback that is added after the record has ended runs at once, in the thread that adds it.
    assert len(threads) == RECORDS
    assert sender.ident not in threads or kind == "done callback"


@pytest.mark.parametrize("acks", ["0", "1"])
def test_acks_0_has_no_offsets_and_acks_1_has(cluster: ThreadedCluster, acks: str) -> None:
    with sending(cluster, acks=acks, enable_idempotence=False) as producer:
        offsets = {producer.send("orders", b"x").result(SECONDS_MAX).offset for _ in range(RECORDS)}
    assert offsets == {-1} if acks == "0" else min(offsets) >= 0


def test_a_request_that_exceeds_the_socket_buffer_is_sent_whole(cluster: ThreadedCluster) -> None:
    cluster.create_topic(TopicSpec(name="large", configs={"max.message.bytes": "20000000"}))
    with sending(cluster, max_request_size=20_000_000) as producer:
        value = b"large" * 2_000_000
        assert [producer.send("large", value).result(SECONDS_MAX).offset for _ in range(3)] == [0, 1, 2]


def test_concurrent_callers_all_get_their_results(cluster: ThreadedCluster) -> None:
    cluster.create_topic("shared:1:1")
    with sending(cluster) as producer:

        def send(number: int) -> list[int]:
            values = (b"%d-%d" % (number, index) for index in range(RECORDS))
            return [producer.send("shared", value).result(SECONDS_MAX).offset for value in values]

        threads = [Elsewhere(lambda number=number: send(number)) for number in range(4)]  # type: ignore[misc]
        returned = [thread.returned() for thread in threads]
    for offsets in returned:
        assert offsets == sorted(offsets)
    assert sorted(offset for offsets in returned for offset in offsets) == list(range(4 * RECORDS))
    values = stored(cluster, "shared")
    for number in range(4):
        mine = [value for value in values if value.startswith(b"%d-" % number)]
        assert mine == [b"%d-%d" % (number, index) for index in range(RECORDS)]


def test_a_slow_response_is_awaited(cluster: ThreadedCluster) -> None:
    with sending(cluster) as producer:
        with held_produce(cluster):
            future = producer.send("alone", b"slow")
            waiting = Elsewhere(lambda: future.result(SECONDS_MAX))
            with pytest.raises(WaitExpired, match=r"is not acknowledged after 0\.05 s"):
                future.result(0.05)
            with pytest.raises(WaitExpired):
                future.result(0)
        assert waiting.returned() == future.result(SECONDS_MAX)


def test_a_connection_that_is_lost_during_the_wait_is_restored(cluster: ThreadedCluster) -> None:
    cluster.create_topic("again:1:1")
    with sending(cluster) as producer:
        producer.send("again", b"before").result(SECONDS_MAX)
        rule = {"name": "cut", "select": {"api": "Produce"}, "act": {"disconnect": True}, "times": 1}
        cluster.add_rule(rule)
        try:
            assert producer.send("again", b"during").result(SECONDS_MAX).offset == 1
        finally:
            cluster.remove_rule("cut")
        assert producer.send("again", b"after").result(SECONDS_MAX).offset == 2
    assert stored(cluster, "again") == [b"before", b"during", b"after"]


def test_closing_the_producer_ends_the_wait(cluster: ThreadedCluster) -> None:
    with sending(cluster) as producer, held_produce(cluster):
        future = producer.send("alone", b"never sent")
        waiting = Elsewhere(lambda: future.exception(SECONDS_MAX))
        producer.close(0)
        assert isinstance(waiting.returned(), ProducerClosed)
