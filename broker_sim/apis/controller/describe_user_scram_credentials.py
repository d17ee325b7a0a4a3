"""DescribeUserScramCredentials (api key 50) at a controller: listed, and always an error.

ControllerApis has no case for it; brokers serve it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.describe_user_scram_credentials import error_response
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest


def handle(request: DescribeUserScramCredentialsRequest, context: RequestContext) -> HandlerResult:
    """Return the error."""
    return error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
