from __future__ import annotations

import sys
from contextlib import contextmanager
from queue import SimpleQueue
from socket import SHUT_RDWR
from threading import Event, Thread, get_ident
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory

from sim_runtime.reactor_thread import ReactorThread, ReactorThreadError
from sim_runtime.real_reactor import lending_side, new_reactor, release_reactor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sim_runtime.lending_reactor import LendingEPollReactor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only an epoll reactor lends")

SECONDS_MAX = 10


class Noting(Protocol):
    """Notes what comes, and in which thread."""

    def __init__(self, notes: SimpleQueue[Any]) -> None:
        self.notes = notes

    def connectionMade(self) -> None:  # noqa: N802
        self.notes.put(self)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        self.notes.put((data, get_ident()))

    def connectionLost(self, reason: object = None) -> None:  # noqa: ARG002, N802
        self.notes.put(("lost", get_ident()))


@pytest.fixture
def thread() -> Iterator[ReactorThread]:
    with ReactorThread("lends", lends=True) as running:
        yield running


@pytest.fixture
def lending(thread: ReactorThread) -> LendingEPollReactor:
    side = lending_side(thread.reactor)
    assert side is not None
    return side


@contextmanager
def borrowed(reactor: LendingEPollReactor) -> Iterator[None]:
    assert reactor.borrow(waits=True)
    try:
        yield
    finally:
        reactor.give_back()


def connected(thread: ReactorThread) -> tuple[Noting, Noting, SimpleQueue[Any]]:
    """A pair of connected protocols on the reactor, the one that listens first, and what the other notes."""
    theirs: SimpleQueue[Any] = SimpleQueue()
    ours: SimpleQueue[Any] = SimpleQueue()

    def connect() -> None:
        server, client = ServerFactory(), ClientFactory()
        server.noisy = client.noisy = False
        server.buildProtocol = lambda _: Noting(theirs)  # type: ignore[method-assign]
        client.buildProtocol = lambda _: Noting(ours)  # type: ignore[method-assign]
        port = thread.reactor.listenTCP(0, server, interface="127.0.0.1")
        thread.reactor.connectTCP("127.0.0.1", port.getHost().port, client)

    thread.call(connect)
    return theirs.get(timeout=SECONDS_MAX), ours.get(timeout=SECONDS_MAX), ours


def test_it_lends_while_it_waits_alone(thread: ReactorThread, lending: LendingEPollReactor) -> None:
    entered, leave = Event(), Event()

    def busy() -> None:
        entered.set()
        leave.wait(SECONDS_MAX)

    thread.reactor.callFromThread(busy)
    assert entered.wait(SECONDS_MAX)
    assert not lending.borrow()
    leave.set()
    with borrowed(lending):
        assert lending.is_borrowed_here()
        assert not lending.borrow(), "it is lent to one at a time"
    assert not lending.is_borrowed_here()


def test_the_loop_does_nothing_while_it_is_borrowed(thread: ReactorThread, lending: LendingEPollReactor) -> None:
    order: list[str] = []
    called = Event()

    def call() -> None:
        order.append("the loop")
        called.set()

    with borrowed(lending):
        thread.reactor.callFromThread(call)
        order.append("the borrower")
    assert called.wait(SECONDS_MAX)
    assert order == ["the borrower", "the loop"]


def test_calls_that_a_borrower_makes_are_made_in_time(thread: ReactorThread, lending: LendingEPollReactor) -> None:
    called = Event()
    with borrowed(lending):
        thread.reactor.callLater(0, called.set)
    assert called.wait(SECONDS_MAX), "the loop slept without an end"


def test_a_call_that_a_borrower_makes_sooner_is_made_in_time(
    thread: ReactorThread, lending: LendingEPollReactor
) -> None:
    called = Event()
    call = thread.call(lambda: thread.reactor.callLater(3_600, called.set))
    with borrowed(lending):
        call.reset(0)
    assert called.wait(SECONDS_MAX)


