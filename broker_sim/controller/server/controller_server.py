"""One controller with its listener, wired: what a SocketServer and the APIs need of the node they serve. Mirrors
ControllerServer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from twisted.internet.defer import Deferred

from broker_sim.config.broker_loggers import BrokerLoggers
from broker_sim.config.dynamic_broker_config import DynamicBrokerConfig
from broker_sim.controller.envelope import ForwardedRequest, ForwardedResponse
from broker_sim.controller.listeners import CONTROLLER_LISTENER, ControllerListener
from broker_sim.controller.server.controller_apis import ControllerApis
from broker_sim.controller.server.controller_node_view import CombinedNode, ControllerNodeView, QuorumNode, asked_of
from broker_sim.network.broker_listeners import BrokerListeners, Listener
from broker_sim.network.socket_server import SocketServer
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.broker import Broker
    from broker_sim.cluster import Cluster
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.controller.group.controller_group import ControllerGroup
    from broker_sim.faults.interception import Faults
    from broker_sim.metadata.metadata_image import MetadataImage

__all__ = ["ControllerServer", "serve_controller"]

PLAINTEXT: Final = "PLAINTEXT"


class ControllerServer:
    """It stands in a broker's place before the parts of the network and the APIs that both have."""

    def __init__(self, cluster: Cluster, node: ControllerNodeView, listener: ControllerListener) -> None:
        self.cluster = cluster
        self.node = node
        self.id = node.id
        self.release = cluster.config.release_table
        self.reactor = listener.reactor
        self.journal = cluster.journal
        self.cluster_id = cluster.cluster_id
        endpoint = Listener(
            name=CONTROLLER_LISTENER,
            host=listener.host,
            port=listener.port,
            security_protocol=PLAINTEXT,
            advertised_host=listener.host,
        )
        self.bound = BrokerListeners([endpoint], inter_broker=CONTROLLER_LISTENER)
        broker = cluster.brokers.get(node.id)
        self._broker = broker
        """A combined node shares file, loggers and listeners with its broker."""
        self._dynamic_config = DynamicBrokerConfig(cluster.config, node.id)
        self._applied: MetadataImage | None = None
        self.listeners = self.bound if broker is None else broker.listeners
        self.loggers = BrokerLoggers(self.release.name) if broker is None else broker.loggers
        self._waiting: dict[Deferred[None], IDelayedCall] = {}
        vote = self.release.listeners["controller"].api_versions.get(ApiKey.VOTE)
        self.strangers_may_vote = vote is not None and vote.highest >= 1
        """From 3.9 on (KIP-853) a voter may be one that this node has not heard of."""
        self.knows_groups = cluster.config.behaviour.describes_groups
        self.apis = ControllerApis(self)
        # The network's parts name what they need of their node; a controller has all of that.
        self.socket_server = SocketServer(cast("Broker", self), reactor=self.reactor, listeners=self.bound)

    @property
    def config(self) -> BrokerConfig:
        """Its configuration as it is now: what is in its file, and what is set on it and on all."""
        if self._broker is not None:
            return self._broker.config
        image = self.image
        if image is not self._applied:
            self._applied = image
            self._dynamic_config.apply(image)
        return self._dynamic_config.current

    @property
    def faults(self) -> Faults:
        """The rules of the cluster."""
        return self.cluster.faults

    @property
    def metadata_cache(self) -> ControllerServer:
        """It is its own: `image` is what is committed."""
        return self

    @property
    def image(self) -> MetadataImage:
        """What a majority has decided, as far as this node knows."""
        return self.node.controller.committed_image

    @property
    def endpoints(self) -> Mapping[int, tuple[str, int]]:
        """Where each controller listens, the dead ones too."""
        return self.cluster.controller_endpoints

    def random(self, part: str) -> Random:
        """The random stream of one of its parts."""
        return self.cluster.streams.stream(f"controller {self.id} {part}")

    def forward_to_controller(
        self,
        request: Any,
        *,
        timeout_ms: int,  # noqa: ARG002 - there is no way to the controller that could take time
        context: RequestContext | None = None,
    ) -> Deferred[Any]:
        """Let the controller answer a client's request; fails with NotActive when another decides."""
        version = self.release.listeners["controller"].api_versions[request.API_KEY].highest
        forwarded = ForwardedRequest(
            request, api_version=version if context is None else context.api_version, context=context
        )
        return asked_of(self.node, forwarded).addCallback(ForwardedResponse.opened)

    def growth(self, wait_s: float) -> Deferred[None]:
        """Fires when the metadata log has grown, or when the time is over."""
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
        """Reset every connection, and let nobody wait."""
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()
        self.socket_server.abort()


def serve_controller(
    cluster: Cluster, listener: ControllerListener, quorum: ControllerGroup | None
) -> ControllerServer:
    """What serves the connections of a controller's listener, which is bound already."""
    node: ControllerNodeView
    node = CombinedNode(cluster, listener.node_id) if quorum is None else QuorumNode(quorum.nodes[listener.node_id])
    return ControllerServer(cluster, node, listener)
