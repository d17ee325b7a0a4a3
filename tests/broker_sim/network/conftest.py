"""A SocketServer on virtual time whose handler is the test's, and clients that speak in frames."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.protocol import ClientFactory, Protocol
from twisted.logger import LogEvent, globalLogPublisher

from broker_sim.apis import api_versions
from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.handler_result import NoResponse
from broker_sim.apis.kafka_apis import KafkaApis
from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.broker_listeners import BrokerListeners
from broker_sim.control.events import Detail
from broker_sim.control.journal import Journal
from broker_sim.faults.interception import FaultPoint, Interception, Phase
from broker_sim.metrics.request_metrics import RequestMetrics
from broker_sim.network.socket_server import SocketServer
from broker_sim.quotas.quota_managers import QuotaManagers
from broker_sim.rpc.rpc_server import RpcServer
from protocol_specs import releases
from protocol_specs.messages.api_versions import ApiVersionsRequest
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from protocol_specs.api_key import ApiKey


FRAME = struct.Struct(">i")


def response_versions(request: Any, context: Any) -> Any:
    """Serve ApiVersions; any other request gets no response."""
    return api_versions.handle(request, context) if context.api_key == ApiVersionsRequest.API_KEY else NoResponse.NO_OP


class Handler(KafkaApis):
    """The broker's APIs, but each request goes to `handler`."""

    def __init__(self, broker: Any) -> None:
        super().__init__(broker)
        self.contexts: list[Any] = []
        self.handler: Callable[[Any, Any], Any] = response_versions
        only = ApiHandler(handle=self.handle, error_response=api_versions.error_response)
        self.handlers: Any = SimpleNamespace(loaded={}, handler_of=lambda _key: only)

    def handle(self, request: Any, context: Any) -> Any:
        self.contexts.append(context)
        return self.handler(request, context)


class Rules:
    """Fault rules that fire in one phase, with one interception, a number of times."""

    def __init__(self) -> None:
        self.open_phases: tuple[Phase, ...] = ()
        self.response_observers = ()
        self.points: list[FaultPoint] = []
        self._interception = Interception()
        self._left = 0
        self._watchers: list[Callable[[], None]] = []

    def fire(self, phase: Phase, interception: Interception, times: int = 1) -> Rules:
        self.open_phases, self._interception, self._left = (phase,), interception, times
        self.changed()
        return self

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        self._watchers.append(changed)
        return lambda: None

    def changed(self) -> None:
        for watcher in self._watchers:
            watcher()

    def passes(self, phase: Phase, api_key: ApiKey | None) -> bool:  # noqa: ARG002
        return False

    def intercept(self, phase: Phase, point: FaultPoint) -> Interception | None:
        if phase not in self.open_phases or not self._left:
            return None
        self._left -= 1
        self.points.append(point)
        return self._interception


class Client(Protocol):
    """One connection: what it got, split into frames."""

    def __init__(self) -> None:
        self.received = b""
        self.closed = False

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        self.received += data

    def connectionLost(self, reason: object = None) -> None:  # noqa: ARG002, N802
        self.closed = True

    @property
    def frames(self) -> list[bytes]:
        frames, rest = [], self.received
        while len(rest) >= 4:
            (size,) = FRAME.unpack_from(rest)
            frames.append(rest[4 : 4 + size])
            rest = rest[4 + size :]
        return frames

    @property
    def correlation_ids(self) -> list[int]:
        return [FRAME.unpack_from(frame)[0] for frame in self.frames]

    def exchange(self, *correlation_ids: int) -> None:
        """Send ApiVersions v0 requests in one piece."""
        self.transport.write(b"".join(map(api_versions_request, correlation_ids)))


class Bench:
    """The server under test with its world."""

    def __init__(self, *, detail: Detail = Detail.FULL, **config: str) -> None:
        self.world = World(1)
        self.logged: list[LogEvent] = []
        reactor = self.world.network.host("broker-1")
        self.broker: Any = SimpleNamespace(
            id=1,
            config=BrokerConfig.parse({key.replace("_", "."): value for key, value in config.items()}),
            release=releases.get("4.3.1"),
            journal=Journal(lambda: self.world.reactor.now_us, detail=detail),
            random=self.world.streams.stream,
            authorizer=None,
            metadata_cache=SimpleNamespace(image=SimpleNamespace(version=7, finalized_features={})),
        )
        self.rules = Rules()
        self.apis = self.broker.apis = Handler(self.broker)
        self.broker.quotas = QuotaManagers(self.broker.config, self.broker.journal.now_us)
        self.broker.request_metrics = RequestMetrics(self.broker.journal.now_us)
        self.broker.rpc = RpcServer(
            node_id=1,
            apis=self.apis,
            journal=self.broker.journal,
            faults=self.rules,
            quotas=self.broker.quotas,
        )
        self.listeners = BrokerListeners.single("broker-1", 9092)
        self.server = SocketServer(self.broker, reactor=reactor, listeners=self.listeners)
        self.server.start()

    def connect(self, host: str = "client") -> Client:
        client = Client()
        factory = ClientFactory.forProtocol(lambda: client)
        factory.noisy = False
        self.world.network.host(host).connectTCP("broker-1", 9092, factory)
        self.world.run_until(lambda: client.transport is not None)
        self.run()
        return client

    def run(self, ms: float = 5) -> None:
        self.world.run_for(ms=ms)

    def log(self, event: LogEvent) -> None:
        self.logged.append(event)

    @property
    def reasons(self) -> list[str]:
        return [event["reason"] for event in self.logged if "reason" in event]


def api_versions_request(correlation_id: int) -> bytes:
    body = struct.pack(">hhih", ApiVersionsRequest.API_KEY, 0, correlation_id, -1)
    return FRAME.pack(len(body)) + body


@pytest.fixture
def make_bench() -> Iterator[Callable[..., Bench]]:
    benches: list[Bench] = []

    def make(detail: Detail = Detail.FULL, **config: str) -> Bench:
        bench = Bench(detail=detail, **config)
        globalLogPublisher.addObserver(bench.log)
        benches.append(bench)
        return bench

    yield make
    for bench in benches:
        globalLogPublisher.removeObserver(bench.log)
        assert [event for event in bench.logged if "log_failure" in event] == []


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()


@pytest.fixture
def client(bench: Bench) -> Client:
    return bench.connect()
