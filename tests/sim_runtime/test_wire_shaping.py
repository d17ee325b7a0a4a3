"""One conformance kit for shaped connections: times are exact on simulated sockets, within a tolerance on real ones."""

# ruff: noqa: N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory

from sim_runtime.real_reactor import new_reactor, release_reactor
from sim_runtime.shaped_transport import ShapedTransport
from sim_runtime.wire_line import WINDOW_BYTES
from sim_runtime.wire_shaping import (
    Bandwidth,
    Cut,
    Impairment,
    Latency,
    Limit,
    Loss,
    NotReading,
    Reset,
    Silence,
    Slices,
    SlowClose,
    Vanished,
)
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twisted.python.failure import Failure

    from sim_runtime.wire_line import Line, Stage

DEADLINE_S = 10


class End(Protocol):
    """One end of a connection: what arrived, when, in which pieces."""

    transport: Any

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.received = b""
        self.pieces: list[int] = []
        self.arrived_ms = 0.0
        self.lost_ms: float | None = None
        self.reason: BaseException | None = None

    def dataReceived(self, data: bytes) -> None:
        self.received += data
        self.pieces.append(len(data))
        self.arrived_ms = self.wire.now_ms()

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self.lost_ms = self.wire.now_ms()
        self.reason = reason.value

    def write(self, data: bytes) -> float:
        """Send; return the time."""
        self.transport.write(data)
        return self.wire.now_ms()

    def close(self) -> float:
        self.transport.loseConnection()
        return self.wire.now_ms()


class Wire:
    """A client and a server on one kind of network; the server's end is shaped."""

    late_ms: float
    """How late an event may be."""
    merges: bool

    def __init__(self, reactor: Any, client: Any, server: Any, host: str) -> None:
        self.reactor = reactor
        self.closed: list[ShapedTransport] = []
        self.servers: list[End] = []
        factory = ServerFactory()
        factory.noisy = False
        factory.buildProtocol = lambda _: self.servers.append(End(self)) or self.servers[-1]  # type: ignore[method-assign, func-returns-value]
        self.port = server.listenTCP(0, factory, interface="127.0.0.1" if host == "127.0.0.1" else "")
        self._client_reactor = client
        self._host = host

    def now_ms(self) -> float:
        return self.reactor.seconds() * 1000

    def connect(self) -> tuple[End, End, ShapedTransport]:
        client = End(self)
        factory = ClientFactory()
        factory.noisy = False
        factory.buildProtocol = lambda _: client  # type: ignore[method-assign]
        self._client_reactor.connectTCP(self._host, self.port.getHost().port, factory)
        self.until(lambda: client.connected and self.servers and self.servers[-1].connected)
        server = self.servers[-1]
        shaped = ShapedTransport(self.reactor, server.transport, server, closed=self.closed.append)
        server.transport = shaped
        return client, server, shaped

    def until(self, condition: Callable[[], Any]) -> None:
        raise NotImplementedError

    def run_for(self, ms: float) -> None:
        end_ms = self.now_ms() + ms
        self.reactor.callLater(ms / 1000, lambda: None)
        self.until(lambda: self.now_ms() >= end_ms)

    def check(self, took_ms: float, expected_ms: float) -> None:
        assert expected_ms - 0.1 <= took_ms <= expected_ms + self.late_ms

    def check_pieces(self, end: End, size: int) -> None:
        """No piece is longer than `size`; a busy receiver of a real socket reads several at once."""
        assert self.merges or max(end.pieces) <= size


class VirtualWire(Wire):
    late_ms = 0.1
    merges = False

    def __init__(self) -> None:
        self.world = World(3)
        network = self.world.network
        network.latency_ms = 0
        super().__init__(self.world.reactor, network.host("client"), network.host("server"), "server")

    def until(self, condition: Callable[[], Any]) -> None:
        self.world.run_until(condition)

    def close(self) -> None:
        pass


class RealWire(Wire):
    late_ms = 1_000.0  # The machine may be busy; `benchmarks/toxics.py` measures how late events are.
    merges = True

    def __init__(self) -> None:
        self.real = new_reactor()
        super().__init__(self.real, self.real, self.real, "127.0.0.1")

    def until(self, condition: Callable[[], Any]) -> None:
        end_s = self.real.seconds() + DEADLINE_S
        while not condition():
            assert self.real.seconds() < end_s
            due = self.real.timeout()
            self.real.iterate(0.05 if due is None else min(0.05, due))

    def close(self) -> None:
        self.port.stopListening()
        self.real.iterate(0)
        self.real.disconnectAll()
        release_reactor(self.real)


