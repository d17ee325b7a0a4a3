"""CreateAcls (api key 30) at a controller (KIP-801). Mirrors AclApis.handleCreateAcls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.acl_requests import acl_of, is_binding, refuse_creations
from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide
from broker_sim.apis.create_acls import created_acls, error_response, refused_creations
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.controller.controls import ControllerControls
    from protocol_specs.messages.create_acls import CreateAclsRequest, CreateAclsResponse


def handle(request: CreateAclsRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit; SECURITY_DISABLED without an authorizer."""
    if context.broker.authorizer is None:
        return refused_creations(request, ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")

    acls = [acl_of(each, context.behaviour) for each in request.creations]
    if not all(map(is_binding, acls)):
        return refused_creations(request, ErrorCode.UNKNOWN_SERVER_ERROR, None)

    def create(controls: ControllerControls) -> CreateAclsResponse:
        return created_acls(controls.acls.create(acls))

    return decide(context, create)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response, refuse=refuse_creations)
