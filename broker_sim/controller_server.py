"""One controller, wired: its part of the quorum, its APIs, its links and its listener. Mirrors ControllerServer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from twisted.internet.defer import Deferred

from broker_sim.apis.controller.controller_apis import ControllerApis
from broker_sim.config.authorizer_settings import AuthorizerSettings
from broker_sim.config.broker_listeners import CONTROLLER_LISTENER, BrokerListeners, Listener
from broker_sim.config.broker_loggers import BrokerLoggers
from broker_sim.config.dynamic_broker_config import DynamicBrokerConfig
from broker_sim.metrics.request_metrics import RequestMetrics
from broker_sim.quotas.quota_managers import QuotaManagers
from broker_sim.rpc.link_transport import LinkTransport
from broker_sim.rpc.rpc_server import RpcServer
from broker_sim.security.authorizer import Authorizer
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.apis.controller.controller_view import ControllerView
    from broker_sim.cluster import Cluster
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.controller.controller_nodes import ControllerNodeView
    from broker_sim.controller_listeners import ControllerListener
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.network.network_node import NetworkNode
    from broker_sim.network.socket_server import SocketServer
    from sim_runtime.interfaces import IReactor

__all__ = ["ControllerServer"]

PLAINTEXT: Final = "PLAINTEXT"


class ControllerServer:
    """Implements the views of a node that the network and the APIs use, as a Broker does.

    `link_transport` serves its links, under the node id `link_id`; `open` makes the SocketServer of its listener.
    """

    active_controller_id: int | None = None

    def __init__(self, cluster: Cluster, node: ControllerNodeView, *, link_id: int) -> None:
        self.cluster = cluster
        self.node = node
        self.id = node.id
        self.reactor: IReactor = cluster.reactor
        self.journal = cluster.journal
        self.cluster_id = cluster.cluster_id
        self._connection_faults = cluster.faults.connections
        broker = cluster.brokers.get(node.id)
        self._broker = broker
        """Take file, loggers and listeners from the broker of a combined node."""
        self._dynamic_config = DynamicBrokerConfig(cluster.config, node.id)
        self._applied: MetadataImage | None = None
        self._waiting: dict[Deferred[None], IDelayedCall] = {}
        self._link_id = link_id
        self.started_us = self.journal.now_us()
        self.socket_server: SocketServer | None = None
        self._last_request_id = 0
        self.bound: BrokerListeners | None = None
        self._boot_parts()

    def _boot_parts(self) -> None:
        cluster, broker = self.cluster, self._broker
        self.release = cluster.config.release_table if broker is None else broker.release
        self.loggers = BrokerLoggers(self.release.name) if broker is None else broker.loggers
        vote = self.release.listeners["controller"].api_versions.get(ApiKey.VOTE)
        self.unknown_voters_may_vote = vote is not None and vote.highest >= 1
        """From 3.9 on (KIP-853) a voter need not be in this node's configuration."""
        self.knows_groups = self.config.behaviour.describes_groups
        self.quotas = QuotaManagers(self.config, self.journal.now_us)
        self.request_metrics = RequestMetrics(self.journal.now_us)
        settings = AuthorizerSettings.of(self.config)
        self.authorizer = None if settings is None else Authorizer(settings, lambda: self.image.acls)
        # The handlers and the network name what they use of their node; a controller has all that its own APIs use.
        view = cast("ControllerView", self)
        self.apis = ControllerApis(view)
        self.rpc = RpcServer(
            node_id=self.id, apis=self.apis, journal=self.journal, faults=cluster.faults, quotas=self.quotas
        )
        self._links_rpc = self.rpc
        if self._link_id != self.id:
            self._links_rpc = RpcServer(
                node_id=self._link_id, apis=self.apis, journal=self.journal, faults=cluster.faults, quotas=self.quotas
            )
        self.link_transport = LinkTransport(view, self._links_rpc, journal=self.journal, peer_reset=self._peer_reset)

    def use_release(self) -> None:
        """Serve as the release that the broker of the combined node has now: its process has restarted."""
        self.stop()
        for rpc in dict.fromkeys((self.rpc, self._links_rpc)):
            rpc.stop()
        self._boot_parts()

    def open(self, listener: ControllerListener) -> SocketServer:
        """Make the SocketServer of the controller's listener, which is bound already."""
        from broker_sim.network.socket_server import SocketServer

        endpoint = Listener(
            name=CONTROLLER_LISTENER,
            host=listener.host,
            port=listener.port,
            security_protocol=PLAINTEXT,
            advertised_host=listener.host,
        )
        self.reactor = listener.reactor
        self.bound = BrokerListeners([endpoint], inter_broker=CONTROLLER_LISTENER)
        self.socket_server = SocketServer(
            cast("NetworkNode", self),
            reactor=self.reactor,
            listeners=self.bound,
            connection_faults=self._connection_faults,
            last_request_id=self._last_request_id,
        )
        self.socket_server.register()
        return self.socket_server

    @property
    def listeners(self) -> BrokerListeners:
        """The listeners of the controller, or of the broker that is the same node."""
        if self._broker is not None:
            return self._broker.listeners
        assert self.bound is not None, "only requests of clients see listeners"
        return self.bound

    def _peer_reset(self, node_id: int) -> None:
        self.node.controller.peer_reset(node_id)

    @property
    def config(self) -> BrokerConfig:
        """The configuration as it is now: of its file, and set dynamically for it and for all."""
        if self._broker is not None:
            return self._broker.config
        image = self.image
        if image is not self._applied:
            self._applied = image
            self._dynamic_config.apply(image)
        return self._dynamic_config.current

    @property
    def metadata_cache(self) -> ControllerServer:
        """The cache is the controller itself: `image` is the committed image."""
        return self

    @property
    def image(self) -> MetadataImage:
        """The newest image that this node knows to be committed."""
        return self.node.controller.committed_image

    @property
    def endpoints(self) -> Mapping[int, tuple[str, int]]:
        """The endpoint of each controller, of those that are down too."""
        return self.cluster.controller_endpoints

    def random(self, part: str) -> Random:
        """Return the random stream of one part of the controller."""
        return self.cluster.streams.stream(f"controller {self.id} {part}")

    def growth(self, wait_s: float) -> Deferred[None]:
        """Return a Deferred that fires when the metadata log has grown, or after `wait_s`."""
        grown: Deferred[None] = Deferred()

        def fire() -> None:
            timer = self._waiting.pop(grown, None)
            if timer is not None:
                if timer.active():
                    timer.cancel()
                grown.callback(None)

        self._waiting[grown] = self.reactor.callLater(max(wait_s, 0.0), fire)
        self.node.controller.log_watchers.append(fire)
        return grown

    def stop(self) -> None:
        """Reset every connection, and end every wait."""
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()
        if self.socket_server is not None:
            self.socket_server.abort()
            self._last_request_id = self.socket_server.last_request_id
            self.socket_server = None
