"""The results of one poll of the selector, on the simulated network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.protocol import Protocol, ServerFactory

from broker_client.core.network.kafka_channel import ChannelState
from broker_client.core.network.selector import Selector
from broker_client.errors import IllegalState

if TYPE_CHECKING:
    from sim_runtime.world import World

PORT = 9092


def frame(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


class Peer(Protocol):
    def __init__(self, received: list[bytes]) -> None:
        self.received = received

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        self.received.append(data)


class Server(ServerFactory):
    noisy = False

    def __init__(self) -> None:
        self.peers: list[Peer] = []
        self.received: list[bytes] = []

    def buildProtocol(self, addr: Any) -> Peer:  # noqa: ARG002, N802
        self.peers.append(Peer(self.received))
        return self.peers[-1]


class Connected:
    """A selector on the host `client`, a server on `server`, and a count of `on_event`."""

    def __init__(self, world: World, max_idle_ms: int = -1) -> None:
        self.world = world
        self.events = 0
        self.server = Server()
        world.network.host("server").listenTCP(PORT, self.server)
        self.selector = Selector(
            reactor=world.network.host("client"), max_idle_ms=max_idle_ms, on_event=self.count, response_bytes_max=100
        )

    def count(self) -> None:
        self.events += 1

    def connect(self, node_id: int = 1, port: int = PORT) -> None:
        self.selector.connect(node_id, "server", port, send_buffer_bytes=-1, receive_buffer_bytes=-1)
        self.settle()

    def settle(self) -> None:
        self.world.run_for(ms=10)

    def poll(self) -> bool:
        return self.selector.poll(self.now_ms)

    @property
    def now_ms(self) -> int:
        return self.world.reactor.now_us // 1000


@pytest.fixture
def connected(world: World) -> Connected:
    made = Connected(world)
    made.connect()
    made.poll()
    return made


def test_a_connection_is_reported_once(world: World) -> None:
    parts = Connected(world)
    parts.connect()
    parts.poll()
    assert (parts.selector.connected, parts.selector.is_channel_ready(1), parts.events) == ([1], True, 1)
    parts.poll()
    assert parts.selector.connected == []


def test_a_second_connection_of_a_node_is_our_mistake(connected: Connected) -> None:
    with pytest.raises(IllegalState, match="already a connection for node 1"):
        connected.connect()


def test_a_refused_connection_is_a_disconnection(world: World) -> None:
    parts = Connected(world)
    parts.connect(port=1)
    parts.poll()
    (disconnection,) = parts.selector.disconnected
    assert (disconnection.node_id, disconnection.state) == (1, ChannelState.NOT_CONNECTED)
    assert "server:1" in disconnection.reason
    parts.connect()


def test_a_send_is_completed_when_it_has_left_and_a_second_one_before_is_our_mistake(connected: Connected) -> None:
    connected.selector.send(1, frame(b"a"))
    with pytest.raises(IllegalState, match="has a send in progress"):
        connected.selector.send(1, frame(b"b"))
    connected.settle()
    connected.poll()
    assert connected.selector.completed_sends == [1]
    assert b"".join(connected.server.received) == frame(b"a")


def test_a_completed_send_wakes_only_who_waits_for_it(connected: Connected) -> None:
    before = connected.events
    connected.selector.send(1, frame(b"a"))
    connected.settle()
    assert connected.events == before
    connected.poll()
    connected.selector.await_write(1)
    connected.selector.send(1, frame(b"b"))
    connected.settle()
    assert connected.events == before + 1


def test_one_poll_returns_one_receive_of_a_channel(connected: Connected) -> None:
    connected.server.peers[0].transport.write(frame(b"1") + frame(b"2") + frame(b"3")[:3])
    connected.settle()
    assert connected.poll()
    assert [one.payload for one in connected.selector.completed_receives] == [b"1"]
    assert not connected.poll()
    assert [one.payload for one in connected.selector.completed_receives] == [b"2"]
    connected.server.peers[0].transport.write(frame(b"3")[3:])
    connected.settle()
    connected.poll()
    assert [one.payload for one in connected.selector.completed_receives] == [b"3"]


def test_receives_before_the_end_are_returned_before_it(connected: Connected) -> None:
    connected.server.peers[0].transport.write(frame(b"1") + frame(b"2"))
    connected.server.peers[0].transport.loseConnection()
    connected.settle()
    assert not connected.selector.is_channel_ready(1)
    connected.poll()
    assert (len(connected.selector.completed_receives), connected.selector.disconnected) == (1, [])
    connected.poll()
    assert len(connected.selector.completed_receives) == 1
    assert [one.state for one in connected.selector.disconnected] == [ChannelState.READY]


def test_a_send_to_a_node_that_is_gone_is_reported_by_the_next_poll(connected: Connected) -> None:
    connected.selector.send(9, frame(b"x"))
    connected.poll()
    assert [(one.node_id, one.state) for one in connected.selector.disconnected] == [(9, ChannelState.FAILED_SEND)]


def test_a_closed_connection_is_not_reported(connected: Connected) -> None:
    connected.selector.close(1)
    connected.settle()
    connected.poll()
    assert connected.selector.disconnected == []
    connected.connect()
    assert connected.selector.is_channel_ready(1)


def test_an_unbelievable_frame_ends_the_connection(connected: Connected) -> None:
    connected.server.peers[0].transport.write((101).to_bytes(4, "big"))
    connected.settle()
    connected.poll()
    (disconnection,) = connected.selector.disconnected
    assert "no Kafka frame (frame of 101 bytes" in disconnection.reason


@pytest.mark.parametrize(("sent_before", "words"), [((), "it is a TLS listener"), ((b"x",), "no Kafka frame")])
def test_only_the_first_bytes_of_a_peer_show_that_it_is_a_tls_listener(
    connected: Connected, sent_before: tuple[bytes, ...], words: str
) -> None:
    for data in (*map(frame, sent_before), b"\x15\x03\x03\x00\x02\x02\x0a"):
        connected.server.peers[0].transport.write(data)
        connected.settle()
        connected.poll()
    (disconnection,) = connected.selector.disconnected
    assert words in disconnection.reason


def test_one_poll_closes_one_idle_connection_the_longest_idle_first(world: World) -> None:
    parts = Connected(world, max_idle_ms=1_000)
    parts.connect(1)
    parts.connect(2)
    parts.poll()
    assert 0 < parts.selector.next_idle_close_ms(parts.now_ms) < 1_000
    world.run_for(ms=2_000)
    parts.poll()
    assert [(one.node_id, one.state) for one in parts.selector.disconnected] == [(1, ChannelState.EXPIRED)]
    parts.poll()
    assert [one.node_id for one in parts.selector.disconnected] == [2]


def test_a_muted_channel_reads_nothing(connected: Connected) -> None:
    connected.selector.mute(1)
    connected.settle()
    connected.server.peers[0].transport.write(frame(b"1"))
    connected.settle()
    connected.poll()
    assert connected.selector.completed_receives == []
    connected.selector.unmute(1)
    connected.settle()
    connected.poll()
    assert len(connected.selector.completed_receives) == 1
