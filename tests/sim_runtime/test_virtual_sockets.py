"""Sockets and selectors of virtual threads, between two hosts of a world."""

# ruff: noqa: N802, TID251
# The code of these tests is foreign code.

from __future__ import annotations

import errno
import selectors
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, cast

import pytest
from twisted.internet.protocol import Protocol, ServerFactory

from sim_runtime.virtual_event_loop import NotOnVirtualTime
from sim_runtime.virtual_sockets import BUFFER_BYTES, POLL_MAX_S, POLL_S, POLL_SHARE, selectors_module, socket_module
from sim_runtime.virtual_threads import VirtualThreads
from sim_runtime.world import World
from tests.sim_runtime.virtual_programs import run_program

if TYPE_CHECKING:
    from collections.abc import Callable

PORT = 9092


class Echo(Protocol):
    def dataReceived(self, data: bytes) -> None:
        if data == b"close":
            self.transport.loseConnection()
        elif data == b"reset":
            self.transport.abortConnection()
        else:
            self.transport.write(data)


class Silent(Protocol):
    """It does not read."""

    def connectionMade(self) -> None:
        self.transport.pauseProducing()


def run(program: Callable[[Any, Any], Any], protocol: type[Protocol] = Echo) -> Any:
    """Run a program with its modules `socket` and `selectors` beside a server on `server`:PORT."""
    world, threads = World(1), VirtualThreads()
    factory = ServerFactory.forProtocol(protocol)
    world.network.host("server").listenTCP(PORT, factory)
    modules = socket_module(threads, world.network), selectors_module(threads)
    return run_program(world, lambda: program(*modules), threads=threads)


def connected(sockets: Any) -> Any:
    return sockets.create_connection(("server", PORT), timeout=5)


def test_bytes_go_there_and_back() -> None:
    def program(sockets: Any, _: Any) -> tuple[bytes, Any, Any]:
        with connected(sockets) as connection:
            connection.sendall(b"one")
            return connection.recv(10), connection.getpeername()[1], connection.getsockname()[0]

    data, port, host = run(program)
    assert (data, port) == (b"one", PORT)
    assert host != "0.0.0.0"


def test_a_connection_without_blocking_is_ready_when_it_is_writable() -> None:
    def program(sockets: Any, selector_kinds: Any) -> list[int]:
        made = sockets.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setblocking(False)
        steps = [made.connect_ex(("server", PORT)), made.connect_ex(("server", PORT))]
        with selector_kinds.DefaultSelector() as selector:
            selector.register(made, selectors.EVENT_WRITE)
            ((key, events),) = selector.select(5)
        assert (key.fileobj, events) == (made, selectors.EVENT_WRITE)
        return [*steps, made.connect_ex(("server", PORT))]

    assert run(program) == [errno.EINPROGRESS, errno.EALREADY, errno.EISCONN]


def test_a_port_on_which_nothing_listens_refuses() -> None:
    def program(sockets: Any, _: Any) -> None:
        sockets.create_connection(("server", PORT + 1), timeout=5)

    with pytest.raises(ConnectionRefusedError):
        run(program)


def test_an_unknown_host_has_no_address() -> None:
    with pytest.raises(socket.gaierror, match="nowhere"):
        run(lambda sockets, _: sockets.getaddrinfo("nowhere", PORT))


def test_the_end_of_the_peer_is_an_empty_read_and_a_reset_is_an_error() -> None:
    def program(sockets: Any, _: Any) -> bytes:
        with connected(sockets) as connection:
            connection.sendall(b"close")
            end = connection.recv(10)
        with connected(sockets) as connection:
            connection.sendall(b"reset")
            with pytest.raises(ConnectionResetError):
                connection.recv(10)
        return end

    assert run(program) == b""


def test_reading_nothing_waits_for_the_timeout() -> None:
    def program(sockets: Any, _: Any) -> float:
        with connected(sockets) as connection:
            connection.settimeout(3)
            began = time.monotonic()
            with pytest.raises(TimeoutError):
                connection.recv(1)
            took_s = time.monotonic() - began
            connection.setblocking(False)
            with pytest.raises(BlockingIOError):
                connection.recv(1)
            return took_s

    assert run(program) == pytest.approx(3, abs=0.01)


def test_a_peer_that_does_not_read_fills_the_buffer() -> None:
    def program(sockets: Any, _: Any) -> int:
        connection, sent = connected(sockets), 0
        connection.setblocking(False)
        while True:
            try:
                sent += connection.send(bytes(100_000))
            except BlockingIOError:
                break
        return sent

    assert run(program, Silent) >= BUFFER_BYTES