@pytest.fixture(params=[VirtualWire, RealWire], ids=["virtual", "real"])
def wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    made = request.param()
    yield made
    made.close()


def shape(line: Line, impairment: Impairment) -> Stage:
    stage = impairment.stage(line, Random(7))
    line.add(stage)
    return stage


def test_an_unimpaired_direction_passes_bytes_and_the_end(wire: Wire) -> None:
    client, server, _ = wire.connect()
    client.write(b"request")
    wire.until(lambda: server.received)
    server.write(b"response")
    server.close()
    wire.until(lambda: client.lost_ms and wire.closed)
    assert (server.received, client.received) == (b"request", b"response")
    assert isinstance(client.reason, ConnectionDone)
    assert isinstance(server.reason, ConnectionDone)


@pytest.mark.parametrize("direction", ["upstream", "downstream"])
def test_latency_delays_each_write_and_the_end_in_one_direction(wire: Wire, direction: str) -> None:
    client, server, shaped = wire.connect()
    source, target = (client, server) if direction == "upstream" else (server, client)
    shape(getattr(shaped, direction), Latency(20, 20))
    sent_ms = source.write(b"slow")
    wire.until(lambda: target.received)
    wire.check(target.arrived_ms - sent_ms, 20)
    back_ms = target.write(b"fast")
    wire.until(lambda: source.received)
    wire.check(source.arrived_ms - back_ms, 0)
    closed_ms = source.close()
    wire.until(lambda: target.lost_ms)
    wire.check((target.lost_ms or 0) - closed_ms, 20)


