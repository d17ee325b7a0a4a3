from __future__ import annotations

from select import epoll
from sys import getswitchinterval, setswitchinterval
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from twisted.internet.epollreactor import EPollReactor
from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory
from twisted.logger import capturedLogs
from twisted.python import log

from sim_runtime.epoll_reactor import CANCELLATIONS_MAX, SHORT_WAITS_MIN, EventWaker, RealEPollReactor
from sim_runtime.real_reactor import new_reactor, release_reactor
from sim_runtime.spinning_wait import HISTORY_WAITS

if TYPE_CHECKING:
    from twisted.python.failure import Failure

SECONDS_MAX = 10


class Echo(Protocol):
    """Returns received data, and raises an error for "raise"."""

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if data == b"raise":
            raise RuntimeError("as requested")
        self.transport.write(data)


class Sender(Protocol):
    """Sends one message, and records received data and its end."""

    def __init__(self, message: bytes, notes: list[Any]) -> None:
        self.message = message
        self.notes = notes

    def connectionMade(self) -> None:  # noqa: N802
        self.transport.write(self.message)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        self.notes.append(data)
        self.transport.loseConnection()

    def connectionLost(self, reason: Failure) -> None:  # noqa: N802, ARG002
        self.notes.append(self.message + b" ended")


def test_an_error_of_a_connection_is_logged_and_ends_it_alone() -> None:
    reactor = new_reactor()
    notes: list[Any] = []
    logged: list[Any] = []
    server = ServerFactory.forProtocol(Echo)
    port = reactor.listenTCP(0, server, interface="127.0.0.1")

    def send(message: bytes) -> None:
        factory = ClientFactory()
        factory.noisy = False
        factory.buildProtocol = lambda _: Sender(message, notes)  # type: ignore[method-assign]
        reactor.connectTCP("127.0.0.1", port.getHost().port, factory)

    def stop_when_all_ended() -> None:
        if sum(isinstance(note, bytes) and note.endswith(b"ended") for note in notes) == 3:
            reactor.stop()
        else:
            reactor.callLater(0.001, stop_when_all_ended)

    for message in (b"one", b"raise", b"two"):
        reactor.callLater(0, send, message)
    reactor.callLater(0, stop_when_all_ended)
    limit = reactor.callLater(SECONDS_MAX, reactor.stop)
    log.addObserver(logged.append)
    try:
        reactor.run(installSignalHandlers=False)
    finally:
        log.removeObserver(logged.append)
        in_time = limit.active()
        if in_time:
            limit.cancel()
        release_reactor(reactor)
    assert in_time
    assert sorted(notes) == [b"one", b"one ended", b"raise ended", b"two", b"two ended"]
    assert [str(event["failure"].value) for event in logged if event["isError"]] == ["as requested"]


@pytest.mark.parametrize("spins", [False, True])
def test_a_reactor_that_spins_polls_before_it_blocks(monkeypatch: pytest.MonkeyPatch, spins: bool) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    timeouts: list[float] = []
    blocking = SHORT_WAITS_MIN + HISTORY_WAITS

    class Poller:
        """An epoll object that always has an event of an unused descriptor."""

        def __init__(self, poller: epoll) -> None:
            self.register, self.modify, self.unregister, self.close = (
                poller.register,
                poller.modify,
                poller.unregister,
                poller.close,
            )

        def poll(self, timeout: float, events_max: int) -> list[tuple[int, int]]:  # noqa: ARG002
            timeouts.append(timeout)
            return [(-7, 1)]

    monkeypatch.setattr("twisted.internet.epollreactor.epoll", lambda _: Poller(epoll()))
    reactor: Any = new_reactor(spins=spins)
    try:
        for _ in range(blocking + 1):
            reactor.doIteration(5.0)
    finally:
        release_reactor(reactor)
    assert timeouts == [5.0] * blocking + [0 if spins else 5.0]


