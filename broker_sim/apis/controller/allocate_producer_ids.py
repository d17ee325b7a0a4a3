"""AllocateProducerIds (api key 67): a broker gets a block of producer ids (KIP-730). Mirrors
ProducerIdControlManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import active_controller

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.allocate_producer_ids import AllocateProducerIdsRequest


def handle(request: AllocateProducerIdsRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    controller = active_controller(context)
    return cast("HandlerResult", controller.append_write_event(lambda: controller.allocate_block(request)))


HANDLER: Final = ApiHandler(handle=handle)
