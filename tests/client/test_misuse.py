"""Errors of users and of their environment: both APIs report them at once and name the remedy."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from twisted.logger import globalLogPublisher

from broker_client import AsyncProducer, Consumer, Producer, TopicPartition, async_producer
from broker_client.errors import (
    IllegalState,
    InvalidTopic,
    MetadataTimeout,
    ProducerError,
    SerializationError,
    SslAuthenticationFailed,
)
from broker_sim.threaded_cluster import ThreadedCluster
from sim_runtime import interruptible_waits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.certificate_authority import Certificates

SECONDS_MAX = 60


@pytest.fixture(scope="module")
def cluster(certificates: Certificates) -> Iterator[ThreadedCluster]:
    # A send to a missing topic waits as long as the test requires.
    config = certificates.listeners | {"auto.create.topics.enable": "false"}
    with ThreadedCluster(brokers=1, topics=["orders:1:1"], config=config) as running:
        yield running


@pytest.fixture
def logged() -> Iterator[list[Any]]:
    """Return the logged events."""
    events: list[Any] = []
    globalLogPublisher.addObserver(events.append)
    yield events
    globalLogPublisher.removeObserver(events.append)


class Threaded:
    """Sends records one after the other; returns the place or the error of each."""

    def outcomes(self, records: list[dict[str, Any]], **options: Any) -> list[Any]:
        with Producer(**options) as producer:
            outcomes: list[Any] = []
            for record in records:
                try:
                    future = producer.send(**record)
                    outcomes.append(future.exception(SECONDS_MAX) or future.result(0))
                except ProducerError as error:
                    outcomes.append(error)
            return outcomes

    def __str__(self) -> str:
        return "threaded"


class OnAsyncio:
    """Sends records one after the other with coroutines; returns the place or the error of each."""

    def outcomes(self, records: list[dict[str, Any]], **options: Any) -> list[Any]:
        async def main() -> list[Any]:
            async with AsyncProducer(**options) as producer:
                outcomes: list[Any] = []
                for record in records:
                    try:
                        outcomes.append(await (await producer.send(**record)))
                    except ProducerError as error:
                        outcomes.append(error)
                return outcomes

        return asyncio.run(asyncio.wait_for(main(), SECONDS_MAX))


@pytest.fixture(params=[Threaded(), OnAsyncio()], ids=["threaded", "asyncio"])
def api(request: pytest.FixtureRequest) -> Any:
    return request.param


def error_of_first(api: Any, **options: Any) -> Any:
    """Return the error of a first record."""
    return api.outcomes([{"topic": "unheard of", "value": b""}], **options)[0]


# Addresses


def test_a_port_without_a_listener(api: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        failure = error_of_first(api, bootstrap_servers=address, max_block_ms=200)
    assert isinstance(failure, MetadataTimeout)
    assert f"(bootstrap.servers: {address}: Connection was refused" in str(failure)
    assert "raise max.block.ms to allow more" in str(failure)


def test_a_name_that_does_not_resolve(api: Any) -> None:
    failure = error_of_first(api, bootstrap_servers="nowhere.invalid:9092", max_block_ms=2_000)
    assert "(bootstrap.servers: nowhere.invalid:9092: DNS lookup failed" in str(failure)


def test_an_address_that_does_not_respond(api: Any) -> None:
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # no accept: the kernel does not respond to the next one
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        address = f"127.0.0.1:{full.getsockname()[1]}"
        failure = error_of_first(api, bootstrap_servers=address, max_block_ms=200)
        assert isinstance(failure, MetadataTimeout)
        assert f"(bootstrap.servers: {address} has not responded to the connection attempt)" in str(failure)
        failure = error_of_first(
            api,
            bootstrap_servers=address,
            max_block_ms=700,
            socket_connection_setup_timeout_ms=200,
            socket_connection_setup_timeout_max_ms=200,
        )
        assert f"(bootstrap.servers: {address}: no connection after " in str(failure)
        assert "ms (socket.connection.setup.timeout.ms)" in str(failure)


def test_a_silent_server(api: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        # close waits for requests in flight, as in Java
        times = {"request_timeout_ms": 500, "delivery_timeout_ms": 600}
        failure = error_of_first(api, bootstrap_servers=address, max_block_ms=200, **times)
        assert f"{address} has accepted the connection and sends nothing: it may not be a Kafka listener" in str(
            failure
        )
        failure = error_of_first(api, bootstrap_servers=address, max_block_ms=700, **times)
        assert f"{address}: a request had no response within request.timeout.ms=500" in str(failure)


def test_a_web_server(api: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, contextlib.suppress(ConnectionError):
                        connection.recv(1_000)
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
                        connection.recv(1_000)

        threading.Thread(target=serve, daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        failure = error_of_first(api, bootstrap_servers=address, max_block_ms=400)
        server.shutdown(socket.SHUT_RDWR)
    assert f"{address} sent an HTTP response: bootstrap.servers names no Kafka listener" in str(failure)


def test_plaintext_on_a_tls_listener(api: Any, cluster: ThreadedCluster) -> None:
    failure = error_of_first(api, bootstrap_servers=cluster.bootstrap_servers_of("SSL"))
    assert isinstance(failure, SslAuthenticationFailed)
    assert "it is a TLS listener, security.protocol names another (expected SSL, or SASL_SSL with credentials)" in str(
        failure
    )


def test_tls_on_a_plaintext_listener(api: Any, cluster: ThreadedCluster, certificates: Certificates) -> None:
    failure = error_of_first(
        api,
        bootstrap_servers=cluster.bootstrap_servers,
        security_protocol="SSL",
        ssl_truststore_type="PEM",
        ssl_truststore_location=str(certificates.authority.file),
        max_block_ms=300,
    )
    assert isinstance(failure, MetadataTimeout)
    assert "security.protocol=SSL may not be the listener's, which may be PLAINTEXT" in str(failure)


def test_a_server_with_an_untrusted_certificate(api: Any, cluster: ThreadedCluster, certificates: Certificates) -> None:
    failure = error_of_first(
        api,
        bootstrap_servers=cluster.bootstrap_servers_of("SSL"),
        security_protocol="SSL",
        ssl_truststore_type="PEM",
        ssl_truststore_location=str(certificates.stranger.file),
    )
    assert isinstance(failure, SslAuthenticationFailed)
    assert "CN=broker, is not trusted: ssl.truststore.location" in str(failure)


# Records


ODD_RECORDS: list[tuple[dict[str, Any], str]] = [
    ({"topic": b"orders"}, "the topic b'orders' is bytes, not str"),
    ({"topic": None}, "the topic None is NoneType, not str"),
    ({"topic": "\ud800"}, "the topic '\\ud800' cannot be encoded in UTF-8"),
    ({"topic": "x" * 40_000}, "is 40000 characters long, 249 may be"),
    ({"value": "text"}, "a value of topic 'orders' is str, not bytes or None: set value.serializer"),
    ({"key": 3}, "a key of topic 'orders' is int, not bytes or None: set key.serializer"),
    ({"partition": "0"}, "partition='0' is str, not int"),
    ({"partition": 0.5}, "partition=0.5 is float, not int"),
    ({"timestamp_ms": 1.5}, "timestamp_ms=1.5 is float, not int"),
    ({"timestamp_ms": 1 << 63}, "timestamp_ms=9223372036854775808 is larger than 64 bits hold"),
    ({"headers": 5}, "headers=5: expected pairs of a name and bytes, str or None, or a mapping"),
    ({"headers": ["ab"]}, "header 'ab': expected pairs"),
    ({"headers": [("a", b"", b"")]}, "expected pairs"),
    ({"headers": {3: b""}}, "header name 3 is int, not str"),
    ({"headers": {"a": 3}}, "header 'a' has a value of int, not bytes, str or None"),
    ({"headers": {"\ud800": b""}}, "the header name '\\ud800' cannot be encoded in UTF-8"),
    ({"headers": {"a": "\ud800"}}, "the value of header 'a', '\\ud800' cannot be encoded in UTF-8"),
]


def test_an_invalid_record_is_refused_and_the_next_is_sent(api: Any, cluster: ThreadedCluster) -> None:
    records: list[dict[str, Any]] = []
    for odd, _ in ODD_RECORDS:
        records += [{"topic": "orders", "value": b"odd", **odd}, {"topic": "orders", "value": b"plain"}]
    outcomes = api.outcomes(records, bootstrap_servers=cluster.bootstrap_servers, linger_ms=0)
    for (odd, words), failure in zip(ODD_RECORDS, outcomes[::2], strict=True):
        assert isinstance(failure, SerializationError), odd
        assert words in str(failure)
    offsets = [place.offset for place in outcomes[1::2]]
    assert offsets == list(range(offsets[0], offsets[0] + len(ODD_RECORDS)))


def test_unusual_records_are_sent(api: Any, cluster: ThreadedCluster) -> None:
    unusual: list[dict[str, Any]] = [
        {"value": None},
        {"key": None, "headers": None},
        {"value": bytearray(b"x"), "key": memoryview(b"k")},
        {"headers": [["a", bytearray(b"x")], ("b", None)]},
        {"headers": (pair for pair in [("a", "text")])},
        {"partition": False},
    ]
    records = [{"topic": "orders", "value": b"x", **one} for one in unusual]
    outcomes = api.outcomes(records, bootstrap_servers=cluster.bootstrap_servers, linger_ms=0)
    assert [failure for failure in outcomes if isinstance(failure, Exception)] == []


def test_an_invalid_topic_name(api: Any, cluster: ThreadedCluster) -> None:
    outcomes = api.outcomes(
        [{"topic": "a b", "value": b""}, {"topic": "orders", "value": b""}], bootstrap_servers=cluster.bootstrap_servers
    )
    assert isinstance(outcomes[0], InvalidTopic)
    assert "invalid topic name 'a b'" in str(outcomes[0])
    assert outcomes[1].topic == "orders"


def test_a_serializer_that_raises_is_named(api: Any, cluster: ThreadedCluster) -> None:
    def serialize(value: Any) -> bytes:
        if value == "bad":
            raise RuntimeError("on purpose")
        return str(value).encode()

    outcomes = api.outcomes(
        [{"topic": "orders", "value": "bad"}, {"topic": "orders", "value": "good"}],
        bootstrap_servers=cluster.bootstrap_servers,
        value_serializer=serialize,
    )
    assert isinstance(outcomes[0], SerializationError)
    assert str(outcomes[0]) == "value.serializer raised for a value of topic 'orders': on purpose"
    assert isinstance(outcomes[0].__cause__, RuntimeError)
    assert outcomes[1].serialized_value_size == 4


def test_a_callback_that_raises_is_logged_and_delays_no_other(
    api: Any, cluster: ThreadedCluster, logged: list[Any]
) -> None:
    offsets: list[int] = []

    def raise_(*_: Any) -> None:
        raise RuntimeError("on purpose")

    outcomes = api.outcomes(
        [
            {"topic": "orders", "value": b"1", "on_delivery": raise_},
            {"topic": "orders", "value": b"2", "on_delivery": lambda place, _: offsets.append(place.offset)},
        ],
        bootstrap_servers=cluster.bootstrap_servers,
    )
    assert [outcomes[1].offset] == offsets == [outcomes[0].offset + 1]
    (failure,) = [event for event in logged if "log_failure" in event]
    assert "on_delivery" in failure["log_format"]
    assert failure["log_failure"].type is RuntimeError


def test_transactions_without_their_id(cluster: ThreadedCluster) -> None:
    words = r"transactions need the configuration transactional\.id, which is not set"
    with (
        Producer(bootstrap_servers=cluster.bootstrap_servers) as producer,
        pytest.raises(IllegalState, match=words),
    ):
        producer.init_transactions()

    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            for call in (producer.init_transactions, producer.begin_transaction, producer.abort_transaction):
                with pytest.raises(IllegalState, match=words):
                    await call()

    asyncio.run(main())


# Interrupts, forks, ends


def interrupted_when(condition: Callable[[], bool]) -> None:
    """Interrupt the main thread as soon as the condition holds and it waits."""
    main = threading.main_thread().ident or 0

    def wait() -> None:
        pause = threading.Event()
        while not condition() or sys._current_frames()[main].f_code.co_filename != interruptible_waits.__file__:
            pause.wait(0.001)
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=wait, daemon=True).start()


def test_an_interrupted_send_leaves_the_queue_for_memory(cluster: ThreadedCluster, held: Callable[[], None]) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers, buffer_memory=10_000, batch_size=10_000) as producer:
        first = producer.send("orders", b"x" * 9_000)
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the interrupt may come as soon as it is ordered
            interrupted_when(lambda: producer.metrics()["waiting-threads"] == 1)
            producer.send("orders", b"x" * 9_000)
        assert producer.metrics()["waiting-threads"] == 0
        held()
        first.result(SECONDS_MAX)
        producer.send("orders", b"x" * 9_000).result(SECONDS_MAX)
        producer.flush()
        assert producer.metrics()["buffer-available-bytes"] == 10_000


def test_an_interrupted_flush_can_be_repeated(cluster: ThreadedCluster, held: Callable[[], None]) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        future = producer.send("orders", b"x")
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the interrupt may come as soon as it is ordered
            interrupted_when(lambda: bool(producer._thread._pending))
            producer.flush()
        held()
        producer.flush()
        assert future.done()


def program(text: str, *arguments: str) -> subprocess.Popen[str]:
    """Run a program in another process, as a user would start it."""
    return subprocess.Popen(
        [sys.executable, "-c", text, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupted_at_its_word(text: str, *arguments: str) -> str:
    """Interrupt a program once it has printed a line; return its stderr. It must end as Python does then."""
    with program(text, *arguments) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "waits\n"
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=SECONDS_MAX)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGINT
    assert "\nKeyboardInterrupt\n" in stderr
    return stderr


@pytest.mark.parametrize("wait", ["producer.flush()", "producer.send('nowhere', b'')", "producer.close()"])
def test_ctrl_c_ends_a_wait_of_threads_and_logs_the_lost_records(
    cluster: ThreadedCluster, held: Callable[[], None], wait: str
) -> None:
    stderr = interrupted_at_its_word(
        f"""if True:
            import sys
            from broker_client import Producer
            with Producer(bootstrap_servers=sys.argv[1]) as producer:
                future = producer.send("orders", b"queued")
                print("waits", flush=True)
                {wait}
        """,
        cluster.bootstrap_servers,
    )
    assert "1 records of producer-1 are given up: " in stderr


def test_ctrl_c_outside_a_block_logs_the_unsent_records(cluster: ThreadedCluster, held: Callable[[], None]) -> None:
    stderr = interrupted_at_its_word(
        """if True:
            import sys
            from broker_client import Producer
            producer = Producer(bootstrap_servers=sys.argv[1])
            producer.send("orders", b"1"), producer.send("orders", b"2")
            print("waits", flush=True)
            producer.flush()
        """,
        cluster.bootstrap_servers,
    )
    assert "the process ends with 2 records of producer-1 unacknowledged: close() the producer" in stderr


@pytest.mark.parametrize("wait", ["future", "producer.send('nowhere', b'')"])
def test_ctrl_c_ends_a_wait_of_a_coroutine_and_sends_queued_records(cluster: ThreadedCluster, wait: str) -> None:
    topic = "queued-" + "".join(filter(str.isalpha, wait))
    cluster.create_topic(f"{topic}:1:1")
    interrupted_at_its_word(
        f"""if True:
            import asyncio, sys
            from broker_client import AsyncProducer
            # asyncio.run sets no wakeup descriptor: a signal just before epoll_wait is handled when that call ends.
            async def turn_the_loop():
                while True:
                    await asyncio.sleep(0.1)
            async def main():
                turning = asyncio.create_task(turn_the_loop())
                async with AsyncProducer(bootstrap_servers=sys.argv[1], linger_ms=60000) as producer:
                    future = await producer.send(sys.argv[2], b"queued")
                    print("waits", flush=True)
                    await {wait}
            asyncio.run(main())
        """,
        cluster.bootstrap_servers,
        topic,
    )
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        assert producer.send(topic, b"next").result(SECONDS_MAX).offset == 1


def test_a_block_that_ends_by_sys_exit_sends_queued_records(cluster: ThreadedCluster) -> None:
    options: dict[str, Any] = {"bootstrap_servers": cluster.bootstrap_servers, "linger_ms": 60_000}
    sent: list[Any] = []

    def threaded() -> None:
        with Producer(**options) as producer:
            sent.append(producer.send("orders", b"queued"))
            sys.exit()

    async def on_asyncio() -> None:
        async with AsyncProducer(**options) as producer:
            sent.append(await producer.send("orders", b"queued"))
            sys.exit()

    async def main() -> None:
        with pytest.raises(SystemExit):
            await on_asyncio()

    with pytest.raises(SystemExit):
        threaded()
    asyncio.run(main())
    assert [future.exception() for future in sent] == [None, None]


def test_a_cancelled_block_logs_the_lost_records(
    cluster: ThreadedCluster, held: Callable[[], None], logged: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(async_producer, "CANCELLED_CLOSE_S", 0.1)

    async def block(begun: asyncio.Event) -> None:
        async with AsyncProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            await producer.send("orders", b"1")
            await producer.send("orders", b"2")
            begun.set()
            await asyncio.Event().wait()

    async def main() -> None:
        begun = asyncio.Event()
        task = asyncio.create_task(block(begun))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (event,) = [event for event in logged if "given_up" in event]
    assert (event["given_up"], event["log_level"].name) == (2, "critical")


ENDINGS = {
    "threaded": """if True:
        import sys
        from broker_client import Producer
        producer = Producer(bootstrap_servers=sys.argv[1], linger_ms=60000)
        producer.send("orders", b"1"), producer.send("orders", b"2")
    """,
    "asyncio": """if True:
        import asyncio, sys
        from broker_client import AsyncProducer
        async def main():
            producer = AsyncProducer(bootstrap_servers=sys.argv[1], linger_ms=60000)
            await producer.send("orders", b"1")
            await producer.send("orders", b"2")
        asyncio.run(main())
    """,
}


@pytest.mark.parametrize("api", ENDINGS)
def test_a_process_that_ends_with_unsent_records_logs_their_number(cluster: ThreadedCluster, api: str) -> None:
    with program(ENDINGS[api], cluster.bootstrap_servers) as process:
        _, stderr = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 0
    assert "the process ends with 2 records of producer-1 unacknowledged: close() the producer" in stderr


FORKS = {
    "threaded": """if True:
        import os, sys
        from broker_client import Producer
        from broker_client.errors import ProducerForked
        producer = Producer(bootstrap_servers=sys.argv[1], linger_ms=60000)
        producer.send("orders", b"of the parent")
        if not os.fork():
            for use in (lambda: producer.send("orders", b""), producer.flush, producer.close):
                try:
                    use()
                except ProducerForked as error:
                    print(error, flush=True)
            sys.exit()
        os.wait()
        producer.close()
    """,
    "asyncio": """if True:
        import asyncio, os, sys
        from broker_client import AsyncProducer
        from broker_client.errors import ProducerForked
        producer = AsyncProducer(bootstrap_servers=sys.argv[1], linger_ms=60000)
        async def child():
            for use in (lambda: producer.send("orders", b""), producer.flush, producer.close):
                try:
                    await use()
                except ProducerForked as error:
                    print(error, flush=True)
        async def main():
            await producer.send("orders", b"of the parent")
            if not os.fork():
                asyncio.run(child())
                os._exit(0)
            os.wait()
            await producer.close()
        asyncio.run(main())
    """,
}


@pytest.mark.parametrize("api", FORKS)
def test_the_child_of_a_fork_must_create_its_own_producer(cluster: ThreadedCluster, api: str) -> None:
    with program(FORKS[api], cluster.bootstrap_servers) as process:
        stdout, stderr = process.communicate(timeout=SECONDS_MAX)
    assert (process.returncode, "Traceback" in stderr) == (0, False)
    lines = stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["cannot send", "cannot flush", "cannot close"]
    assert all(f"the producer was made in process {process.pid}, this is process" in line for line in lines)
    assert all("make a producer after the fork" in line for line in lines)


@pytest.mark.parametrize("call", ["pause", "resume", "seek_to_beginning", "seek_to_end"])
def test_a_list_in_place_of_partitions_is_named(cluster: ThreadedCluster, call: str) -> None:
    one = TopicPartition("orders", 0)
    with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        consumer.assign([one])
        with pytest.raises(TypeError, match=r"expected a TopicPartition or a pair \(topic, partition\), not \[Topic"):
            getattr(consumer, call)([one])
        with pytest.raises(TypeError, match=r"not 'orders-0'"):
            getattr(consumer, call)("orders-0")


def test_a_topic_in_place_of_partitions_is_named(cluster: ThreadedCluster) -> None:
    with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        with pytest.raises(TypeError, match=r"a pair \(topic, partition\), not 'orders'"):
            consumer.assign(["orders"])
        consumer.assign([("orders", 0)])
        assert consumer.assignment() == (TopicPartition("orders", 0),)
