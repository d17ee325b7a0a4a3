"""A JoinGroup request to a classic group with its client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.groups.classic.classic_member import protocols_of
from broker_sim.coordinators.groups.classic.rebalances import NOTHING
from broker_sim.coordinators.groups.classic.responses import join_refusal

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.classic.parked_response import ParkedResponse
    from broker_sim.coordinators.groups.client_info import ClientInfo
    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.join_group import JoinGroupRequest, JoinGroupResponse

__all__ = ["Joining"]


class Joining:
    """One JoinGroup request with its client and the response that waits for the group."""

    __slots__ = ("client", "group_instance_id", "protocols", "rebalance_timeout_ms", "request", "response")

    def __init__(
        self, request: JoinGroupRequest, client: ClientInfo, response: ParkedResponse[JoinGroupResponse]
    ) -> None:
        self.request = request
        self.client = client
        self.response = response
        self.group_instance_id = request.group_instance_id
        self.protocols = protocols_of(request.protocols)
        self.rebalance_timeout_ms = request.rebalance_timeout_ms if client.api_version else request.session_timeout_ms

    @property
    def reason(self) -> str:
        """The client's reason for joining (KIP-800)."""
        return self.request.reason or "not provided"

    def refuse(self, error_code: ErrorCode, member_id: str) -> CoordinatorResult[Any]:
        """Send an error."""
        self.response.complete(join_refusal(error_code, member_id))
        return NOTHING
