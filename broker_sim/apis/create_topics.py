"""CreateTopics (api key 19): the controller answers, the broker passes the request on (KIP-590).

Versions: 4.x takes v2 on. v1 validateOnly. v4 counts of -1 mean the broker's defaults (earlier versions are treated
alike). v5 answers counts and configurations. v7 answers topic ids. Mirrors KafkaApis with ControllerApis.createTopics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.apis.kafka_apis import ApiHandler, register
from broker_sim.replication.broker_links import LinkFailure
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message


def handle_create_topics(request: CreateTopicsRequest, context: RequestContext) -> Deferred[Message]:
    """Forward; a controller that cannot be reached in time is REQUEST_TIMED_OUT for every topic."""
    broker = context.broker
    answer: Deferred[Message] = broker.forward_to_controller(
        request, timeout_ms=broker.config.request_timeout_ms, context=context
    )

    def unreachable(failure: Failure) -> Message:
        failure.trap(LinkFailure)
        return error_response(request, context, ErrorCode.REQUEST_TIMED_OUT)

    return answer.addErrback(unreachable)


def error_response(
    request: CreateTopicsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> CreateTopicsResponse:
    """The whole request fails: every topic has the error. Mirrors CreateTopicsRequest.getErrorResponse."""
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=topic.name, error_code=error_code, error_message=None) for topic in request.topics
        ]
    )


register(ApiHandler(api_key=ApiKey.CREATE_TOPICS, handle=handle_create_topics, error_response=error_response))
