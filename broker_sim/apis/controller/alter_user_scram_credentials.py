"""AlterUserScramCredentials (api key 51) at a controller (KIP-900). Mirrors
ControllerApis.handleAlterUserScramCredentials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide
from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest


def handle(request: AlterUserScramCredentialsRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    return decide(context, lambda controls: controls.scram.alter(request))


def error_response(
    request: AlterUserScramCredentialsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> AlterUserScramCredentialsResponse:
    """Every user has the error, in alphabetical order. Mirrors AlterUserScramCredentialsRequest.getErrorResponse."""
    users = {each.name for each in request.deletions} | {each.name for each in request.upsertions}
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user=user, error_code=error_code, error_message=None)
            for user in sorted(users, key=lambda user: user.encode("utf-16-be", "surrogatepass"))
        ]
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
