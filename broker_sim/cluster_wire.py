"""The network of a cluster for faults: links between its nodes, connections of its clients, listeners."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from broker_sim.errors import BrokerSimError
from broker_sim.faults.connections import ConnectionFault, ListenerFault
from broker_sim.links.node_links import CONTROLLER_ID
from broker_sim.zookeeper.messages import ZOOKEEPER_ID
from sim_runtime.virtual_host import HostReactor
from sim_runtime.wire_shaping import Cut, Held, Timed, Vanished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from broker_sim.broker import Broker
    from broker_sim.cluster import Cluster
    from broker_sim.faults.connections import ConnectionFaults, Listening
    from broker_sim.faults.link_action import WireFault
    from broker_sim.links.link import Link
    from broker_sim.links.node_links import NodeLinks

__all__ = ["ClusterWire", "hosts_of", "wire_of"]


class ClusterWire:
    """Mirrors the network that a deployment has around its brokers. `links` is None where they cannot be reached."""

    def __init__(self, links: NodeLinks | None, connections: ConnectionFaults, controllers: Sequence[int]) -> None:
        self.controllers = tuple(controllers)
        """The nodes under which links reach the controllers; with ZooKeeper they are the brokers and ZooKeeper."""
        self._links = links
        self._connections = connections

    def begin(self, fault: WireFault) -> Callable[[], None]:
        """Begin a fault; returns the function that ends it."""
        ends = [*self._begin_on_links(fault), *self._begin_on_connections(fault)]

        def end() -> None:
            for each in ends:
                each()

        return end

    def refuse(self, nodes: tuple[int, ...]) -> Callable[[], None]:
        """Refuse new connections to nodes; returns the function that ends it."""
        return self._begin_at_listeners(nodes, lambda listening: listening.refuse())

    def close_accepted(self, nodes: tuple[int, ...]) -> Callable[[], None]:
        """Close new connections to nodes at once; returns the function that ends it."""
        return self._begin_at_listeners(nodes, lambda listening: listening.close_accepted())

    def hold_accepts(self, nodes: tuple[int, ...], size: int, accept_every_ms: float | None) -> Callable[[], None]:
        """Leave new connections in a queue of `size`; returns the function that ends it."""
        return self._begin_at_listeners(nodes, lambda listening: listening.hold_accepts(size, accept_every_ms))

    def close_connections(self, nodes: tuple[int, ...], client: str) -> int:
        """Close the open connections to nodes of the clients that fit a pattern; returns their number."""
        return self._connections.close_connections(nodes=nodes, client=client)

    def _begin_at_listeners(self, nodes: tuple[int, ...], begin: Callable[[Listening], None]) -> Callable[[], None]:
        fault = ListenerFault(nodes=nodes, begin=begin)
        self._connections.begin_at_listeners(fault)
        return partial(self._connections.end_at_listeners, fault)

    def _begin_on_links(self, fault: WireFault) -> list[Callable[[], None]]:
        if self._links is None:
            return []
        pairs = dict.fromkeys(
            pair
            for source in fault.sources.nodes
            for target in fault.targets.nodes
            for pair in [(source, target), *([(target, source)] if fault.both_ways else [])]
            if source != target
        )
        cuts = any(isinstance(each, Cut | Vanished) for each in fault.impairments)
        holds = any(isinstance(each, Held) for each in fault.impairments)
        timed = [each for each in fault.impairments if isinstance(each, Timed)]
        ends: list[Callable[[], None]] = []
        for source, target in pairs:
            link: Link = self._links.link(source, target)
            if cuts:
                link.cut(fault)
                ends.append(partial(link.restore, fault))
            if holds:
                link.hold(fault)
                ends.append(partial(link.release, fault))
            if timed:
                link.shape(fault, [each.pace(fault.random) for each in timed])
                ends.append(partial(link.unshape, fault))
        return ends

    def _begin_on_connections(self, fault: WireFault) -> list[Callable[[], None]]:
        directions = [(client, fault.targets.nodes, True) for client in fault.sources.clients]
        directions += [(client, fault.sources.nodes, False) for client in fault.targets.clients]
        ends: list[Callable[[], None]] = []
        for client, nodes, upstream in directions:
            if not nodes:
                continue
            begun = ConnectionFault(
                nodes=nodes,
                client=client,
                upstream=fault.impairments if upstream or fault.both_ways else (),
                downstream=fault.impairments if not upstream or fault.both_ways else (),
                share=fault.share,
                random=fault.random,
            )
            self._connections.begin(begun)
            ends.append(partial(self._connections.end, begun))
        return ends


def wire_of(cluster: Cluster) -> ClusterWire:
    """The network of a cluster of this process."""
    controllers = cluster.controller_ids or [CONTROLLER_ID]
    if cluster.config.behaviour.zookeeper:
        controllers.append(ZOOKEEPER_ID)
    return ClusterWire(cluster.links, cluster.faults.connections, controllers)


def hosts_of(brokers: Iterable[Broker]) -> Callable[[int], str]:
    """Return the function that names the host of a node on a simulated network.

    Raises:
        BrokerSimError: a broker is on no host of a simulated network.
    """
    hosts: dict[int, str] = {}
    for broker in brokers:
        if not isinstance(broker.reactor, HostReactor):
            raise BrokerSimError(f"broker {broker.id} is on no simulated network: see broker_reactor")
        hosts[broker.id] = broker.reactor.name
    return lambda node_id: hosts.get(node_id) or f"controller-{node_id}"
