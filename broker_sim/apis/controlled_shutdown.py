"""ControlledShutdown (api key 7): the controller moves all leaders away from a broker, in ZooKeeper mode.

Versions: v2 broker epochs (KIP-380). A broker other than the controller returns NOT_CONTROLLER; an unknown broker id is
BROKER_NOT_AVAILABLE. Mirrors KafkaApis.handleControlledShutdownRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.controlled_shutdown import ControlledShutdownRequest


def handle(request: ControlledShutdownRequest, context: RequestContext) -> HandlerResult:
    """Pass the request to the controller."""
    return context.broker.control_request(request, context.api_version)  # type: ignore[no-any-return]


HANDLER: Final = ApiHandler(handle=handle)
