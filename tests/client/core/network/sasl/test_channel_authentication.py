"""A channel that authenticates, on the simulated network: before its first send, and again before a session ends."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.protocol import Protocol, ServerFactory

from broker_client.core.metrics.registry import Metrics
from broker_client.core.metrics.selector_metrics import SelectorMetrics
from broker_client.core.metrics.stats import MetricConfig
from broker_client.core.network.channel_builder import PLAINTEXT_CHANNELS
from broker_client.core.network.kafka_channel import ChannelState
from broker_client.core.network.sasl.channel_builder import SaslChannels
from broker_client.core.network.sasl.login import LOGIN_MODULES, login_of
from broker_client.core.network.sasl.unsecured_tokens import RefreshConfig
from broker_client.core.network.selector import Selector
from broker_client.errors import IllegalState, SaslAuthenticationFailed
from protocol_specs.framing import FrameReader, framed
from protocol_specs.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol_specs.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol_specs.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.client.core.network.sasl.sasl_frames import Frame, request_in, response

if TYPE_CHECKING:
    from protocol_specs.message import Message
    from sim_runtime.world import World

PORT = 9092
LIFETIME_MS = 10_000
RECORDS = b"\0\0\0\3and more"
"""A frame of the client that is no request of an authentication."""


class Broker(ServerFactory):
    """Accepts every client; `then` replaces its response to an API key by bytes."""

    noisy = False

    def __init__(self, lifetime_ms: int = LIFETIME_MS) -> None:
        self.lifetime_ms = lifetime_ms
        self.received: list[Any] = []
        self.peers: list[Peer] = []
        self.silent = False
        self.refuses = False

    def buildProtocol(self, addr: Any) -> Peer:  # noqa: ARG002, N802
        self.peers.append(Peer(self))
        return self.peers[-1]

    def response_to(self, request: Message) -> Message:
        if isinstance(request, ApiVersionsRequest):
            keys = [ApiVersion(api_key=17, min_version=0, max_version=1)]
            keys.append(ApiVersion(api_key=36, min_version=0, max_version=2))
            return ApiVersionsResponse(error_code=0, api_keys=keys)
        if isinstance(request, SaslHandshakeRequest):
            return SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"])
        assert isinstance(request, SaslAuthenticateRequest)
        if self.refuses:
            return SaslAuthenticateResponse(
                error_code=58, error_message="no such user", auth_bytes=b"", session_lifetime_ms=0
            )
        return SaslAuthenticateResponse(
            error_code=0, error_message=None, auth_bytes=b"", session_lifetime_ms=self.lifetime_ms
        )


class Peer(Protocol):
    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.reader = FrameReader(limit_bytes=1000, option="none")

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        for payload in self.reader.receive(data):
            if payload == RECORDS:
                self.broker.received.append("records")
                continue
            frame = request_in(framed(payload))
            self.broker.received.append(frame.api_key)
            if not self.broker.silent:
                self.respond(frame)

    def respond(self, frame: Frame) -> None:
        assert self.transport is not None
        self.transport.write(framed(response(frame, self.broker.response_to(frame.request))))


class Client:
    """A selector with PLAIN and its metrics."""

    def __init__(self, world: World, broker: Broker, seed: int = 1) -> None:
        world.network.host("server").listenTCP(PORT, broker)
        jaas = f"{LOGIN_MODULES['PLAIN']} required username=alice password=secret;"
        channels = SaslChannels(PLAINTEXT_CHANNELS, lambda: login_of("PLAIN", jaas, RefreshConfig()))
        self.world = world
        self.broker = broker
        self.selector = Selector(
            reactor=world.network.host("client"),
            max_idle_ms=-1,
            on_event=lambda: None,
            channel_builder=channels.for_client("me", Random(seed)),
        )
        self.metrics = Metrics(config=MetricConfig(), now_ms=lambda: 0, tags={"client-id": "c"})
        self.selector.sensors = SelectorMetrics(self.metrics, lambda: 0)
        self.selector.connect(1, "server", PORT, send_buffer_bytes=-1, receive_buffer_bytes=-1)

    def poll(self, after_ms: int = 10) -> list[bytes]:
        self.world.run_for(ms=after_ms)
        self.selector.poll(self.world.reactor.now_us // 1000)
        return [receive.payload for receive in self.selector.completed_receives]

    def send(self) -> None:
        self.selector.send(1, framed(RECORDS))

    def respond(self, payload: bytes) -> None:
        transport = self.broker.peers[0].transport
        assert transport is not None
        transport.write(framed(payload))

    def count(self, name: str) -> float:
        return self.metrics.read()[f"{name}-total"]


@pytest.fixture
def client(world: World) -> Client:
    made = Client(world, Broker())
    made.poll()
    assert made.selector.connected == [1]
    return made


def test_a_channel_is_connected_when_the_broker_has_accepted_the_client(world: World) -> None:
    broker = Broker()
    broker.silent = True
    client = Client(world, broker)
    client.poll()
    assert not client.selector.connected
    assert not client.selector.is_channel_ready(1)
    assert broker.received == [18]


def test_requests_follow_the_authentication(client: Client) -> None:
    client.send()
    client.poll()
    assert client.selector.completed_sends == [1]
    assert client.broker.received == [18, 17, 36, "records"]
    assert client.count("successful-authentication") == 1
    client.respond(b"\0\0\0\1response")
    assert client.poll() == [b"\0\0\0\1response"]


def test_a_refusal_ends_the_connection_with_the_broker_s_text(world: World) -> None:
    broker = Broker()
    broker.refuses = True
    client = Client(world, broker)
    client.poll()
    (ended,) = client.selector.disconnected
    assert ended.state is ChannelState.AUTHENTICATION_FAILED
    assert isinstance(ended.failure, SaslAuthenticationFailed)
    assert str(ended.failure) == "no such user"
    assert (client.count("failed-authentication"), client.count("failed-reauthentication")) == (1, 0)


def test_a_bare_close_is_a_disconnection(world: World) -> None:
    broker = Broker()
    broker.silent = True
    client = Client(world, broker)
    client.poll()
    client.broker.peers[0].transport.loseConnection()  # type: ignore[union-attr]
    client.poll()
    (ended,) = client.selector.disconnected
    assert (ended.state, ended.failure) == (ChannelState.AUTHENTICATE, None)


def test_without_a_lifetime_there_is_one_authentication(world: World) -> None:
    client = Client(world, Broker(lifetime_ms=0))
    client.poll()
    for _ in range(3):
        client.poll(after_ms=LIFETIME_MS)
        client.send()
    client.poll()
    assert client.broker.received == [18, 17, 36, "records", "records", "records"]


def test_a_send_near_the_end_of_the_session_waits_for_a_new_authentication(client: Client) -> None:
    client.poll(after_ms=LIFETIME_MS * 84 // 100)
    client.send()
    client.poll(after_ms=LIFETIME_MS * 11 // 100)
    client.send()
    with pytest.raises(IllegalState, match="a send in progress already"):
        client.send()
    assert client.selector.is_channel_ready(1)
    client.poll()
    assert client.broker.received == [18, 17, 36, "records", 17, 36, "records"]
    assert client.selector.completed_sends == [1]
    assert (client.count("successful-authentication"), client.count("successful-reauthentication")) == (1, 1)


def test_sessions_are_prolonged_at_85_to_95_percent_of_their_lifetime(world: World) -> None:
    client = Client(world, Broker())
    client.poll()
    at_ms = []
    for _ in range(8):
        began_ms = world.reactor.now_us // 1000
        before = client.broker.received.count(36)
        while client.broker.received.count(36) == before:
            client.send()
            client.poll(after_ms=50)
        at_ms.append(world.reactor.now_us // 1000 - began_ms)
    assert all(8_450 <= each <= 9_600 for each in at_ms)
    assert len(set(at_ms)) > 3


def test_responses_that_arrive_meanwhile_are_kept(client: Client) -> None:
    client.send()
    client.poll()
    client.world.run_for(ms=LIFETIME_MS)
    client.broker.silent = True
    client.send()
    client.poll()
    assert client.broker.received[-1] == 17
    client.respond(b"\0\0\0\1of the first send")
    assert client.poll() == [b"\0\0\0\1of the first send"]
    peer = client.broker.peers[0]
    client.broker.silent = False
    peer.respond(Frame(17, 1, 2**31 - 8, "me", SaslHandshakeRequest(mechanism="PLAIN")))
    client.poll()
    assert client.broker.received[-2:] == [36, "records"]


def test_a_refused_reauthentication_ends_the_connection_behind_its_responses(client: Client) -> None:
    client.world.run_for(ms=LIFETIME_MS)
    client.broker.silent = True
    client.send()
    client.poll()
    client.broker.silent, client.broker.refuses = False, True
    client.respond(b"\0\0\0\1early")
    client.broker.peers[0].respond(Frame(17, 1, 2**31 - 8, "me", SaslHandshakeRequest(mechanism="PLAIN")))
    assert client.poll() == [b"\0\0\0\1early"]
    (ended,) = client.selector.disconnected
    assert ended.state is ChannelState.AUTHENTICATION_FAILED
    assert "records" not in client.broker.received
    assert client.count("failed-reauthentication") == 1
