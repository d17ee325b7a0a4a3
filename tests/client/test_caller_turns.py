"""A record sent and waited for without a hand-over to the network thread, and everything that keeps it from that."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event, Thread, get_ident, main_thread
from typing import TYPE_CHECKING, Any

import pytest

from broker_client import Producer, TopicPartition, caller_turns
from broker_client.consumer import Consumer
from broker_client.core.producer.sender import Sender
from broker_client.core.producer.trace import BatchEvent, BatchEventKind
from broker_client.errors import BatchExpired, ProducerClosed, WaitExpired
from broker_sim.threaded_cluster import ThreadedCluster
from broker_sim.topic_spec import TopicSpec
from tests.default_handlers import default_handlers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only an epoll reactor lends")

SECONDS_MAX = 30
RECORDS = 50
WAITS = {"_has_received", "wait_in_slices"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=2, topics=["alone:1:1", "orders:4:2"]) as running:
        yield running


@pytest.fixture
def as_in_a_program() -> Iterator[None]:
    """The main thread without the handler that a test's time limit has."""
    with default_handlers():
        yield


@contextmanager
def sending(cluster: ThreadedCluster, **options: Any) -> Iterator[Producer]:
    """A producer that has its connections."""
    with Producer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=0, **options) as producer:
        producer.send("alone", b"first").result(SECONDS_MAX)
        yield producer


@contextmanager
def held_produce(cluster: ThreadedCluster) -> Iterator[None]:
    """No produce request is answered before the end of the block."""
    cluster.add_rule({"name": "held", "select": {"api": "Produce"}, "act": {"hold": True}})
    try:
        yield
    finally:
        cluster.release_rule("held")
        cluster.remove_rule("held")


class Elsewhere(Thread):
    """Runs a function in a thread of its own, where no signal ever comes."""

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._function = function
        self._told: SimpleQueue[Any] = SimpleQueue()
        self.start()

    def run(self) -> None:
        try:
            self._told.put(self._function())
        except BaseException as error:  # noqa: BLE001 - it is the answer
            self._told.put(error)

    def answer(self) -> Any:
        return self._told.get(timeout=SECONDS_MAX)


def stored(cluster: ThreadedCluster, topic: str = "alone") -> list[bytes]:
    key = TopicPartition(topic, 0)
    with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        consumer.assign([key])
        end = consumer.end_offsets([key])[key]
        values: list[bytes] = []
        while (consumer.position(key) or 0) < end:
            values += [record.value or b"" for record in consumer.poll(1.0)]
        return values


def test_who_sends_and_waits_takes_the_turns_itself(cluster: ThreadedCluster) -> None:
    told: list[tuple[BatchEventKind, int]] = []

    def trace(event: BatchEvent) -> None:
        told.append((event.kind, get_ident()))

    with sending(cluster, trace=trace) as producer:

        def send() -> list[int]:
            return [producer.send("alone", b"%d" % number).result(SECONDS_MAX).offset for number in range(RECORDS)]

        told.clear()
        sender = Elsewhere(send)
        offsets = sender.answer()
        by_sender = [kind for kind, thread in told if thread == sender.ident]
    assert offsets == list(range(offsets[0], offsets[0] + RECORDS))
    # A machine that is busy may hand some of them to the network thread, and never all.
    assert BatchEventKind.SENT in by_sender
    assert BatchEventKind.ACKNOWLEDGED in by_sender


def test_the_main_thread_takes_turns_too(cluster: ThreadedCluster, as_in_a_program: None) -> None:
    told: list[tuple[BatchEventKind, int]] = []
    with sending(cluster, trace=lambda event: told.append((event.kind, get_ident()))) as producer:
        for _ in range(RECORDS):
            producer.send("alone", b"x").result(SECONDS_MAX)
    assert (BatchEventKind.ACKNOWLEDGED, main_thread().ident) in told
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_sends_and_flushes_takes_the_turns_itself(cluster: ThreadedCluster) -> None:
    told: list[tuple[BatchEventKind, int]] = []

    with sending(cluster, trace=lambda event: told.append((event.kind, get_ident()))) as producer:

        def send() -> list[bool]:
            done = []
            for _ in range(RECORDS):
                future = producer.send("alone", b"x")
                producer.flush(SECONDS_MAX)
                done.append(future.done())
            return done

        told.clear()
        sender = Elsewhere(send)
        assert all(sender.answer())
        by_sender = [kind for kind, thread in told if thread == sender.ident]
    assert BatchEventKind.ACKNOWLEDGED in by_sender


