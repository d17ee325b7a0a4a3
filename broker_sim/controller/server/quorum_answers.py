"""What the answers of the quorum's APIs have in common: who leads, where it listens, and why another must be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.controller.server.controller_node_view import ControllerNodeView
    from broker_sim.controller.server.controller_server import ControllerServer

__all__ = ["node_endpoints", "refusal_of_leader"]


def refusal_of_leader(node: ControllerNodeView, epoch: int) -> ErrorCode:
    """The error for what only the leader of `epoch` answers, NONE to it. Mirrors validateLeaderOnlyRequest."""
    if epoch < node.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > node.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NONE if node.is_active else ErrorCode.NOT_LEADER_OR_FOLLOWER


def node_endpoints(server: ControllerServer) -> list[tuple[int, str, int]]:
    """Id, host and port of the leader; nothing while nobody leads."""
    leader_id = server.node.leader_id
    endpoint = server.endpoints.get(leader_id)
    return [] if endpoint is None else [(leader_id, *endpoint)]