def test_jitter_never_reorders_bytes(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    shape(shaped.upstream, Latency(0, 8))
    data = bytes(range(40))
    for index in range(len(data)):
        client.write(data[index : index + 1])
        wire.run_for(0.3)
    wire.until(lambda: len(server.received) == len(data))
    assert server.received == data


@pytest.mark.parametrize("direction", ["upstream", "downstream"])
def test_bandwidth_limits_the_rate(wire: Wire, direction: str) -> None:
    client, server, shaped = wire.connect()
    source, target = (client, server) if direction == "upstream" else (server, client)
    shape(getattr(shaped, direction), Bandwidth(1_000_000))
    sent_ms = source.write(bytes(100_000))
    wire.until(lambda: len(target.received) == 100_000)
    wire.check(target.arrived_ms - sent_ms, 100)


def test_a_bandwidth_of_nothing_passes_nothing_until_it_ends(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    stalled = shape(shaped.upstream, Bandwidth(0))
    client.write(b"stalled")
    wire.until(lambda: shaped.upstream.held_bytes == 7)
    assert server.received == b""
    stalled.remove()
    wire.until(lambda: server.received == b"stalled")


@pytest.mark.parametrize("direction", ["upstream", "downstream"])
def test_slices_arrive_one_by_one(wire: Wire, direction: str) -> None:
    client, server, shaped = wire.connect()
    source, target = (client, server) if direction == "upstream" else (server, client)
    shape(getattr(shaped, direction), Slices(size=10, variation=4, delay_us=2_000))
    data = Random(1).randbytes(100)
    sent_ms = source.write(data)
    wire.until(lambda: len(target.received) == len(data))
    assert target.received == data
    wire.check_pieces(target, 14)
    wire.check(target.arrived_ms - sent_ms, 2 * 7 if wire.merges else 2 * (len(target.pieces) - 1))


def test_slices_without_a_delay_are_segments_of_their_own(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    shape(shaped.upstream, Slices(size=10))
    client.write(bytes(40))
    wire.until(lambda: len(server.received) == 40)
    wire.check_pieces(server, 10)


def test_a_slow_close_delays_the_end_alone(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    shape(shaped.downstream, SlowClose(30))
    server.write(b"last")
    closed_ms = server.close()
    wire.until(lambda: client.received == b"last" and server.lost_ms)
    wire.check((server.lost_ms or 0) - closed_ms, 0)
    wire.until(lambda: client.lost_ms and wire.closed)
    wire.check((client.lost_ms or 0) - closed_ms, 30)


@pytest.mark.parametrize("direction", ["upstream", "downstream"])
def test_silence_drops_bytes_and_closes_after_its_time(wire: Wire, direction: str) -> None:
    client, server, shaped = wire.connect()
    source, target = (client, server) if direction == "upstream" else (server, client)
    begin_ms = wire.now_ms()
    shape(getattr(shaped, direction), Silence(25))
    source.write(b"lost")
    wire.until(lambda: client.lost_ms and server.lost_ms and wire.closed)
    assert target.received == b""
    wire.check((client.lost_ms or 0) - begin_ms, 25)


def test_silence_without_a_time_closes_when_it_ends(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    silence = shape(shaped.upstream, Silence(None))
    client.write(b"lost")
    wire.run_for(5)
    assert server.received == b""
    assert client.lost_ms is None
    silence.remove()
    wire.until(lambda: client.lost_ms and server.lost_ms)


@pytest.mark.parametrize("direction", ["upstream", "downstream"])
@pytest.mark.parametrize("limit", [0, 5])
def test_a_limit_closes_once_its_bytes_have_passed(wire: Wire, direction: str, limit: int) -> None:
    client, server, shaped = wire.connect()
    source, target = (client, server) if direction == "upstream" else (server, client)
    shape(getattr(shaped, direction), Limit(limit))
    source.write(b"123456789")
    wire.until(lambda: client.lost_ms and server.lost_ms)
    assert target.received == b"123456789"[:limit]
    assert isinstance(client.reason, ConnectionDone)


@pytest.mark.parametrize("direction", ["upstream", "downstream"])
@pytest.mark.parametrize(("after_bytes", "after_ms"), [(5, 0), (0, 10), (5, 10)])
def test_a_reset_comes_after_its_bytes_and_its_time(
    wire: Wire, direction: str, after_bytes: int, after_ms: float
) -> None:
    client, server, shaped = wire.connect()
    source, target = (client, server) if direction == "upstream" else (server, client)
    shape(getattr(shaped, direction), Reset(after_bytes=after_bytes, after_ms=after_ms))
    sent_ms = source.write(b"123456789")
    wire.until(lambda: client.lost_ms and server.lost_ms)
    assert target.received == b"123456789"[:after_bytes]
    assert isinstance(client.reason, ConnectionLost)
    assert isinstance(server.reason, ConnectionLost)
    wire.check((client.lost_ms or 0) - sent_ms, after_ms)


def test_an_immediate_reset_needs_no_bytes(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    shape(shaped.upstream, Reset())
    wire.until(lambda: client.lost_ms and server.lost_ms)
    assert isinstance(client.reason, ConnectionLost)


@pytest.mark.parametrize("direction", ["upstream", "downstream"])
def test_bytes_of_a_cut_arrive_when_they_are_sent_again(wire: Wire, direction: str) -> None:
    client, server, shaped = wire.connect()
    source, target = (client, server) if direction == "upstream" else (server, client)
    cut = shape(getattr(shaped, direction), Cut())
    sent_ms = source.write(b"cut ")
    wire.until(lambda: getattr(shaped, direction).held_bytes == 4)
    target.write(b"the other way")
    wire.until(lambda: source.received == b"the other way")
    cut.remove()
    source.write(b"off")
    wire.until(lambda: target.received == b"cut off")
    wire.check(target.arrived_ms - sent_ms, 200)
    assert not getattr(shaped, direction).stages


def test_a_sender_gives_up_on_a_long_cut() -> None:
    wire = VirtualWire()
    client, server, shaped = wire.connect()
    shape(shaped.upstream, Cut())
    begin_ms = client.write(b"cut off")
    wire.world.run_until(lambda: client.lost_ms and server.lost_ms, deadline_ms=2_000_000)
    wire.check((client.lost_ms or 0) - begin_ms, 924_600)


def test_a_half_open_connection_shows_nothing_to_either_end(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    stages = [shape(shaped.upstream, Vanished()), shape(shaped.downstream, Vanished())]
    client.write(b"lost")
    server.write(b"lost")
    server.close()
    wire.until(lambda: server.lost_ms)
    wire.run_for(5)
    assert client.lost_ms is None
    assert client.received == b""
    for stage in stages:
        stage.remove()
    wire.until(lambda: client.lost_ms and wire.closed)
    assert isinstance(client.reason, ConnectionLost)


def test_the_close_of_a_vanished_client_is_not_seen(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    stages = [shape(shaped.upstream, Vanished()), shape(shaped.downstream, Vanished())]
    client.close()
    wire.until(lambda: client.lost_ms)
    wire.run_for(5)
    assert server.lost_ms is None
    for stage in stages:
        stage.remove()
    wire.until(lambda: server.lost_ms and wire.closed)


@pytest.mark.parametrize("direction", ["upstream", "downstream"])
def test_bytes_wait_while_the_receiver_does_not_read(wire: Wire, direction: str) -> None:
    client, server, shaped = wire.connect()
    source, target = (client, server) if direction == "upstream" else (server, client)
    stage = shape(getattr(shaped, direction), NotReading())
    source.write(b"unread")
    target.write(b"the other way")
    wire.until(lambda: source.received == b"the other way")
    wire.run_for(3)
    assert target.received == b""
    stage.remove()
    wire.until(lambda: target.received == b"unread")


def test_loss_delays_a_share_by_retransmissions(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    shape(shaped.upstream, Loss(0.3))  # the first draw of the stream is above 0.3, the second below
    first_ms = client.write(b"first")
    wire.until(lambda: server.received == b"first")
    wire.check(server.arrived_ms - first_ms, 0)
    second_ms = client.write(b"second")
    wire.until(lambda: server.received == b"firstsecond")
    wire.check(server.arrived_ms - second_ms, 200)


def test_several_impairments_act_in_their_order(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    shape(shaped.upstream, Latency(10, 10))
    shape(shaped.upstream, Bandwidth(1_000_000))
    shape(shaped.upstream, Slices(size=5_000))
    sent_ms = client.write(bytes(20_000))
    wire.until(lambda: len(server.received) == 20_000)
    wire.check(server.arrived_ms - sent_ms, 30)
    wire.check_pieces(server, 5_000)


def test_what_is_under_way_arrives_when_an_impairment_ends(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    stage = shape(shaped.upstream, Latency(60_000, 60_000))
    client.write(b"under way")
    wire.until(lambda: shaped.upstream.held_bytes)
    stage.remove()
    wire.until(lambda: server.received == b"under way")


def test_a_full_direction_pauses_its_source(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    stage = shape(shaped.upstream, Latency(60_000, 60_000))
    size = 4 * WINDOW_BYTES
    client.write(bytes(size))
    wire.until(lambda: shaped.upstream.full)
    wire.run_for(10)
    assert shaped.upstream.held_bytes < 2 * WINDOW_BYTES
    stage.remove()
    wire.until(lambda: len(server.received) == size)


def test_a_full_downstream_pauses_the_producer(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    stage = shape(shaped.downstream, Bandwidth(0))
    calls: list[str] = []

    class Producer:
        def pauseProducing(self) -> None:
            calls.append("pause")

        def resumeProducing(self) -> None:
            calls.append("resume")

        def stopProducing(self) -> None:
            calls.append("stop")

    shaped.registerProducer(Producer(), True)  # type: ignore[arg-type]
    server.write(bytes(WINDOW_BYTES + 1))
    assert calls == ["pause"]
    stage.remove()
    wire.until(lambda: len(client.received) > WINDOW_BYTES)
    assert calls == ["pause", "resume"]
    client.close()
    wire.until(lambda: server.lost_ms)
    assert calls[-1] == "stop"


def test_a_paused_protocol_receives_nothing(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    shape(shaped.upstream, Latency(5, 5))
    client.write(b"under way")
    wire.until(lambda: shaped.upstream.held_bytes)
    shaped.pauseProducing()
    client.close()
    wire.run_for(10)
    assert server.received == b""
    shaped.resumeProducing()
    wire.until(lambda: server.lost_ms)
    assert server.received == b"under way"


def test_a_reset_gets_lost_in_a_cut(wire: Wire) -> None:
    client, server, shaped = wire.connect()
    cut = shape(shaped.downstream, Cut())
    server.write(b"lost")
    server.transport.abortConnection()
    wire.until(lambda: server.lost_ms)
    wire.run_for(5)
    assert client.lost_ms is None
    cut.remove()
    wire.until(lambda: client.lost_ms and wire.closed)
    assert client.received == b""
    assert isinstance(client.reason, ConnectionLost)
