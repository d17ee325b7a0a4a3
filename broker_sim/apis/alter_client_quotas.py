"""AlterClientQuotas (api key 49): the controller answers, the broker passes the request on (KIP-546, KIP-590).

Versions: v1 is flexible. Mirrors KafkaApis with ControllerApis.handleAlterClientQuotas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.apis.kafka_apis import ApiHandler, register
from broker_sim.quotas import client_quota_control
from broker_sim.replication.broker_links import LinkFailure
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message
    from protocol_specs.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse


def handle_alter_client_quotas(request: AlterClientQuotasRequest, context: RequestContext) -> Deferred[Message]:
    """Forward; a controller that cannot be reached in time is REQUEST_TIMED_OUT for every entry."""
    broker = context.broker
    answer: Deferred[Message] = broker.forward_to_controller(request, timeout_ms=broker.config.request_timeout_ms)

    def unreachable(failure: Failure) -> Message:
        failure.trap(LinkFailure)
        return error_response(request, context, ErrorCode.REQUEST_TIMED_OUT)

    return answer.addErrback(unreachable)


def error_response(
    request: AlterClientQuotasRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> AlterClientQuotasResponse:
    """The whole request fails: every entry has the error. Mirrors AlterClientQuotasRequest.getErrorResponse."""
    return client_quota_control.error_response(request, error_code)


register(
    ApiHandler(api_key=ApiKey.ALTER_CLIENT_QUOTAS, handle=handle_alter_client_quotas, error_response=error_response)
)
