"""DeleteTopics (api key 20): a broker forwards it to the controller (KIP-590).

Versions: 4.x takes v1 on. Deletion that is switched off (`delete.topic.enable`) is 42 before v3, then 73. v5 error
texts. v6 topics by id (KIP-516). Mirrors KafkaApis with ControllerApis.deleteTopics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.forwarding import forward
from broker_sim.controller.topics import refused_deletion
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message
    from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

DISABLED_ERROR_SINCE: Final = 3


def handle(request: DeleteTopicsRequest, context: RequestContext) -> HandlerResult:
    """Forward, unless topics cannot be deleted."""
    disabled = refuse_if_disabled(request, context)
    return forward(request, context) if disabled is None else disabled


def refuse_if_disabled(request: DeleteTopicsRequest, context: RequestContext) -> HandlerResult | None:
    """Return the response where `delete.topic.enable` is false, else None."""
    broker = context.broker
    if broker.config.delete_topic_enable:
        return None
    if not broker.config.behaviour.disabled_deletion_has_an_error:
        # The topics are marked for a deletion that never begins, and the request waits for it.
        late: Deferred[Message] = Deferred()
        refused = refused_deletion(request, ErrorCode.REQUEST_TIMED_OUT)
        for each in refused.responses:
            if each.name not in broker.metadata_cache.image.topics:
                each.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        broker.reactor.callLater(max(0, request.timeout_ms) / 1000, late.callback, refused)
        return late
    if context.api_version < DISABLED_ERROR_SINCE:
        return refused_deletion(request, ErrorCode.INVALID_REQUEST, "Topic deletion is disabled.")
    return refused_deletion(request, ErrorCode.TOPIC_DELETION_DISABLED)


def error_response(
    request: DeleteTopicsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> DeleteTopicsResponse:
    """The whole request fails: every topic has the error."""
    return refused_deletion(request, error_code)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
