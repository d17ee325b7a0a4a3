"""StopReplica (api key 5): the controller lets a broker stop replicas, and delete them, in ZooKeeper mode.

Versions: v1 broker epochs (KIP-380). v3 leader epochs, and deletion per partition (KIP-570). Mirrors
KafkaApis.handleStopReplicaRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.stop_replica import StopReplicaRequest


def handle(request: StopReplicaRequest, context: RequestContext) -> HandlerResult:
    """Stop the replicas, unless the request is outdated."""
    return context.broker.control_request(request, context.api_version)  # type: ignore[no-any-return]


HANDLER: Final = ApiHandler(handle=handle)
