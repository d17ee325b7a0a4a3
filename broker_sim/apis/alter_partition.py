"""AlterPartition (api key 56, once AlterIsr): leaders request ISR changes (KIP-497), in ZooKeeper mode.

Versions: v2 topic ids. v3 broker epochs (KIP-903). A broker other than the controller returns NOT_CONTROLLER. Mirrors
KafkaApis.handleAlterPartitionRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.alter_partition import AlterPartitionRequest


def handle(request: AlterPartitionRequest, context: RequestContext) -> HandlerResult:
    """Pass the request to the controller."""
    return context.broker.control_request(request, context.api_version)  # type: ignore[no-any-return]


HANDLER: Final = ApiHandler(handle=handle)
