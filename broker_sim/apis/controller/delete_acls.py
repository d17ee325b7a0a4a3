"""DeleteAcls (api key 31) at a controller (KIP-801). Mirrors AclApis.handleDeleteAcls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.acl_requests import filter_of, refuse_deletions
from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide
from broker_sim.apis.delete_acls import deleted_acls, error_response, refused_deletions
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.controller.controls import ControllerControls
    from protocol_specs.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse


def handle(request: DeleteAclsRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit; SECURITY_DISABLED without an authorizer."""
    if context.broker.authorizer is None:
        return refused_deletions(request, ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")

    def delete(controls: ControllerControls) -> DeleteAclsResponse:
        return deleted_acls(controls.acls.delete([filter_of(each, context.behaviour) for each in request.filters]))

    return decide(context, delete)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response, refuse=refuse_deletions)
