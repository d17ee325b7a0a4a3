"""LeaderAndIsr (api key 4): the controller makes a broker leader or follower, in ZooKeeper mode.

Versions: v1 new replicas. v2 by topic, broker epochs (KIP-380). v3 replicas that are added and removed. v5 topic ids,
errors by topic id. Any sender counts as the controller. Mirrors KafkaApis.handleLeaderAndIsrRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.leader_and_isr import LeaderAndIsrRequest


def handle(request: LeaderAndIsrRequest, context: RequestContext) -> HandlerResult:
    """Apply the request if it is the controller's."""
    return context.broker.control_request(request, context.api_version)  # type: ignore[no-any-return]


HANDLER: Final = ApiHandler(handle=handle)