@pytest.mark.parametrize("loop", [RealEPollReactor.mainLoop, EPollReactor.mainLoop])
def test_its_loop_runs_the_calls_that_twisteds_loop_runs(monkeypatch: pytest.MonkeyPatch, loop: Any) -> None:
    monkeypatch.setattr(RealEPollReactor, "mainLoop", loop)
    reactor: Any = new_reactor()
    notes: list[object] = []
    from_thread: list[object] = []

    def fail() -> None:
        raise RuntimeError("as requested")

    class FailingOnce:
        """An epoll object that cannot be polled once."""

        def __init__(self, poller: epoll) -> None:
            self.poller = poller

        def poll(self, *_: object) -> NoReturn:
            reactor._poller = self.poller
            raise OSError("no poll")

    def begin() -> None:
        notes.append("begin")
        reactor.callLater(0, notes.append, "at once")
        reactor.callLater(0, fail)
        reactor.callLater(SECONDS_MAX, notes.append, "moved").reset(0.002)
        reactor.callLater(0.001, notes.append, "later").delay(0.005)
        reactor.callFromThread(reactor.callFromThread, from_thread.append, "thread")
        reactor.callLater(0.01, fail_to_poll)

    def fail_to_poll() -> None:
        reactor._poller = FailingOnce(reactor._poller)
        reactor.callLater(0.001, end)

    def end() -> None:
        notes.append("end")
        limit.cancel()
        reactor.stop()
        reactor.callLater(0, notes.append, "after the end")

    limit = reactor.callLater(SECONDS_MAX, reactor.stop)
    reactor.callWhenRunning(begin)
    reactor.addSystemEventTrigger("during", "shutdown", notes.append, "shutdown")
    with capturedLogs() as events:
        try:
            reactor.run(installSignalHandlers=False)
        finally:
            release_reactor(reactor)
    failures = [str(event["log_failure"].value) for event in events if "log_failure" in event]
    assert notes == ["begin", "at once", "moved", "later", "end", "shutdown"]
    assert (from_thread, failures) == (["thread"], ["as requested", "no poll"])


def test_its_loop_forgets_cancelled_calls_as_twisteds_loop_does() -> None:
    reactor: Any = new_reactor()
    reactor.running = True
    calls = [reactor.callLater(SECONDS_MAX, print) for _ in range(CANCELLATIONS_MAX + 1)]
    last = reactor.callLater(SECONDS_MAX, print)
    assert reactor._wait_seconds() > 0
    for call in calls:
        call.cancel()
    assert reactor._wait_seconds() > 0
    assert reactor._pendingTimedCalls == [last]
    reactor.running = False
    release_reactor(reactor)


def test_calls_from_other_threads_end_its_wait_one_after_the_other() -> None:
    reactor: Any = new_reactor()
    caught: list[int] = []
    limit = reactor.callLater(SECONDS_MAX, reactor.stop)

    def call(number: int) -> None:
        caught.append(number)
        if number == 3:
            limit.cancel()
            reactor.stop()
        else:
            # By then the loop waits again, or is about to.
            Thread(target=reactor.callFromThread, args=(call, number + 1)).start()

    reactor.callWhenRunning(call, 0)
    try:
        reactor.run(installSignalHandlers=False)
    finally:
        release_reactor(reactor)
    assert caught == [0, 1, 2, 3]


def test_a_released_reactor_ignores_calls_from_other_threads() -> None:
    reactor: Any = new_reactor()
    release_reactor(reactor)
    reactor.callFromThread(lambda: None)
    release_reactor(reactor)


def test_a_closed_waker_does_nothing() -> None:
    waker = EventWaker()
    waker.connectionLost(None)
    waker.wakeUp()
    waker.connectionLost(None)
    assert waker.fileno() == -1


def test_a_waker_may_be_closed_while_it_is_used() -> None:
    ended = Event()
    wakers = [EventWaker()]
    raised: list[BaseException] = []

    def wake() -> None:
        try:
            while not ended.is_set():
                wakers[-1].wakeUp()
        except OSError as error:
            raised.append(error)

    waking = Thread(target=wake)
    waking.start()
    interval = getswitchinterval()
    setswitchinterval(1e-6)
    try:
        for _ in range(5_000):
            wakers.append(EventWaker())
            wakers[-2].connectionLost(None)
    finally:
        setswitchinterval(interval)
        ended.set()
        waking.join(SECONDS_MAX)
        wakers[-1].connectionLost(None)
    assert raised == []
