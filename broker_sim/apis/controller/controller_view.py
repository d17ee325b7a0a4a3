"""The part of a controller that its API handlers use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_sim.apis.broker_view import BrokerView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twisted.internet.defer import Deferred

    from broker_sim.controller.controller_nodes import ControllerNodeView
    from broker_sim.metadata.metadata_image import MetadataImage

__all__ = ["ControllerView"]


class ControllerView(BrokerView, Protocol):
    """Mirrors the constructor arguments of ControllerApis: the node of the quorum, its image, its configuration."""

    node: ControllerNodeView
    unknown_voters_may_vote: bool
    knows_groups: bool

    @property
    def image(self) -> MetadataImage:
        """The committed metadata that has reached this node."""

    @property
    def endpoints(self) -> Mapping[int, tuple[str, int]]:
        """The address of each controller, also of dead ones."""

    def growth(self, wait_s: float) -> Deferred[None]:
        """Fires when the metadata log has grown, or when the time is over."""
