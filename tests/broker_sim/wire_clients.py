"""A cluster on a simulated network, and clients of it that send ApiVersions and note when its response arrives."""

# ruff: noqa: N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

from time import perf_counter  # noqa: TID251 - real clients on real sockets
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.protocol import ClientFactory, Protocol

from broker_sim.cluster import Cluster
from broker_sim.faults.grammar import parse_rule
from broker_sim.links.node_links import CONTROLLER_ID
from protocol_specs.framing import FrameReader, encode_request
from protocol_specs.messages.api_versions import ApiVersionsRequest
from sim_runtime.world import World

if TYPE_CHECKING:
    import socket

    from twisted.python.failure import Failure

    from protocol_specs.message import Message


ENDS_MS: Final = 100


class WireClient(ClientFactory):
    """One connection with a client id."""

    noisy = False

    def __init__(self, network: WireNetwork, client_id: str) -> None:
        self.client_id = client_id
        self.responses: list[float] = []
        self.frames: list[bytes] = []
        self.opened_ms: float | None = None
        self.ended_ms: float | None = None
        self.reason: BaseException | None = None
        self.pieces: list[int] = []
        self.received = 0
        self._network = network
        self._peer: Any = None

    def buildProtocol(self, addr: Any) -> Protocol:  # noqa: ARG002
        client = self

        class Peer(Protocol):
            reader = FrameReader(limit_bytes=1 << 20, option="test")

            def connectionMade(self) -> None:
                client.opened_ms = client._network.now_ms()

            def dataReceived(self, data: bytes) -> None:
                client.pieces.append(len(data))
                client.received += len(data)
                frames = self.reader.receive(data)
                client.frames += frames
                client.responses += [client._network.now_ms()] * len(frames)

            def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
                client.end(reason)

        Peer.reader = FrameReader(limit_bytes=1 << 20, option="test")
        self._peer = Peer()
        return self._peer

    def clientConnectionFailed(self, connector: Any, reason: Failure) -> None:  # noqa: ARG002
        self.end(reason)

    def end(self, reason: Failure) -> None:
        self.ended_ms = self._network.now_ms()
        self.reason = reason.value

    def send(self, request: Message | None = None, version: int = 0, correlation_id: int = 1) -> float:
        """Send a request, by default ApiVersions; return the time."""
        frame = encode_request(
            request or ApiVersionsRequest(), version, correlation_id=correlation_id, client_id=self.client_id
        )
        self._peer.transport.write(frame)
        return self._network.now_ms()

    def close(self) -> None:
        self._peer.transport.loseConnection()


class WireNetwork:
    """Brokers on hosts of their own, without any latency."""

    def __init__(self, *, brokers: int = 2, controllers: int = 1, seed: int = 4, **options: Any) -> None:
        self.world = World(seed)
        self.world.network.latency_ms = 0
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            brokers=brokers,
            controllers=controllers,
            host=lambda broker_id: f"broker-{broker_id}",
            broker_reactor=lambda broker_id: self.world.network.host(f"broker-{broker_id}"),
            **options,
        )
        self.cluster.start()

    def now_ms(self) -> float:
        return self.world.reactor.seconds() * 1000

    def client(self, client_id: str = "app", broker: int = 1, timeout_s: float = 30) -> WireClient:
        address = self.cluster.broker(broker)
        return self.connect(address.host, address.port, client_id, timeout_s)

    def connect(self, host: str, port: int, client_id: str = "app", timeout_s: float = 30) -> WireClient:
        client = WireClient(self, client_id)
        self.world.network.host("clients").connectTCP(host, port, client, timeout_s)
        self.run(1)
        return client

    def add(self, act: Any, **rule: Any) -> None:
        """Add a rule that opens now and closes after ENDS_MS."""
        faults = self.cluster.faults
        faults.add(parse_rule({"name": faults.free_name(), "act": act, "until": {"delay_ms": ENDS_MS}} | rule))
        self.run(1)

    def cuts(self) -> set[tuple[int, int]]:
        """The pairs of nodes whose link in this direction is cut."""
        nodes = [*self.cluster.broker_ids, CONTROLLER_ID]
        return {(a, b) for a in nodes for b in nodes if a != b and self.cluster.link(a, b).cut_off}

    def run(self, ms: float) -> None:
        self.world.run_for(ms=ms)

    def exchange(self, client: WireClient, within_ms: float = 1_000) -> float | None:
        """Send a request and return how many milliseconds its response took, None without one."""
        known = len(client.responses)
        sent_ms = client.send()
        self.run(within_ms)
        return client.responses[known] - sent_ms if len(client.responses) > known else None


def exchange(connection: socket.socket, client_id: str = "app") -> float:
    """Send a request; return the milliseconds until the whole response is there."""
    begin_s = perf_counter()
    connection.sendall(encode_request(ApiVersionsRequest(), 0, correlation_id=1, client_id=client_id))
    data = b""
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        received = connection.recv(65_536)
        if not received:
            raise EOFError(len(data))
        data += received
    return (perf_counter() - begin_s) * 1000
