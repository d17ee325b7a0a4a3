"""DescribeDelegationToken (api key 41) at a controller: listed, and always an error.

ControllerApis has no case for it; brokers serve it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_delegation_token import DescribeDelegationTokenResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.describe_delegation_token import DescribeDelegationTokenRequest


def handle(
    request: DescribeDelegationTokenRequest,  # noqa: ARG001 - every request has the error
    context: RequestContext,  # noqa: ARG001
) -> DescribeDelegationTokenResponse:
    """Return the error."""
    return DescribeDelegationTokenResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)


HANDLER: Final = ApiHandler(handle=handle)
