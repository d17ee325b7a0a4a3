"""CreateAcls (api key 30): a broker forwards it to the controller (KIP-140, KIP-801).

Versions: v1 has pattern types (KIP-290). v2 is flexible. v3 has users as resources (KIP-48).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.acl_requests import acl_of, is_binding, no_authorizer, refuse_creations
from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.forwarding import forward
from broker_sim.coordinators.default_messages import default_message
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_acls import AclCreationResult, CreateAclsResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.config.api_error import ApiError
    from protocol_specs.messages.create_acls import CreateAclsRequest


def handle(request: CreateAclsRequest, context: RequestContext) -> HandlerResult:
    """Forward, unless no release reads the request; a broker in ZooKeeper mode responds itself."""
    if context.behaviour.zookeeper:
        if context.broker.authorizer is None:
            return refused_creations(request, ErrorCode.SECURITY_DISABLED, no_authorizer(context))
        generated = context.behaviour.acl_messages_are_generated
        if generated and not all(is_binding(acl_of(each, context.behaviour)) for each in request.creations):
            return refused_creations(request, ErrorCode.UNKNOWN_SERVER_ERROR, None)
    return forward(request, context)


def error_response(
    request: CreateAclsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> CreateAclsResponse:
    """Every entry has the error. Mirrors CreateAclsRequest.getErrorResponse."""
    return refused_creations(request, error_code, default_message(error_code))


def refused_creations(request: CreateAclsRequest, error_code: ErrorCode, message: str | None) -> CreateAclsResponse:
    """Return the response in which every entry has the error and the text."""
    return CreateAclsResponse(
        results=[AclCreationResult(error_code=error_code, error_message=message) for _ in request.creations]
    )


def created_acls(results: Sequence[ApiError]) -> CreateAclsResponse:
    """Return the response with one result per entry."""
    return CreateAclsResponse(
        results=[AclCreationResult(error_code=code, error_message=message) for code, message in results]
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response, refuse=refuse_creations)
