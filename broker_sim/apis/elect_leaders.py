"""ElectLeaders (api key 43): preferred and unclean elections (KIP-183, KIP-460), answered by the controller.

Versions: v0 preferred elections alone. v1 an election type and a top-level error. v2 flexible. With KRaft the answer
comes with the commit: Kafka's DelayedElectLeader belongs to controllers of the ZooKeeper era. Mirrors KafkaApis with
ControllerApis.handleElectLeaders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.forwarding import forward
from broker_sim.apis.kafka_apis import ApiHandler, register
from broker_sim.controller.elect_leaders import refused_elections
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.apis.request_context import NoAnswer, RequestContext
    from protocol_specs.message import Message
    from protocol_specs.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

TOP_LEVEL_ERROR_SINCE: Final = 1


def handle_elect_leaders(request: ElectLeadersRequest, context: RequestContext) -> Deferred[Message | NoAnswer]:
    """Forward; the error of a whole request is left out where the version has no place for it."""
    answer = forward(request, context)
    if context.api_version < TOP_LEVEL_ERROR_SINCE:
        answer.addCallback(_without_error)
    return answer


def _without_error(response: Any) -> Any:
    response.error_code = ErrorCode.NONE
    return response


def error_response(
    request: ElectLeadersRequest, context: RequestContext, error_code: ErrorCode
) -> ElectLeadersResponse:
    """The whole request fails: every partition has the error, and the answer too from v1 on."""
    response = refused_elections(request, error_code)
    if context.api_version < TOP_LEVEL_ERROR_SINCE:
        response.error_code = ErrorCode.NONE
    return response


register(ApiHandler(api_key=ApiKey.ELECT_LEADERS, handle=handle_elect_leaders, error_response=error_response))
