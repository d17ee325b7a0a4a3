"""Several controllers for a cluster, in place of the one that never fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_sim.controller.controls import ControllerControls
from broker_sim.controller.group.controller_group import CONTROLLERS_MAX, ControllerGroup
from broker_sim.controller.group.raft_quorum_description import RaftQuorumDescription
from broker_sim.errors import BrokerSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.control.journal import Journal
    from broker_sim.controller.controller import Controller
    from broker_sim.controller.group.controller_node import ControllerNode
    from broker_sim.controller.group.quorum_controller import QuorumController
    from broker_sim.links.node_links import LinkNode
    from broker_sim.quorum.raft_log import RaftStorage
    from sim_runtime.interfaces import IReactor
    from sim_runtime.random_streams import RandomStreams

__all__ = ["set_up_controller_group"]


class QuorumCluster(Protocol):
    """The parts of a cluster that its controllers share."""

    config: BrokerConfig
    journal: Journal
    reactor: IReactor
    streams: RandomStreams
    cluster_id: str
    controller: Controller


def set_up_controller_group(
    cluster: QuorumCluster,
    *,
    controllers: int,
    link_delay_ms: float,
    link_node_of: Callable[[ControllerNode], LinkNode],
    make_storage: Callable[[int, Sequence[int], bytes], RaftStorage] | None,
) -> ControllerGroup:
    """Make the nodes; the cluster's `controller` is from then on that of the active one, or of the last that was.

    Raises:
        BrokerSimError: `controllers` is not between 1 and CONTROLLERS_MAX.
    """
    if not 1 <= controllers <= CONTROLLERS_MAX:
        raise BrokerSimError(f"controllers: {controllers} is not between 1 and {CONTROLLERS_MAX}")

    def wire(controller: QuorumController) -> None:
        quorum = RaftQuorumDescription(controller, random=cluster.streams.stream("log directories"))
        controller.controls = ControllerControls.of(
            controller, config=cluster.config, streams=cluster.streams, quorum=quorum
        )

    def became_active(controller: Controller) -> None:
        cluster.controller = controller

    return ControllerGroup(
        controllers=controllers,
        reactor=cluster.reactor,
        journal=cluster.journal,
        config=cluster.config,
        cluster_id=cluster.cluster_id,
        streams=cluster.streams,
        link_delay_ms=link_delay_ms,
        wire=wire,
        link_node_of=link_node_of,
        became_active=became_active,
        make_storage=make_storage,
    )
