"""UpdateMetadata (api key 6): the controller sends the state of brokers and leaders, in ZooKeeper mode.

Versions: v0 one endpoint per broker. v3 listeners. v5 broker epochs (KIP-380). v7 topic ids. Mirrors
KafkaApis.handleUpdateMetadataRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.update_metadata import UpdateMetadataRequest


def handle(request: UpdateMetadataRequest, context: RequestContext) -> HandlerResult:
    """Apply the controller's update."""
    return context.broker.control_request(request, context.api_version)  # type: ignore[no-any-return]


HANDLER: Final = ApiHandler(handle=handle)
