"""DeleteAcls (api key 31) at a controller (KIP-801). Mirrors AclApis.handleDeleteAcls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.acl_requests import filter_of, refuse_filters
from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide
from broker_sim.apis.delete_acls import error_response, refused_deletions
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsMatchingAcl, DeleteAclsResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.controller.acl_control import DeletedAcls
    from broker_sim.controller.controls import ControllerControls
    from broker_sim.security.acl import Acl
    from protocol_specs.messages.delete_acls import DeleteAclsRequest


def handle(request: DeleteAclsRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit; SECURITY_DISABLED without an authorizer."""
    unreadable = refuse_filters(request.filters, context)
    if unreadable is not None:
        return unreadable
    if context.broker.authorizer is None:
        return refused_deletions(request, ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")

    def delete(controls: ControllerControls) -> DeleteAclsResponse:
        return DeleteAclsResponse(
            filter_results=[_result(each) for each in controls.acls.delete(list(map(filter_of, request.filters)))]
        )

    return decide(context, delete)


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


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
