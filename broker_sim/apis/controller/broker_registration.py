"""BrokerRegistration (api key 62): a broker registers its run (KIP-631). Mirrors
ClusterControlManager.registerBroker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import active_controller

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.broker_registration import BrokerRegistrationRequest


def handle(request: BrokerRegistrationRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    controller = active_controller(context)
    return cast("HandlerResult", controller.append_write_event(lambda: controller.process_registration(request)))


HANDLER: Final = ApiHandler(handle=handle)
