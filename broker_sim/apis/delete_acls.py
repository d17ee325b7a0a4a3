"""DeleteAcls (api key 31): a broker forwards it to the controller (KIP-140, KIP-801).

Versions: v1 has pattern types (KIP-290). v2 is flexible. v3 has users as resources (KIP-48).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.acl_requests import no_authorizer, refuse_deletions
from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.forwarding import forward
from broker_sim.coordinators.default_messages import default_message
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsMatchingAcl, DeleteAclsResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.controller.acl_control import DeletedAcls
    from broker_sim.security.acl import Acl
    from protocol_specs.messages.delete_acls import DeleteAclsRequest


def handle(request: DeleteAclsRequest, context: RequestContext) -> HandlerResult:
    """Forward, unless no release reads the request; a broker in ZooKeeper mode responds itself."""
    if context.behaviour.zookeeper and context.broker.authorizer is None:
        return refused_deletions(request, ErrorCode.SECURITY_DISABLED, no_authorizer(context))
    return forward(request, context)


def error_response(
    request: DeleteAclsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> DeleteAclsResponse:
    """Every filter has the error. Mirrors DeleteAclsRequest.getErrorResponse."""
    return refused_deletions(request, error_code, default_message(error_code))


def refused_deletions(request: DeleteAclsRequest, error_code: ErrorCode, message: str | None) -> DeleteAclsResponse:
    """Return the response in which every filter has the error and the text."""
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(error_code=error_code, error_message=message, matching_acls=[])
            for _ in request.filters
        ]
    )


def deleted_acls(results: Sequence[DeletedAcls]) -> DeleteAclsResponse:
    """Return the response with one result per filter."""
    return DeleteAclsResponse(filter_results=[_result(each) for each in results])


def _result(deleted: DeletedAcls) -> DeleteAclsFilterResult:
    code, message = deleted.error
    return DeleteAclsFilterResult(
        error_code=code, error_message=message, matching_acls=[_deleted(acl) for acl in deleted.acls]
    )


def _deleted(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response, refuse=refuse_deletions)
