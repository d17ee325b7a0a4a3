"""The proxy in front of a cluster: one listener per broker, and the rules of its connections and requests.

It needs nothing of the cluster but its clients' protocol, so that the cluster may be a real Kafka. TLS and the first
version of SaslHandshake, whose tokens have no frames, are not understood: clients of the proxy use PLAINTEXT, or
SASL_PLAINTEXT where the brokers have a listener for it. The proxy itself has no login.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Final, cast

from twisted.internet.defer import Deferred, gatherResults, maybeDeferred
from twisted.internet.protocol import ClientFactory, Protocol

from broker_sim.cluster_wire import ClusterWire
from broker_sim.control.journal import Detail, Journal
from broker_sim.errors import BrokerSimError
from broker_sim.faults.engine import FaultEngine
from broker_sim.wire_proxy.addresses import limit_versions, names_brokers, replace_addresses
from broker_sim.wire_proxy.exchange import Exchange
from broker_sim.wire_proxy.proxied_cluster import ProxiedCluster
from broker_sim.wire_proxy.proxy_listener import ProxyListener
from protocol_specs.api_key import ApiKey
from protocol_specs.errors import ProtocolError
from protocol_specs.framing import FrameReader, decode_response, encode_request, encode_response
from protocol_specs.messages.metadata import MetadataRequest, MetadataResponse
from protocol_specs.registry import response_type
from sim_runtime.deadlines import DeadlineExceeded, deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from twisted.python.failure import Failure

    from broker_sim.faults.action_context import FaultTarget
    from broker_sim.faults.interception import Interception, Phase
    from broker_sim.faults.rule import Rule
    from sim_runtime.interfaces import IReactor
    from sim_runtime.random_streams import RandomStreams

__all__ = ["WireProxy"]

METADATA_VERSION: Final = 4
"""Served by every release from 0.11 on."""
FIRST_METADATA_MS: Final = 10_000
EPOCHS_VERSION: Final = 7
"""Has the epochs of leaders; served from 2.1 on."""
REFRESH_MS: Final = 2_000


class WireProxy:
    """`start` it, then clients connect to `bootstrap_servers`."""

    def __init__(
        self,
        *,
        reactor: IReactor,
        streams: RandomStreams,
        upstream: tuple[str, int],
        client_ports: Mapping[int, int] | None = None,
        host: str = "127.0.0.1",
        cluster_of: Callable[[Journal], ProxiedCluster] = ProxiedCluster,
    ) -> None:
        """`client_ports` are the ports of the listeners for clients, by broker, if those at `upstream` are not."""
        self.reactor = reactor
        self.journal = Journal(lambda: round(reactor.seconds() * 1e6), detail=Detail.FULL)
        self.host = host
        self._upstream = upstream
        self._client_ports = client_ports or {}
        self.cluster = cluster_of(self.journal)
        self.faults = FaultEngine(cluster=cast("FaultTarget", self.cluster), reactor=reactor, streams=streams)
        self.cluster.wire = ClusterWire(None, self.faults.connections, ())
        self._listeners: dict[int, ProxyListener] = {}
        self._request_ids = count(1)

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` of every listener."""
        return ",".join(f"{each.host}:{each.bound_port}" for each in self._listeners.values())

    def start(self) -> Deferred[None]:
        """Request the brokers of the cluster and listen for each; fires when clients can connect.

        Fails with BrokerSimError if the upstream address does not respond.
        """
        return Deferred.fromCoroutine(self._start())

    async def _start(self) -> None:
        host, port = self._upstream
        self.cluster.learn_all(await self._metadata(self._upstream, METADATA_VERSION, FIRST_METADATA_MS))
        for node_id in self.cluster.broker_ids:
            self._listener(node_id)
        if not self._listeners:
            raise BrokerSimError(f"{host}:{port} names no brokers")

    async def serve(self, brokers: int) -> bool:
        """Learn the brokers of now; True if there are so many and each responds."""
        known = list(self.cluster.addresses.values()) or [self._upstream]
        for address in known:
            metadata = await self._metadata(address, METADATA_VERSION, REFRESH_MS)
            self.cluster.learn_all(metadata)
            if len(metadata.brokers) < brokers:
                return False
        for node_id in self.cluster.broker_ids:
            self._listener(node_id)
        return len(known) >= brokers

    async def _metadata(self, address: tuple[str, int], version: int, timeout_ms: float) -> MetadataResponse:
        """Request the metadata of all topics at an address. Raises BrokerSimError without a response in time."""
        host, port = address
        requested = _OneMetadata(version)
        connector = self.reactor.connectTCP(host, port, requested)
        try:
            return await deadline(
                self.reactor,
                requested.received,
                timeout_ms,
                awaited=f"a Metadata response of {host}:{port}",
                option="FIRST_METADATA_MS",
            )
        except DeadlineExceeded as error:
            raise BrokerSimError(str(error)) from None
        finally:
            connector.disconnect()

    async def refresh(self) -> None:
        """Learn the leaders and ISRs of now, from the first broker that responds. Raises BrokerSimError without one."""
        problem = ""
        for node_id in filter(self.cluster.is_running, self.cluster.broker_ids):
            try:
                address = self.cluster.addresses[node_id]
                self.cluster.learn_all(await self._metadata(address, EPOCHS_VERSION, REFRESH_MS))
            except BrokerSimError as error:
                problem = str(error)
            else:
                return
        raise BrokerSimError(problem or "no broker is running")

    def add(self, rule: Rule) -> None:
        """Add a rule. Raises RuleError, also for one that needs more than the wire."""
        self.faults.add(rule)

    def close(self) -> Deferred[object]:
        """Reset all connections and close the listeners; fires when they are closed."""
        self.faults.close()
        return cast("Deferred[object]", gatherResults([maybeDeferred(each.stop) for each in self._listeners.values()]))

    # Called by connections.

    def target_of(self, node_id: int) -> tuple[str, int]:
        """Return the address of a broker behind the proxy."""
        host, port = self.cluster.addresses[node_id]
        return host, self._client_ports.get(node_id, port)

    def exchange(self, frame: bytes, *, node_id: int, connection_id: str) -> Exchange:
        """Return the request in a frame. Raises ProtocolError for an unknown one."""
        return Exchange(
            self.cluster,
            frame,
            node_id=node_id,
            connection_id=connection_id,
            request_id=next(self._request_ids),
            now_us=self.journal.now_us(),
        )

    def intercept(
        self, phase: Phase, exchange: Exchange, topic: str | None = None, partition: int | None = None
    ) -> Interception | None:
        """Return the decision of the rules, None to go on."""
        if phase not in self.faults.open_phases:
            return None
        return self.faults.intercept(phase, exchange.point(topic, partition))

    def with_own_addresses(self, exchange: Exchange, frame: bytes) -> bytes:
        """Return a response frame with the addresses of the proxy; an invalid one as it is."""
        api_key, version = exchange.api_key, exchange.api_version
        if exchange.own_response is not None or not (api_key is ApiKey.API_VERSIONS or names_brokers(api_key, version)):
            return frame
        try:
            correlation_id, response = decode_response(response_type(api_key), version, frame[4:])
            if api_key is ApiKey.API_VERSIONS:
                if not limit_versions(response):
                    return frame
            elif not self._learn_and_replace(api_key, response):
                return frame
            return encode_response(response, version, correlation_id=correlation_id)
        except ProtocolError:
            return frame

    def _learn_and_replace(self, api_key: ApiKey, response: Any) -> bool:
        if api_key is ApiKey.METADATA:
            self.cluster.learn(response)
        return replace_addresses(response, self._address_of)

    def _address_of(self, node_id: int, host: str, port: int) -> tuple[str, int]:
        if node_id not in self._client_ports:
            self.cluster.addresses[node_id] = (host, port)
        listener = self._listener(node_id)
        return listener.host, listener.bound_port

    def _listener(self, node_id: int) -> ProxyListener:
        found = self._listeners.get(node_id)
        if found is None:
            found = self._listeners[node_id] = ProxyListener(self, node_id, self.host)
            found.listen()
            self.faults.connections.add_server(found)
        return found


