"""DescribeUserScramCredentials (api key 50): mechanisms and iterations of users, without keys (KIP-554).

A broker responds from its own image, in ZooKeeper mode with the content of ZooKeeper. Mirrors
KafkaApis.handleDescribeUserScramCredentialsRequest with ScramImage.describe.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.forwarding import forward
from broker_sim.apis.handler_result import NoResponse
from broker_sim.security.scram_requests import described, described_twice
from protocol_specs.java_hash import hash_order
from protocol_specs.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest


def handle(request: DescribeUserScramCredentialsRequest, context: RequestContext) -> HandlerResult:
    """Describe the users of the request; without any, all that have a credential."""
    if context.behaviour.zookeeper:
        return forward(request, context)
    credentials = context.broker.metadata_cache.image.scram
    counts = Counter(each.name for each in request.users) if request.users else dict.fromkeys(credentials.users(), 1)
    results = [
        described_twice(user) if counts[user] > 1 else described(user, credentials) for user in hash_order(counts)
    ]
    return DescribeUserScramCredentialsResponse(error_message="", results=results)


def error_response(
    request: DescribeUserScramCredentialsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> DescribeUserScramCredentialsResponse | NoResponse:
    """The request and each of its users have the error, without their names; a request for all users gets no response.

    Mirrors DescribeUserScramCredentialsRequest.getErrorResponse, which fails without a list of users.
    """
    if request.users is None:
        return NoResponse.STAY_MUTED
    return DescribeUserScramCredentialsResponse(
        error_code=error_code,
        error_message=None,
        results=[
            DescribeUserScramCredentialsResult(user="", error_code=error_code, error_message=None)
            for _ in request.users
        ],
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
