"""DeleteTopics (api key 20): the controller answers, the broker passes the request on (KIP-590).

Versions: 4.x takes v1 on. Deletion that is switched off (`delete.topic.enable`) is 42 before v3, then 73. v5 error
texts. v6 topics by id (KIP-516). Mirrors KafkaApis with ControllerApis.deleteTopics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_sim.apis.kafka_apis import ApiHandler, register
from broker_sim.controller.topics import refused_deletion
from broker_sim.replication.broker_links import LinkFailure
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from twisted.python.failure import Failure

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message
    from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

DISABLED_ERROR_SINCE: Final = 3


def handle_delete_topics(
    request: DeleteTopicsRequest, context: RequestContext
) -> DeleteTopicsResponse | Deferred[Message]:
    """Forward; a controller that cannot be reached in time is REQUEST_TIMED_OUT for every topic."""
    broker = context.broker
    if not broker.config.delete_topic_enable and not broker.config.behaviour.disabled_deletion_has_an_error:
        # The topics are marked, which nobody acts on, and the deletion is waited for.
        late: Deferred[Message] = Deferred()
        refused = refused_deletion(request, ErrorCode.REQUEST_TIMED_OUT)
        for each in refused.responses:
            if each.name not in broker.metadata_cache.image.topics:
                each.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        broker.reactor.callLater(max(0, request.timeout_ms) / 1000, late.callback, refused)
        return late
    if not broker.config.delete_topic_enable:
        if context.api_version < DISABLED_ERROR_SINCE:
            return refused_deletion(request, ErrorCode.INVALID_REQUEST, "Topic deletion is disabled.")
        return refused_deletion(request, ErrorCode.TOPIC_DELETION_DISABLED)
    answer: Deferred[Message] = broker.forward_to_controller(
        request, timeout_ms=broker.config.request_timeout_ms, context=context
    )

    def unreachable(failure: Failure) -> Message:
        failure.trap(LinkFailure)
        return refused_deletion(request, ErrorCode.REQUEST_TIMED_OUT)

    return answer.addErrback(unreachable)


def error_response(
    request: DeleteTopicsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> DeleteTopicsResponse:
    """The whole request fails: every topic has the error."""
    return refused_deletion(request, error_code)


register(ApiHandler(api_key=ApiKey.DELETE_TOPICS, handle=handle_delete_topics, error_response=error_response))
