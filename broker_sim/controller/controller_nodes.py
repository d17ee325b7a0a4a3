"""One controller and its view of the quorum, for its listener: leader, epoch and log.

A node of a quorum has a voter and a state machine of its own. Combined nodes (broker and controller) share the one
controller that never fails: the first of them always leads, the others follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_sim.controller.controller import Controller
    from broker_sim.controller.group.controller_node import ControllerNode

__all__ = ["CombinedNode", "ControllerNodeView", "QuorumNode"]

CLIENT: int = -1
"""The source of a request that no node of the cluster has sent."""


class ControllerNodeView(Protocol):
    """One node's controller."""

    id: int

    @property
    def controller(self) -> Controller:
        """Its state machine."""

    @property
    def is_active(self) -> bool:
        """True if it decides."""

    @property
    def leader_id(self) -> int:
        """The leader of the quorum as far as it knows; -1 for none."""

    @property
    def epoch(self) -> int:
        """The highest epoch that it has seen."""

    @property
    def voters(self) -> Sequence[int]:
        """The ids of all controllers."""


class QuorumNode:
    """A node of a quorum of its own."""

    def __init__(self, node: ControllerNode) -> None:
        self.id = node.id
        self.node = node

    @property
    def controller(self) -> Controller:
        """Its state machine, that of its present incarnation."""
        return self.node.controller

    @property
    def is_active(self) -> bool:
        """True if it leads and has replayed all earlier records."""
        return self.node.controller.is_active

    @property
    def leader_id(self) -> int:
        """The leader as far as it knows."""
        return self.node.replica.leader_id

    @property
    def epoch(self) -> int:
        """The highest epoch that it has seen."""
        return self.node.replica.epoch

    @property
    def voters(self) -> Sequence[int]:
        """All nodes of the quorum."""
        return self.node.group.node_ids


class CombinedCluster(Protocol):
    """A cluster whose brokers are controllers too."""

    controller: Controller

    @property
    def brokers(self) -> Mapping[int, object]:
        """All brokers by id."""


class CombinedNode:
    """A broker that is a controller too."""

    def __init__(self, cluster: CombinedCluster, node_id: int) -> None:
        self.id = node_id
        self._cluster = cluster

    @property
    def controller(self) -> Controller:
        """The one that there is."""
        return self._cluster.controller

    @property
    def is_active(self) -> bool:
        """True for the first broker."""
        return self.id == self.leader_id

    @property
    def leader_id(self) -> int:
        """The first."""
        return min(self._cluster.brokers)

    @property
    def epoch(self) -> int:
        """That of the log."""
        return self.controller.metadata_log.leader_epoch

    @property
    def voters(self) -> Sequence[int]:
        """All brokers."""
        return list(self._cluster.brokers)
