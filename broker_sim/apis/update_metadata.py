"""UpdateMetadata (api key 6): the controller tells a broker of brokers and leaders, as in the ZooKeeper era.

Versions: v0 one endpoint a broker. v3 listeners. v5 broker epochs (KIP-380). v7 topic ids. Mirrors
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
    """Know what the controller says."""
    return context.broker.control_request(request, context.api_version)  # type: ignore[no-any-return]


HANDLER: Final = ApiHandler(handle=handle)