def test_a_closed_socket_is_not_used() -> None:
    def program(sockets: Any, _: Any) -> None:
        connection = connected(sockets)
        connection.close()
        assert connection.fileno() == -1
        with pytest.raises(OSError, match="Bad file descriptor"):
            connection.recv(1)

    run(program)


def test_a_socket_that_is_not_connected_sends_nothing() -> None:
    def program(sockets: Any, _: Any) -> None:
        made = sockets.socket()
        made.setblocking(False)
        for use in (lambda: made.send(b"x"), lambda: made.shutdown(socket.SHUT_RDWR), made.getpeername):
            with pytest.raises(OSError, match="not connected"):
                use()

    run(program)


def test_one_direction_can_be_closed() -> None:
    def program(sockets: Any, _: Any) -> bytes:
        connection = connected(sockets)
        connection.sendall(b"last")
        connection.shutdown(socket.SHUT_WR)
        with pytest.raises(BrokenPipeError):
            connection.send(b"more")
        return connection.recv(10)

    assert run(program) == b"last"


def test_a_pair_wakes_a_selector() -> None:
    def program(sockets: Any, selector_kinds: Any) -> tuple[int, bytes, bytes]:
        here, there = sockets.socketpair()
        here.setblocking(False)
        selector = selector_kinds.DefaultSelector()
        selector.register(here, selectors.EVENT_READ)
        idle = len(selector.select(0))
        there.send(b"wake")
        ((key, _),) = selector.select(None)
        data = key.fileobj.recv(10)
        there.close()
        return idle, data, here.recv(10)

    assert run(program) == (0, b"wake", b"")


def test_a_timeout_of_a_selector_is_rounded_up_to_milliseconds_and_a_poll_takes_time() -> None:
    def program(sockets: Any, selector_kinds: Any) -> tuple[float, float]:
        selector = selector_kinds.DefaultSelector()
        selector.register(sockets.socketpair()[0], selectors.EVENT_READ)
        began = time.monotonic()
        selector.select(0.0001)
        waited = time.monotonic()
        selector.select(0)
        return waited - began, time.monotonic() - waited

    waited_s, looked_s = run(program)
    assert waited_s == pytest.approx(0.001, abs=1e-5)
    assert looked_s > 0


def polls_of_a_busy_loop(ends_at_s: float, wakes_at_s: float) -> tuple[int, float, float]:
    """How often a loop has polled until its own deadline or an event, and how late it has noticed each."""

    def program(sockets: Any, selector_kinds: Any) -> tuple[int, float, float]:
        here, there = sockets.socketpair()
        selector = selector_kinds.DefaultSelector()
        selector.register(here, selectors.EVENT_READ)
        began = time.monotonic()

        def wake() -> None:
            time.sleep(wakes_at_s)
            there.send(b"wake")

        threading.Thread(target=wake).start()
        polls = 0
        while time.monotonic() < began + ends_at_s:
            polls += 1
            if selector.select(0):
                break
        late = time.monotonic() - began
        return polls, late - ends_at_s, late - wakes_at_s

    return cast("tuple[int, float, float]", run(program))


def test_polls_of_a_busy_loop_are_few_and_late_by_a_hundredth() -> None:
    polls, late_s, _ = polls_of_a_busy_loop(0.5, 1.0)
    assert polls < 600
    assert 0 <= late_s <= 0.5 * POLL_SHARE
    polls, late_s, _ = polls_of_a_busy_loop(20.0, 30.0)
    assert polls < 3_000
    assert 0 <= late_s <= POLL_MAX_S


def test_a_busy_loop_finds_an_event_at_once() -> None:
    _, _, late_s = polls_of_a_busy_loop(30.0, 20.005)
    assert 0 <= late_s < 20e-6


def test_a_loop_that_also_waits_polls_as_often_as_before() -> None:
    def program(sockets: Any, selector_kinds: Any) -> float:
        selector = selector_kinds.DefaultSelector()
        selector.register(sockets.socketpair()[0], selectors.EVENT_READ)
        for _ in range(1_000):
            selector.select(0)
        selector.select(2 * POLL_MAX_S)
        began = time.monotonic()
        selector.select(0)
        return time.monotonic() - began

    assert run(program) == pytest.approx(POLL_S, abs=1e-5)


def test_options_are_remembered() -> None:
    def program(sockets: Any, _: Any) -> tuple[int, int]:
        made = sockets.socket()
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), made.getsockopt(socket.SOL_SOCKET, 99)

    assert run(program) == (1, 0)


def test_what_has_no_place_in_a_world_is_refused() -> None:
    def program(sockets: Any, _: Any) -> None:
        with pytest.raises(NotOnVirtualTime, match="cannot be simulated"):
            sockets.socket(socket.AF_UNIX)
        with pytest.raises(NotOnVirtualTime, match="a server"):
            sockets.create_server(("", 1))

    run(program)
