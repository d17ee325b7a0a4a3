"""What nodes ask the controller for themselves: ISRs (56), registrations of brokers (62) and controllers (70),
heartbeats (63), producer ids (67), directories of replicas (73). Mirrors ControllerApis.

The state machine answers them as it does over the links of its own brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from broker_sim.apis.kafka_apis import ApiHandler
from broker_sim.controller.server.controller_node_view import asked_of
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.alter_partition import AlterPartitionResponse
from protocol_specs.messages.controller_registration import ControllerRegistrationResponse

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.apis.request_context import HandlerResult, RequestContext
    from broker_sim.controller.server.controller_server import ControllerServer
    from protocol_specs.messages.alter_partition import AlterPartitionRequest


def ask_controller(request: Any, context: RequestContext) -> Deferred[Any]:
    """Let the state machine answer, if it is the active one."""
    return asked_of(cast("ControllerServer", context.broker).node, request)


def alter_partition(request: AlterPartitionRequest, context: RequestContext) -> HandlerResult:
    """Whoever asks for nothing gets it of every controller."""
    return ask_controller(request, context) if request.topics else AlterPartitionResponse()


def _registration_refused(request: Any, context: RequestContext, error_code: ErrorCode) -> Any:  # noqa: ARG001
    text = "This is not the correct controller for this cluster." if error_code is ErrorCode.NOT_CONTROLLER else ""
    return ControllerRegistrationResponse(error_code=error_code, error_message=text)


HANDLERS: Final = (
    ApiHandler(api_key=ApiKey.ALTER_PARTITION, handle=alter_partition),
    ApiHandler(api_key=ApiKey.BROKER_REGISTRATION, handle=ask_controller),
    ApiHandler(api_key=ApiKey.BROKER_HEARTBEAT, handle=ask_controller),
    ApiHandler(api_key=ApiKey.ALLOCATE_PRODUCER_IDS, handle=ask_controller),
    ApiHandler(api_key=ApiKey.CONTROLLER_REGISTRATION, handle=ask_controller, error_response=_registration_refused),
    ApiHandler(api_key=ApiKey.ASSIGN_REPLICAS_TO_DIRS, handle=ask_controller),
)
