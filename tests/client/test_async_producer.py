"""The producer on an asyncio loop, on real sockets: it does not block the loop, and its waits can be cancelled."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from broker_client import AsyncProducer, ProducerConfig, TopicPartition, async_producer
from broker_client.admin import Admin
from broker_client.consumer import Consumer
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.errors import (
    BrokerError,
    BufferExhausted,
    IllegalState,
    MetadataTimeout,
    ProducerClosed,
    WaitExpired,
)
from broker_sim.threaded_cluster import ThreadedCluster
from sim_runtime.asyncio_reactor import AsyncioReactor, LoopCannotWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from broker_client.consumer import ConsumerRecord
    from tests.certificate_authority import Certificates

SECONDS_MAX = 60


@pytest.fixture(scope="module")
def cluster(certificates: Certificates) -> Iterator[ThreadedCluster]:
    config = certificates.listeners | {
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    with ThreadedCluster(brokers=1, topics=["orders:3:1"], config=config) as running:
        yield running


@pytest.fixture
def topic(cluster: ThreadedCluster, request: pytest.FixtureRequest) -> str:
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    cluster.create_topic(f"{name}:1:1")
    return name


def run(body: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    async def bounded() -> Any:
        return await asyncio.wait_for(body(), SECONDS_MAX)

    return asyncio.run(bounded())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def read_all(cluster: ThreadedCluster, topic: str) -> list[ConsumerRecord]:
    key = TopicPartition(topic, 0)
    with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        consumer.assign([key])
        (end,) = consumer.end_offsets([key]).values()
        records: list[ConsumerRecord] = []
        while (consumer.position(key) or 0) < end:
            records += consumer.poll(1.0)
        return records


def values(cluster: ThreadedCluster, topic: str) -> list[bytes | None]:
    return [record.value for record in read_all(cluster, topic)]


def test_records_are_acknowledged_and_stored(cluster: ThreadedCluster, topic: str) -> None:
    async def main() -> None:
        async with AsyncProducer({"bootstrap.servers": cluster.bootstrap_servers}, linger_ms=0) as producer:
            place = await producer.send_and_wait(topic, b"v", key=b"k", headers={"h": "x"}, timestamp_ms=7)
            assert (place.partition, place.offset, place.timestamp_ms) == (0, 0, 7)
            future = await producer.send(topic)
            assert (await future).offset == 1

    run(main)
    first, second = read_all(cluster, topic)
    assert (first.key, first.value, first.headers, first.timestamp_ms) == (b"k", b"v", (("h", b"x"),), 7)
    assert (second.key, second.value) == (None, None)


def test_the_producer_creates_no_thread(cluster: ThreadedCluster) -> None:
    before = threading.enumerate()

    async def main() -> list[threading.Thread]:
        async with AsyncProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            await producer.send_and_wait("orders", b"x")
            return threading.enumerate()

    assert run(main) == before


def test_concurrent_sends_keep_their_order(cluster: ThreadedCluster, topic: str) -> None:
    expected = [b"%04d" % number * 50 for number in range(1_000)]

    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=cluster.bootstrap_servers, batch_size=1_000) as producer:
            await asyncio.gather(*(producer.send(topic, value) for value in expected[:500]))
            await asyncio.gather(*(producer.send_and_wait(topic, value) for value in expected[500:]))

    run(main)
    assert values(cluster, topic) == expected


def test_full_batches_are_sent_during_a_loop_of_sends(cluster: ThreadedCluster, topic: str) -> None:
    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=60_000) as producer:
            await producer.send(topic, b"first")
            await producer.flush()
            for _ in range(200):
                await producer.send(topic, b"x" * 1_000)
            assert producer.metrics()["outgoing-byte-total"] > 2 * 16_000

    run(main)


def test_asyncio_logs_unread_errors_unless_a_callback_got_them(
    cluster: ThreadedCluster, topic: str, held: Callable[[], None]
) -> None:
    logged: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context["message"]))
        producer = AsyncProducer(bootstrap_servers=cluster.bootstrap_servers, max_request_size=1_000)
        await producer.send(topic, b"x" * 2_000)
        await producer.send(topic, b"x" * 2_000, on_delivery=lambda *_: None)
        await producer.send(topic, b"x")
        await producer.close(0)
        gc.collect()

    run(main)
    assert logged == ["Future exception was never retrieved"]


def test_a_host_name_is_resolved(cluster: ThreadedCluster) -> None:
    port = cluster.bootstrap_servers.rpartition(":")[2]

    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=f"localhost:{port}") as producer:
            assert len(await producer.partitions_for("orders")) == 3

    run(main)


def test_canonical_names_are_resolved_in_the_executor(
    cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    monkeypatch.setattr(ProducerConfig, "resolve_canonical_names", lambda _: threads.append(threading.current_thread()))

    async def main() -> None:
        producer = AsyncProducer(
            bootstrap_servers=cluster.bootstrap_servers, client_dns_lookup="resolve_canonical_bootstrap_servers_only"
        )
        await asyncio.gather(*(producer.send_and_wait("orders", b"x") for _ in range(3)))
        await producer.close()

    run(main)
    (thread,) = threads
    assert thread is not threading.current_thread()


def test_the_loop_continues_while_a_send_waits_for_memory(
    cluster: ThreadedCluster, topic: str, held: Callable[[], None]
) -> None:
    async def main() -> None:
        async with AsyncProducer(
            bootstrap_servers=cluster.bootstrap_servers, buffer_memory=20_000, batch_size=10_000
        ) as producer:
            for _ in range(2):
                await producer.send(topic, b"x" * 9_000)
            third = asyncio.create_task(producer.send(topic, b"third" * 1_800))
            await until(lambda: producer.metrics()["waiting-threads"] == 1)
            assert not third.done()
            held()
            assert (await (await third)).offset == 2

    run(main)


def test_a_send_waits_at_most_max_block_ms(cluster: ThreadedCluster, topic: str, held: Callable[[], None]) -> None:
    async def main() -> None:
        async with AsyncProducer(
            bootstrap_servers=cluster.bootstrap_servers, buffer_memory=10_000, batch_size=10_000, max_block_ms=200
        ) as producer:
            first = await producer.send(topic, b"x" * 9_000)
            with pytest.raises(BufferExhausted, match=r"raise max\.block\.ms to allow more"):
                await (await producer.send(topic, b"x" * 9_000))
            with pytest.raises(MetadataTimeout, match="topic 'not there' not present in metadata after 200 ms"):
                await producer.send_and_wait("not there", b"")
            held()
            await first

    run(main)


def test_a_cancelled_send_appends_nothing_and_keeps_no_memory(
    cluster: ThreadedCluster, topic: str, held: Callable[[], None]
) -> None:
    async def main() -> None:
        async with AsyncProducer(
            bootstrap_servers=cluster.bootstrap_servers, buffer_memory=10_000, batch_size=10_000
        ) as producer:
            await producer.send(topic, b"first" * 1_800)
            cluster.add_rule({"name": "unknown", "select": {"api": "Metadata"}, "act": {"hold": True}})
            for_memory = asyncio.create_task(producer.send(topic, b"never" * 1_800))
            for_metadata = asyncio.create_task(producer.send("unknown", b"never"))
            await until(lambda: producer.metrics()["waiting-threads"] == 1)
            for task in (for_memory, for_metadata):
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert producer.metrics()["waiting-threads"] == 0
            cluster.release_rule("unknown")
            cluster.remove_rule("unknown")
            held()
            await producer.flush()
            assert producer.metrics()["buffer-available-bytes"] == 10_000

    run(main)
    assert values(cluster, topic) == [b"first" * 1_800]


def test_memory_of_a_cancelled_send_is_released(cluster: ThreadedCluster, topic: str, held: Callable[[], None]) -> None:
    async def main() -> None:
        producer = AsyncProducer(bootstrap_servers=cluster.bootstrap_servers, buffer_memory=10_000, batch_size=10_000)
        await producer.start()
        first = await producer.send(topic, b"first" * 1_800)
        waiting = asyncio.create_task(producer.send(topic, b"never" * 1_800))
        await until(lambda: producer.metrics()["waiting-threads"] == 1)
        held()
        # In the loop iteration that grants the memory of the first send to the second.
        first.add_done_callback(lambda _: waiting.cancel())
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await producer.close()
        assert producer.metrics()["buffer-available-bytes"] == 10_000

    run(main)


def test_a_cancelled_wait_withdraws_no_record(cluster: ThreadedCluster, topic: str, held: Callable[[], None]) -> None:
    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            future = await producer.send(topic, b"1")
            assert future.cancel()
            waiting = asyncio.create_task(producer.send_and_wait(topic, b"2"))
            await until(lambda: producer.unacknowledged_records() == 2)
            waiting.cancel()
            flushing = asyncio.create_task(producer.flush())
            await asyncio.sleep(0)
            flushing.cancel()
            for task in (waiting, flushing):
                with pytest.raises(asyncio.CancelledError):
                    await task
            held()
            await producer.flush()

    run(main)
    assert values(cluster, topic) == [b"1", b"2"]


def test_flush_and_close_respect_their_timeouts(cluster: ThreadedCluster, topic: str, held: Callable[[], None]) -> None:
    async def main() -> None:
        producer = AsyncProducer(bootstrap_servers=cluster.bootstrap_servers)
        future = await producer.send(topic, b"held")
        with pytest.raises(WaitExpired, match=r"flush is not done after 0\.1 s; raise flush\(timeout\)"):
            await producer.flush(0.1)
        await producer.close(0.1)
        with pytest.raises(ProducerClosed) as caught:
            await future
        assert caught.value.maybe_written

    run(main)


def test_a_cancelled_close_fails_the_rest_at_once(
    cluster: ThreadedCluster, topic: str, held: Callable[[], None]
) -> None:
    async def main() -> None:
        producer = AsyncProducer(bootstrap_servers=cluster.bootstrap_servers)
        future = await producer.send(topic, b"held")
        closing = asyncio.create_task(producer.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        with pytest.raises(ProducerClosed):
            await future

    run(main)


def test_a_cancelled_block_sends_queued_records(cluster: ThreadedCluster, topic: str) -> None:
    async def block(sent: asyncio.Event) -> None:
        async with AsyncProducer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=60_000) as producer:
            await producer.send(topic, b"queued")
            sent.set()
            await asyncio.Event().wait()

    async def main() -> None:
        sent = asyncio.Event()
        task = asyncio.create_task(block(sent))
        await sent.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main)
    assert values(cluster, topic) == [b"queued"]


def test_close_wakes_a_send_that_waits_for_memory(
    cluster: ThreadedCluster, topic: str, held: Callable[[], None]
) -> None:
    async def main() -> None:
        producer = AsyncProducer(bootstrap_servers=cluster.bootstrap_servers, buffer_memory=10_000, batch_size=10_000)
        await producer.send(topic, b"x" * 9_000)
        waiting = asyncio.create_task(producer.send(topic, b"x" * 9_000))
        await until(lambda: producer.metrics()["waiting-threads"] == 1)
        await asyncio.gather(producer.close(0.1), producer.close(0.1))
        with pytest.raises(ProducerClosed):
            await waiting
        for late in (
            producer.send(topic),
            producer.flush(),
            producer.partitions_for(topic),
            producer.begin_transaction(),
        ):
            with pytest.raises(ProducerClosed, match="the producer is closed"):
                await late
        await producer.close()

    run(main)


def test_another_loop_cannot_use_the_producer(cluster: ThreadedCluster) -> None:
    producer = AsyncProducer(bootstrap_servers=cluster.bootstrap_servers)
    with pytest.raises(IllegalState, match=r"the producer is not started; call start\(\) or send\(\) first"):
        producer.metrics()

    async def first() -> None:
        await producer.send_and_wait("orders", b"x")
        with pytest.raises(IllegalState, match="on another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(elsewhere()))
        await producer.close()

    async def elsewhere() -> None:
        await producer.send("orders", b"y")

    run(first)


def test_a_producer_that_never_started_is_closed_silently() -> None:
    async def main() -> None:
        producer = AsyncProducer(bootstrap_servers="127.0.0.1:1")
        await producer.close()
        await producer.start()
        with pytest.raises(ProducerClosed):
            await producer.flush()

    run(main)


def test_a_loop_that_cannot_watch_sockets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Proactor(asyncio.AbstractEventLoop):
        pass

    words = "Proactor cannot watch sockets here: run on a SelectorEventLoop"
    with pytest.raises(LoopCannotWatch, match=words):
        AsyncioReactor(Proactor())

    async def main() -> None:
        producer = AsyncProducer(bootstrap_servers="127.0.0.1:1")
        with pytest.raises(IllegalState, match=words):
            await producer.start()

    monkeypatch.setattr(async_producer, "AsyncioReactor", lambda _: AsyncioReactor(Proactor()))
    run(main)


def test_serializers_interceptors_and_callbacks_are_called(cluster: ThreadedCluster, topic: str) -> None:
    class Counting:
        sent = acknowledged = failed = closed = 0

        def on_send(self, record: Any) -> Any:
            self.sent += 1
            return record

        def on_acknowledgement(self, _metadata: Any, error: Any) -> None:
            self.acknowledged += error is None
            self.failed += error is not None

        def close(self) -> None:
            self.closed += 1

    counting = Counting()
    notified: list[Any] = []

    async def main() -> None:
        async with AsyncProducer(
            bootstrap_servers=cluster.bootstrap_servers,
            value_serializer=str.encode,
            interceptor_classes=[counting],
            max_request_size=1_000,
        ) as producer:
            await (await producer.send(topic, "text", on_delivery=lambda *outcome: notified.append(outcome)))
            await producer.send(topic, "x" * 2_000, on_delivery=lambda *outcome: notified.append(outcome))
            with pytest.raises(TypeError, match=r"value\.serializer raised"):
                await producer.send(topic, 3)

    run(main)
    assert (counting.sent, counting.acknowledged, counting.failed, counting.closed) == (3, 1, 2, 1)
    assert [error is None for _, error in notified] == [True, False]
    assert values(cluster, topic) == [b"text"]


def test_records_of_a_split_batch_have_their_places(cluster: ThreadedCluster) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.create_topic("small", partitions=1, replication_factor=1, configs={"max.message.bytes": "1000"})

    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=60_000) as producer:
            futures = [await producer.send("small", b"x" * 300) for _ in range(20)]
            lost = await producer.send("small", b"x" * 2_000)
            futures[3].cancel()
            await producer.flush()
            assert [future.result().offset for future in futures if not future.cancelled()] == [
                number for number in range(20) if number != 3
            ]
            with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
                await lost
            assert producer.metrics()["batch-split-total"] > 0

    run(main)


def test_waits_and_the_id_for_metrics_are_those_of_the_threaded_producer(cluster: ThreadedCluster) -> None:
    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            await producer.send_and_wait("orders", b"x")
            assert producer.metrics()["metadata-wait-time-ns-total"] > 0
            assert producer.metrics()["record-send-total"] == 1
            assert await producer.client_instance_id(0.2) is None  # these brokers request no metrics

    run(main)


def test_a_table_is_sent_as_by_the_threaded_producer(cluster: ThreadedCluster, topic: str) -> None:
    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=cluster.bootstrap_servers, buffer_memory=200_000) as producer:
            table = pa.table({"value": [b"%04d" % number * 200 for number in range(1_000)]})
            results = await (await producer.send_batch(topic, table))
            assert results["offset"].to_pylist() == list(range(1_000))
            assert results["error"].null_count == 1_000

    run(main)


def test_a_cancelled_table_sends_no_further_rows(
    cluster: ThreadedCluster, topic: str, held: Callable[[], None]
) -> None:
    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=cluster.bootstrap_servers, buffer_memory=100_000) as producer:
            await producer.partitions_for(topic)
            table = pa.table({"value": [b"x" * 900] * 1_000})
            sending = asyncio.create_task(producer.send_batch(topic, table))
            await until(lambda: producer.metrics()["waiting-threads"] == 1)
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            held()
            await producer.flush()
            assert producer.metrics()["buffer-available-bytes"] == 100_000

    run(main)
    assert 0 < len(values(cluster, topic)) < 200


def test_records_are_sent_with_tls(cluster: ThreadedCluster, topic: str, certificates: Certificates) -> None:
    async def main() -> None:
        async with AsyncProducer(
            bootstrap_servers=cluster.bootstrap_servers_of("SSL"),
            security_protocol="SSL",
            ssl_truststore_type="PEM",
            ssl_truststore_location=str(certificates.authority.file),
        ) as producer:
            futures = [await producer.send(topic, b"%d" % number * 900) for number in range(300)]
            await producer.flush()
            assert [future.result().offset for future in futures] == list(range(300))

    run(main)


def test_the_core_on_deferreds_runs_on_an_asyncio_loop_too(cluster: ThreadedCluster) -> None:
    import random

    async def main() -> None:
        loop = asyncio.get_running_loop()
        reactor: Any = AsyncioReactor(loop)
        config = ProducerConfig(bootstrap_servers=cluster.bootstrap_servers)
        core = ProducerCore(config, reactor, random.Random(1))
        place = await core.send("orders", b"x").as_deferred().asFuture(loop)
        assert place.topic == "orders"
        await core.close().asFuture(loop)
        await reactor.close()
        assert (reactor.getReaders(), reactor.getWriters(), reactor.getDelayedCalls()) == ([], [], [])

    run(main)