@pytest.mark.parametrize(
    "options", [{"acks": 0, "enable_idempotence": False}, {"partitioner_availability_timeout_ms": 500}], ids=str
)
def test_what_needs_a_whole_turn_has_one(cluster: ThreadedCluster, options: dict[str, Any]) -> None:
    with sending(cluster, **options) as producer:
        futures = []
        for number in range(RECORDS):
            futures.append(producer.send("orders", b"%d" % number))
            producer.flush(SECONDS_MAX)
        assert all(future.result(SECONDS_MAX).topic == "orders" for future in futures)


def test_a_request_that_a_caller_sent_is_given_up_in_time(cluster: ThreadedCluster) -> None:
    told: list[tuple[BatchEventKind, int]] = []

    def trace(event: BatchEvent) -> None:
        told.append((event.kind, get_ident()))

    options = {"request_timeout_ms": 200, "delivery_timeout_ms": 60_000, "retry_backoff_ms": 10}
    with sending(cluster, trace=trace, **options) as producer:
        # The network thread has nothing to do for minutes when the callers begin to send.
        sent = Elsewhere(lambda: [producer.send("alone", b"x").result(SECONDS_MAX) for _ in range(RECORDS)])
        sent.answer()
        with held_produce(cluster):
            told.clear()
            future = producer.send("alone", b"slow")
            with pytest.raises(WaitExpired):
                future.result(1)
            assert BatchEventKind.RETRIED in [kind for kind, _ in told]
        future.result(SECONDS_MAX)


def test_a_record_that_a_caller_sent_expires_in_time(cluster: ThreadedCluster) -> None:
    with sending(cluster, request_timeout_ms=600, delivery_timeout_ms=1000) as producer, held_produce(cluster):
        future = producer.send("alone", b"late")
        with pytest.raises(BatchExpired):
            future.result(SECONDS_MAX)


def test_a_flush_that_takes_too_long_says_so(cluster: ThreadedCluster) -> None:
    with sending(cluster) as producer:
        with held_produce(cluster):
            future = producer.send("alone", b"slow")
            with pytest.raises(WaitExpired, match=r"flush is not done after 0\.05 s"):
                producer.flush(0.05)
            assert not future.done()
        assert future.result(SECONDS_MAX).offset > 0


