"""The common part of the responses of the quorum's APIs: the leader, its endpoint, and the error of another node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.controller.controller_view import ControllerView
    from broker_sim.controller.controller_nodes import ControllerNodeView

__all__ = ["node_endpoints", "refusal_of_leader"]


def refusal_of_leader(node: ControllerNodeView, epoch: int) -> ErrorCode:
    """Return the error of a request that only the leader of `epoch` serves. Mirrors validateLeaderOnlyRequest."""
    if epoch < node.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > node.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NONE if node.is_active else ErrorCode.NOT_LEADER_OR_FOLLOWER


def node_endpoints(server: ControllerView) -> list[tuple[int, str, int]]:
    """Return id, host and port of the leader; empty while there is none."""
    leader_id = server.node.leader_id
    endpoint = server.endpoints.get(leader_id)
    return [] if endpoint is None else [(leader_id, *endpoint)]
