"""The sockets of a cluster's controllers, listener CONTROLLER (KIP-919). Mirrors the SocketServer of ControllerServer.

The SocketServer is imported and made with the first connection: a cluster without clients of its controllers has only
listening sockets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.protocol import Protocol, ServerFactory

from broker_sim.config.broker_listeners import CONTROLLER_LISTENER, KERNEL_BACKLOG
from broker_sim.errors import BrokerSimError
from broker_sim.metadata.metadata_image import ControllerRegistration, Endpoint, FeatureRange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.interfaces import IAddress, IListeningPort

    from broker_sim.cluster import Cluster
    from broker_sim.controller_server import ControllerServer
    from sim_runtime.interfaces import IReactor

__all__ = ["ControllerListener", "ControllerListeners"]

UUID_BYTES: Final = 16
PLAINTEXT: Final = 0


class ControllerListener(ServerFactory):
    """The socket of one controller, which keeps a port that the system chose for all its incarnations."""

    noisy = False

    def __init__(
        self,
        node_id: int,
        *,
        reactor: IReactor,
        host: str,
        port: int,
        controller: Callable[[int], ControllerServer],
    ) -> None:
        self.node_id = node_id
        self.reactor = reactor
        self.host = host
        self.port = port
        self.listening: IListeningPort | None = None
        self._controller = controller
        """Its SocketServer is made when the first connection comes."""
        self._wanted = False
        self._closing: Deferred[Any] | None = None

    def listen(self) -> None:
        """Bind and listen, at once or when the socket of the previous incarnation is closed."""
        self._wanted = True
        if self._closing is None and self.listening is None:
            self.listening = self.reactor.listenTCP(self.port, self, KERNEL_BACKLOG, self.host)
            self.port = int(self.listening.getHost().port)  # type: ignore[attr-defined]

    def stop(self) -> None:
        """Close the socket and reset every connection, as the end of a process does."""
        self._wanted = False
        listening, self.listening = self.listening, None
        if listening is not None:
            # A real reactor closes it with its next turn.
            self._closing = closing = maybeDeferred(listening.stopListening)
            closing.addCallback(self._closed)
        self._controller(self.node_id).stop()

    def _closed(self, _: object) -> None:
        self._closing = None
        if self._wanted:
            self.listen()

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:  # noqa: N802
        """Make the channel of a connection that the kernel has accepted."""
        controller = self._controller(self.node_id)
        server = controller.socket_server
        if server is None:
            if self.listening is None:
                return None
            server = controller.open(self)
            server.acceptor.set_bound_port(self.listening)
        return server.acceptor.buildProtocol(addr)


class ControllerListeners:
    """The listeners of all controllers of a cluster.

    The nodes of a quorum have controllers of their own; without one every broker is a controller too, as with
    process.roles=broker,controller, and the first of them is active.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        node_ids: Sequence[int],
        host: str | Callable[[int], str],
        ports: Sequence[int] | None,
        broker_reactor: Callable[[int], IReactor] | None,
    ) -> None:
        self._cluster = cluster
        machines = list(cluster.brokers)
        if ports is not None and len(ports) != len(node_ids):
            raise BrokerSimError(f"controller_ports: {len(ports)} were given for {len(node_ids)} controllers")
        self.nodes = {
            node_id: ControllerListener(
                node_id,
                # Controllers that are no brokers are on the machines of the first ones.
                reactor=cluster.reactor if broker_reactor is None else broker_reactor(machines[index % len(machines)]),
                host=host if isinstance(host, str) else host(machines[index % len(machines)]),
                port=0 if ports is None else ports[index],
                controller=cluster.controller_server,
            )
            for index, node_id in enumerate(node_ids)
        }

    def listen(self) -> None:
        """Bind every listener."""
        for each in self.nodes.values():
            each.listen()

    def stop(self) -> None:
        """Close every listener."""
        for each in self.nodes.values():
            each.stop()

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` of every controller, for `--bootstrap-controller`."""
        return ",".join(f"{each.host}:{each.port}" for each in self.nodes.values())

    def registrations(self) -> list[ControllerRegistration]:
        """Return the registration of each controller. Mirrors ControllerRegistrationManager."""
        random = self._cluster.streams.stream("controller incarnations")
        table = self._cluster.controller.config.release_table.listeners["controller"].features
        supported = table[max(table)].supported if table else {}
        features = tuple(FeatureRange(name, levels.lowest, levels.highest) for name, levels in supported.items())
        return [
            ControllerRegistration(
                id=each.node_id,
                incarnation_id=random.randbytes(UUID_BYTES),
                listeners=(Endpoint(CONTROLLER_LISTENER, each.host, each.port, PLAINTEXT),),
                features=features,
            )
            for each in self.nodes.values()
        ]
