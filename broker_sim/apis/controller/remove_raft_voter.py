"""RemoveRaftVoter (api key 81, 4.x) at a controller (KIP-853). Mirrors KafkaRaftClient.handleRemoveVoterRequest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.remove_raft_voter import RemoveRaftVoterRequest


def handle(request: RemoveRaftVoterRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    return decide(context, lambda controls: controls.quorum.remove_voter(request))


HANDLER: Final = ApiHandler(handle=handle)