class _OneMetadata(ClientFactory):
    """Requests the metadata of all topics once."""

    noisy = False

    def __init__(self, version: int) -> None:
        self.version = version
        self.received: Deferred[MetadataResponse] = Deferred()

    def buildProtocol(self, addr: Any) -> Protocol:  # noqa: ARG002, N802
        """Make the one connection."""
        return _MetadataExchange(self)

    def clientConnectionFailed(self, connector: Any, reason: Failure) -> None:  # noqa: N802
        """The address does not accept."""
        if self.received.called:
            return
        upstream = connector.getDestination()
        self.received.errback(
            BrokerSimError(f"upstream {upstream.host}:{upstream.port}: cannot connect: {reason.getErrorMessage()}")
        )

    def clientConnectionLost(self, connector: Any, reason: Failure) -> None:  # noqa: ARG002, N802
        """The connection was closed: too early if there is no response."""
        if not self.received.called:
            self.received.errback(BrokerSimError(f"no Metadata response: {reason.getErrorMessage()}"))


class _MetadataExchange(Protocol):
    transport: Any

    def __init__(self, requested: _OneMetadata) -> None:
        self._requested = requested
        self._reader = FrameReader(limit_bytes=1 << 30, option="the proxy's limit")

    def connectionMade(self) -> None:  # noqa: N802
        """Send the request."""
        request = MetadataRequest(topics=None)
        self.transport.write(
            encode_request(request, self._requested.version, correlation_id=0, client_id="broker-sim-proxy")
        )

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Receive the response."""
        for frame in self._reader.receive(data):
            if not self._requested.received.called:
                response = decode_response(MetadataResponse, self._requested.version, frame)[1]
                self._requested.received.callback(response)