def test_what_is_set_aside_is_received_by_the_borrower(thread: ReactorThread, lending: LendingEPollReactor) -> None:
    speaker, hearer, notes = connected(thread)
    with borrowed(lending):
        lending.set_aside(hearer.transport)
    thread.call(lambda: speaker.transport.write(b"for the borrower"))
    thread.call(lambda: None)  # the loop has looked again, and has not read it
    assert notes.empty()
    with borrowed(lending):
        lending.receive(hearer.transport)
        assert notes.get_nowait() == (b"for the borrower", get_ident())
        lending.put_back(hearer.transport)
    thread.call(lambda: speaker.transport.write(b"for the loop"))
    data, ident = notes.get(timeout=SECONDS_MAX)
    assert data == b"for the loop"
    assert ident != get_ident()


def test_what_is_set_aside_is_written_to_all_the_same(thread: ReactorThread, lending: LendingEPollReactor) -> None:
    hearer, speaker, _ = connected(thread)
    heard: SimpleQueue[Any] = hearer.notes
    with borrowed(lending):
        lending.set_aside(speaker.transport)
    sent = b"more than a socket takes at once" * 500_000
    thread.call(lambda: speaker.transport.write(sent))
    left = len(sent)
    while left:
        data, _ = heard.get(timeout=SECONDS_MAX)
        left -= len(data)
    with borrowed(lending):
        lending.put_back(speaker.transport)


def test_what_came_while_it_was_aside_is_read_when_it_is_put_back(
    thread: ReactorThread, lending: LendingEPollReactor
) -> None:
    speaker, hearer, notes = connected(thread)
    with borrowed(lending):
        lending.set_aside(hearer.transport)
    thread.call(lambda: speaker.transport.write(b"meanwhile"))
    with borrowed(lending):
        lending.put_back(hearer.transport)
    data, ident = notes.get(timeout=SECONDS_MAX)
    assert (data, ident != get_ident()) == (b"meanwhile", True)


def test_a_connection_that_was_lost_while_it_was_aside_is_not_put_back(
    thread: ReactorThread, lending: LendingEPollReactor
) -> None:
    _, hearer, notes = connected(thread)
    transport = hearer.transport
    with borrowed(lending):
        lending.set_aside(transport)
        assert lending.has(transport)
    thread.call(transport.abortConnection)
    assert notes.get(timeout=SECONDS_MAX)[0] == "lost"
    with borrowed(lending):
        assert not lending.has(transport)
        lending.put_back(transport)


def test_the_end_of_a_connection_is_told_by_who_reads_it(thread: ReactorThread, lending: LendingEPollReactor) -> None:
    speaker, hearer, notes = connected(thread)
    with borrowed(lending):
        lending.set_aside(hearer.transport)
        speaker.transport.getHandle().shutdown(SHUT_RDWR)
        lending.receive(hearer.transport)
        assert notes.get_nowait() == ("lost", get_ident())


def test_a_borrower_counts_as_the_reactors_thread(thread: ReactorThread, lending: LendingEPollReactor) -> None:
    assert not thread.is_here
    with borrowed(lending):
        assert thread.is_here
        with pytest.raises(ReactorThreadError, match="would wait for itself"):
            thread.call(lambda: None)
    assert thread.call(lambda: thread.is_here)


def test_who_waits_to_borrow_hears_that_it_is_over() -> None:
    thread = ReactorThread("ends", lends=True)
    lending = lending_side(thread.reactor)
    assert lending is not None
    entered, leave = Event(), Event()
    told: SimpleQueue[str] = SimpleQueue()

    def last() -> None:
        entered.set()
        leave.wait(SECONDS_MAX)
        thread.reactor.stop()

    def ask() -> None:
        while lending.borrow(waits=True):  # the loop looks for events once more before it ends
            lending.give_back()
        told.put("over")

    thread.reactor.callFromThread(last)
    assert entered.wait(SECONDS_MAX)
    waiting = Thread(target=ask)
    waiting.start()
    leave.set()
    assert told.get(timeout=SECONDS_MAX) == "over"
    waiting.join(SECONDS_MAX)
    thread.stop()
    assert not lending.borrow()
    assert not lending.borrow(waits=True)


def test_only_a_reactor_that_lends_has_something_to_lend() -> None:
    reactor = new_reactor()
    assert lending_side(reactor) is None
    release_reactor(reactor)
