from __future__ import annotations

import gc
import os
import sys
import threading
import warnings
from pathlib import Path

import pytest
from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory

from sim_runtime.deadlines import DeadlineExceeded, sleep
from sim_runtime.reactor_thread import ReactorThread, ReactorThreadError


@pytest.fixture
def thread():
    with ReactorThread("broker") as running:
        yield running


def test_a_call_runs_in_the_reactors_thread_and_returns(thread):
    assert thread.call(lambda: threading.current_thread().name) == "broker"
    assert thread.call(divmod, 7, 2) == (3, 1)


def test_a_call_waits_for_deferreds_and_coroutines(thread):
    async def body(ms: float) -> str:
        await sleep(thread.reactor, ms)
        return "slept"

    assert thread.call(body, 5) == "slept"
    assert thread.call(succeed, "there") == "there"


def test_errors_come_back_as_they_were_raised(thread):
    async def broken() -> None:
        raise LookupError("in a coroutine")

    with pytest.raises(ZeroDivisionError):
        thread.call(divmod, 1, 0)
    with pytest.raises(KeyError, match="in a Deferred"):
        thread.call(fail, KeyError("in a Deferred"))
    with pytest.raises(LookupError, match="in a coroutine"):
        thread.call(broken)
    with pytest.raises(TimeoutError, match="of the function"):
        thread.call(fail, TimeoutError("of the function"))


def test_a_late_call_is_named_and_cancelled(thread):
    cancelled = threading.Event()

    def never() -> Deferred[None]:
        return Deferred(lambda _: cancelled.set()).addErrback(lambda failure: failure.trap(CancelledError) and None)

    with pytest.raises(DeadlineExceeded) as caught:
        thread.call(never, timeout_s=0.02)
    assert "never on reactor thread 'broker'; call(timeout_s=...) allows longer" in str(caught.value)
    assert cancelled.wait(5)


def test_several_reactors_run_at_once_and_exchange_data():
    class Counting(Protocol):
        def dataReceived(self, data: bytes) -> None:  # noqa: N802
            self.transport.write(data)
            self.transport.loseConnection()

    class Client(Protocol):
        def __init__(self) -> None:
            self.reply: Deferred[bytes] = Deferred()

        def connectionMade(self) -> None:  # noqa: N802
            self.transport.write(b"ping")

        def dataReceived(self, data: bytes) -> None:  # noqa: N802
            self.reply.callback(data)

    threads = [ReactorThread(f"reactor-{number}") for number in range(4)]
    try:
        ports = [
            thread.call(thread.reactor.listenTCP, 0, ServerFactory.forProtocol(Counting)).getHost().port
            for thread in threads
        ]
        for thread, port in zip(threads, reversed(ports), strict=True):
            client = Client()
            factory = ClientFactory()
            factory.noisy = False
            factory.buildProtocol = lambda _, client=client: client
            thread.call(thread.reactor.connectTCP, "127.0.0.1", port, factory)
            assert thread.call(lambda client=client: client.reply, timeout_s=5) == b"ping"
        assert len(dict.fromkeys(id(thread.reactor) for thread in threads)) == 4
    finally:
        for thread in threads:
            thread.stop()
    assert not any(running.name.startswith("reactor-") for running in threading.enumerate())


def test_what_cannot_be_made_stops_the_thread(thread):
    assert thread.make(lambda: 1) == 1
    with pytest.raises(ZeroDivisionError):
        thread.make(lambda: 1 / 0)
    assert not thread.running


def test_stop_ends_the_thread_and_later_calls_are_refused(thread):
    assert thread.running
    thread.stop()
    thread.stop()
    assert not thread.running
    assert repr(thread) == "<ReactorThread 'broker' stopped>"
    with pytest.raises(ReactorThreadError, match="'broker' is stopped"):
        thread.call(print)


def test_stop_fails_the_calls_that_still_wait(thread):
    errors: list[BaseException] = []
    began = threading.Event()

    def wait_for_ever() -> Deferred[None]:
        began.set()
        return Deferred()

    def caller() -> None:
        try:
            thread.call(wait_for_ever)
        except ReactorThreadError as error:
            errors.append(error)

    waiting = threading.Thread(target=caller)
    waiting.start()
    began.wait(5)
    thread.stop()
    waiting.join(5)
    assert [str(error) for error in errors] == ["reactor thread 'broker' was stopped during this call"]


def test_waiting_for_oneself_is_refused(thread):
    with pytest.raises(ReactorThreadError, match=r"call\(\) of reactor thread 'broker' would wait for itself"):
        thread.call(thread.call, print)
    with pytest.raises(ReactorThreadError, match=r"stop\(\)"):
        thread.call(thread.stop)


def test_a_forked_child_must_start_its_own(thread):
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of what this test is about
        child = os.fork()
    if child == 0:
        try:
            thread.call(print)
        except ReactorThreadError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        message = pipe.read().decode()
    os.waitpid(child, 0)
    assert f"did not survive the fork into process {child}: start a new one there" in message


def test_stopped_reactors_leave_no_descriptors_behind():
    descriptors = Path("/proc/self/fd" if sys.platform == "linux" else "/dev/fd")
    ReactorThread("warm-up").stop()
    before = len(list(descriptors.iterdir()))
    for number in range(20):
        ReactorThread(f"short-{number}").stop()
    gc.collect()
    assert len(list(descriptors.iterdir())) <= before
