"""CreateTopics (api key 19): a broker forwards it to the controller (KIP-590).

Versions: 4.x takes v2 on. v1 validateOnly. v4 counts of -1 mean the broker's defaults (earlier versions are treated
alike). v5 returns counts and configurations. v7 returns topic ids. Mirrors KafkaApis with ControllerApis.createTopics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.forwarding import forward
from protocol_specs.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode


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


HANDLER: Final = ApiHandler(handle=forward, error_response=error_response)
