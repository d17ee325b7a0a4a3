"""UnregisterBroker (api key 64) at a controller (KIP-631). Mirrors ControllerApis.handleUnregisterBroker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.unregister_broker import UnregisterBrokerRequest


def handle(request: UnregisterBrokerRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    return decide(context, lambda controls: controls.cluster.unregister_broker(request))


HANDLER: Final = ApiHandler(handle=handle)
