"""AlterPartition (api key 56) at a controller: leaders propose other ISRs (KIP-497). Mirrors
ReplicationControlManager.alterPartition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import active_controller
from protocol_specs.messages.alter_partition import AlterPartitionResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.alter_partition import AlterPartitionRequest


def handle(request: AlterPartitionRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit; a request without topics gets its response from every controller."""
    if not request.topics:
        return AlterPartitionResponse()
    controller = active_controller(context)
    return cast("HandlerResult", controller.append_write_event(lambda: controller.alter_partition(request)))


HANDLER: Final = ApiHandler(handle=handle)