def test_what_another_caller_has_set_aside_stays_there(
    cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller who has put its connection back must not do so again: it may be another's by then."""
    put_back_borrowed = caller_turns.CallerTurns._put_back_borrowed
    put_back = caller_turns.CallerTurns._put_back
    others: list[bool] = []
    again: list[bool] = []

    def put_back_and_lose(turns: caller_turns.CallerTurns, connection: Any) -> None:
        put_back_borrowed(turns, connection)
        if sys._getframe(1).f_code.co_name == "_receive":
            others.append(True)
            turns._awaited = connection

    def put_back_own(turns: caller_turns.CallerTurns, connection: Any) -> None:
        if others:
            again.append(True)
        put_back(turns, connection)

    with sending(cluster) as producer:
        monkeypatch.setattr(caller_turns.CallerTurns, "_put_back_borrowed", put_back_and_lose)
        monkeypatch.setattr(caller_turns.CallerTurns, "_put_back", put_back_own)

        def send() -> None:
            for _ in range(RECORDS):
                producer.send("alone", b"x").result(SECONDS_MAX)
                if others:
                    return

        assert Elsewhere(send).answer() is None
        assert others
        assert not again


def test_a_program_with_handlers_of_its_own_has_the_network_thread_do_it(
    cluster: ThreadedCluster, as_in_a_program: None
) -> None:
    signal.signal(signal.SIGTERM, lambda *_: None)
    told: list[tuple[BatchEventKind, int]] = []
    with sending(cluster, trace=lambda event: told.append((event.kind, get_ident()))) as producer:
        producer.send("alone", b"x").result(SECONDS_MAX)
    assert (BatchEventKind.SENT, main_thread().ident) not in told
    assert (BatchEventKind.ACKNOWLEDGED, main_thread().ident) not in told


@pytest.mark.parametrize("listens", ["on_delivery", "done callback"])
def test_callbacks_stay_with_the_network_thread(cluster: ThreadedCluster, listens: str) -> None:
    threads: list[int] = []

    def callback(*_: object) -> None:
        threads.append(get_ident())

    with sending(cluster) as producer:

        def send() -> None:
            for _ in range(RECORDS):
                if listens == "on_delivery":
                    future = producer.send("alone", b"x", on_delivery=callback)
                else:
                    future = producer.send("alone", b"x")
                    future.add_done_callback(callback)
                future.result(SECONDS_MAX)

        sender = Elsewhere(send)
        assert sender.answer() is None
    # A done callback that comes after the record has ended is called at once, where it is given.
    assert len(threads) == RECORDS
    assert sender.ident not in threads or listens == "done callback"


@pytest.mark.parametrize("acks", ["0", "1"])
def test_what_nobody_acknowledges_or_a_leader_alone(cluster: ThreadedCluster, acks: str) -> None:
    with sending(cluster, acks=acks, enable_idempotence=False) as producer:

        def send() -> set[int]:
            return {producer.send("orders", b"x").result(SECONDS_MAX).offset for _ in range(RECORDS)}

        offsets = Elsewhere(send).answer()
    assert offsets == {-1} if acks == "0" else min(offsets) >= 0


def test_a_record_that_the_socket_does_not_take_at_once(cluster: ThreadedCluster) -> None:
    cluster.create_topic(TopicSpec(name="large", configs={"max.message.bytes": "20000000"}))
    with sending(cluster, max_request_size=20_000_000) as producer:
        value = b"large" * 2_000_000

        def send() -> list[int]:
            return [producer.send("large", value).result(SECONDS_MAX).offset for _ in range(3)]

        assert Elsewhere(send).answer() == [0, 1, 2]


def test_threads_that_send_at_once_all_get_their_answers(cluster: ThreadedCluster) -> None:
    cluster.create_topic("shared:1:1")
    with sending(cluster) as producer:

        def send(number: int) -> list[int]:
            values = (b"%d-%d" % (number, index) for index in range(RECORDS))
            return [producer.send("shared", value).result(SECONDS_MAX).offset for value in values]

        threads = [Elsewhere(lambda number=number: send(number)) for number in range(4)]  # type: ignore[misc]
        answers = [thread.answer() for thread in threads]
    for offsets in answers:
        assert offsets == sorted(offsets)
    assert sorted(offset for offsets in answers for offset in offsets) == list(range(4 * RECORDS))
    values = stored(cluster, "shared")
    for number in range(4):
        mine = [value for value in values if value.startswith(b"%d-" % number)]
        assert mine == [b"%d-%d" % (number, index) for index in range(RECORDS)]


def test_what_nobody_waits_for_is_sent_as_well(cluster: ThreadedCluster) -> None:
    with sending(cluster) as producer:
        ended = Event()
        producer.send("alone", b"x", on_delivery=lambda *_: ended.set())
        assert ended.wait(SECONDS_MAX)
        futures = [producer.send("orders", b"%d" % number) for number in range(1_000)]
        for future in futures:
            future.result(SECONDS_MAX)


def test_a_slow_answer_is_waited_for(cluster: ThreadedCluster) -> None:
    with sending(cluster) as producer:
        with held_produce(cluster):
            future = producer.send("alone", b"slow")
            waiting = Elsewhere(lambda: future.result(SECONDS_MAX))
            with pytest.raises(WaitExpired, match=r"is not acknowledged after 0\.05 s"):
                future.result(0.05)
            with pytest.raises(WaitExpired):
                future.result(0)
        assert waiting.answer() == future.result(SECONDS_MAX)


def test_a_connection_that_is_lost_during_the_wait_is_made_again(cluster: ThreadedCluster) -> None:
    cluster.create_topic("again:1:1")
    with sending(cluster) as producer:
        producer.send("again", b"before").result(SECONDS_MAX)
        rule = {"name": "cut", "select": {"api": "Produce"}, "act": {"disconnect": True}, "times": 1}
        cluster.add_rule(rule)
        try:
            sender = Elsewhere(lambda: producer.send("again", b"during").result(SECONDS_MAX).offset)
            assert sender.answer() == 1
        finally:
            cluster.remove_rule("cut")
        assert Elsewhere(lambda: producer.send("again", b"after").result(SECONDS_MAX).offset).answer() == 2
    assert stored(cluster, "again") == [b"before", b"during", b"after"]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers wait themselves for as long as it takes."""
    monkeypatch.setattr(caller_turns, "AWAIT_MS_MAX", SECONDS_MAX * 1000)


def wait_until_waiting(thread: int | None) -> None:
    """Until a thread waits for an answer: itself, or for the network thread if that was busy when it began to."""
    pause = Event()
    while not WAITS & set(functions(sys._current_frames()[thread or 0])):
        pause.wait(0.001)


def functions(frame: FrameType | None) -> Iterator[str]:
    """What a thread is in, from the inside."""
    while frame is not None:
        yield frame.f_code.co_name
        frame = frame.f_back


def test_a_producer_that_is_closed_keeps_nobody_waiting(cluster: ThreadedCluster) -> None:
    with sending(cluster) as producer, held_produce(cluster):
        future = producer.send("alone", b"never told")
        waiting = Elsewhere(lambda: future.exception(SECONDS_MAX))
        producer.close(0)
        assert isinstance(waiting.answer(), ProducerClosed)


def test_a_record_that_joins_during_the_wait_ends_as_well(cluster: ThreadedCluster, patient: None) -> None:
    with sending(cluster) as producer:
        threads: list[int] = []
        with held_produce(cluster):
            future = producer.send("alone", b"one")
            waiting = Elsewhere(lambda: future.result(SECONDS_MAX).offset)
            wait_until_waiting(waiting.ident)
            other = producer.send("alone", b"two", on_delivery=lambda *_: threads.append(get_ident()))
        assert waiting.answer() + 1 == other.result(SECONDS_MAX).offset
        producer.flush()
    assert threads
    assert waiting.ident not in threads


def interrupt_within(monkeypatch: pytest.MonkeyPatch, name: str) -> list[str]:
    """Ctrl-C in the middle of one of the Sender's methods, once, when it runs in the main thread."""
    done: list[str] = []
    original = getattr(Sender, name)

    def interrupted(self: Sender, *arguments: Any) -> Any:
        if get_ident() == main_thread().ident and not done:
            done.append("begun")
            signal.raise_signal(signal.SIGINT)
            done.append("went on")
        return original(self, *arguments)

    monkeypatch.setattr(Sender, name, interrupted)
    return done


@pytest.mark.parametrize("name", ["send_alone", "take_answers"])
def test_ctrl_c_does_not_break_off_a_turn(
    cluster: ThreadedCluster, as_in_a_program: None, patient: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    topic = f"ctrl-c-{name}"
    cluster.create_topic(f"{topic}:1:1")
    with sending(cluster) as producer:
        producer.send(topic, b"0").result(SECONDS_MAX)
        done = interrupt_within(monkeypatch, name)
        interruptions = 0
        for number in range(1, RECORDS):
            try:
                producer.send(topic, b"%d" % number).result(SECONDS_MAX)
            except KeyboardInterrupt:
                interruptions += 1
        producer.flush(SECONDS_MAX)
        assert producer.metrics()["buffer-available-bytes"] == producer.metrics()["buffer-total-bytes"]
    assert done == ["begun", "went on"]
    assert interruptions == 1
    assert stored(cluster, topic) == [b"%d" % number for number in range(RECORDS)]


def test_ctrl_c_ends_the_wait_for_an_answer(cluster: ThreadedCluster, as_in_a_program: None, patient: None) -> None:
    def interrupt() -> None:
        wait_until_waiting(main_thread().ident)
        signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)

    with sending(cluster) as producer:
        with held_produce(cluster):
            future = producer.send("alone", b"slow")
            interrupting = Elsewhere(interrupt)
            with pytest.raises(KeyboardInterrupt):
                future.result(SECONDS_MAX)
            assert interrupting.answer() is None
        assert future.result(SECONDS_MAX).offset >= 0
        producer.send("alone", b"after it").result(SECONDS_MAX)
