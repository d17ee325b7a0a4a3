"""The checks and responses that the APIs of delegation tokens share at brokers and controllers (KIP-48, KIP-373)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker_sim.apis.forwarding import forward
from broker_sim.config.authorizer_settings import ANONYMOUS
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.security.delegation_token import USER_TYPE, TokenRefused, principal_parts
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from protocol_specs.messages.renew_delegation_token import RenewDelegationTokenRequest
from protocol_specs.registry import response_type

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.controller.token_control import TokenControl
    from broker_sim.security.delegation_token import DelegationToken
    from protocol_specs.message import Message

__all__ = [
    "NO_TIME",
    "REQUESTER_SINCE",
    "Creation",
    "allows_token_requests",
    "creation_of",
    "creation_refusal",
    "forward_expiry",
    "refused_creation",
    "refused_expiry",
    "requester_of",
    "serve_token_request",
]

NO_TIME: Final = -1
REQUESTER_SINCE: Final = 3
"""The first version of CreateDelegationToken that names the requester beside the owner (KIP-373)."""
_WITHOUT_IDENTITY: Final = "SSL"


class Creation(NamedTuple):
    """The principals of a CreateDelegationToken: texts such as `User:ann`."""

    owner: str
    requester: str
    renewers: tuple[str, ...]

    @property
    def names_users(self) -> bool:
        """True if every renewer is a user."""
        return all(principal_parts(each)[0] == USER_TYPE for each in self.renewers)


def requester_of(context: RequestContext) -> str:
    """Return the client's principal."""
    return context.connection.principal or ANONYMOUS


def creation_of(request: CreateDelegationTokenRequest, context: RequestContext) -> Creation | None:
    """Return the principals of a request; without a name the owner is the requester.

    None for an owner with a name and without a type: Kafka fails at it with an unnamed exception.
    """
    requester = requester_of(context)
    owner = requester
    if request.owner_principal_name:
        if request.owner_principal_type is None:
            return None
        owner = f"{request.owner_principal_type}:{request.owner_principal_name}"
    return Creation(
        owner, requester, tuple(f"{each.principal_type}:{each.principal_name}" for each in request.renewers)
    )


def allows_token_requests(context: RequestContext) -> bool:
    """Return False for a client without an identity, and for one that has logged in with a token.

    At a controller a forwarded request is that of the client's connection, which the broker has checked. Mirrors
    KafkaApis.allowTokenRequests and ControllerApis.allowTokenRequests.
    """
    connection = context.connection
    if connection.token_authenticated:
        return False
    if connection.is_forwarded:
        return True
    protocol = connection.security_protocol
    return protocol != "PLAINTEXT" and not (protocol == _WITHOUT_IDENTITY and connection.principal == ANONYMOUS)


def creation_refusal(creation: Creation, context: RequestContext) -> ErrorCode:
    """Return the error of a request that its node refuses by itself, else NONE."""
    if not allows_token_requests(context):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    allowed = creation.owner == creation.requester or context.may(
        AclOperation.CREATE_TOKENS, ResourceType.USER, creation.owner
    )
    return ErrorCode.NONE if allowed else ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED


def serve_token_request(tokens: TokenControl, request: Any, context: RequestContext, *, no_time_ms: int) -> Message:
    """Create, renew or expire a token, and return the response; one that is refused has `no_time_ms` as its times."""
    if isinstance(request, CreateDelegationTokenRequest):
        creation = creation_of(request, context)
        assert creation is not None, "its node refuses a request without principals"
        try:
            token = tokens.create(*creation, request.max_lifetime_ms)
        except TokenRefused as refused:
            return refused_creation(creation, refused.error_code, context, time_ms=no_time_ms)
        return _created(creation, token, tokens.hmac_of(token), context)
    requester = requester_of(context)
    try:
        if isinstance(request, RenewDelegationTokenRequest):
            expires_ms = tokens.renew(bytes(request.hmac), requester, request.renew_period_ms)
        else:
            expires_ms = tokens.expire(bytes(request.hmac), requester, request.expiry_time_period_ms)
    except TokenRefused as refused:
        return refused_expiry(context, refused.error_code, time_ms=no_time_ms)
    return _expiry(context, ErrorCode.NONE, expires_ms)


def forward_expiry(request: Any, context: RequestContext) -> HandlerResult:
    """Handle RenewDelegationToken and ExpireDelegationToken at a broker: refuse, or forward.

    A broker in ZooKeeper mode serves what it does not refuse. Mirrors KafkaApis.handleRenewTokenRequest and
    handleExpireTokenRequest.
    """
    if not allows_token_requests(context):
        return refused_expiry(context, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    return forward(request, context)


def refused_expiry(context: RequestContext, error_code: ErrorCode, *, time_ms: int = NO_TIME) -> Message:
    """Return the response to a RenewDelegationToken or ExpireDelegationToken that is refused."""
    return _expiry(context, error_code, time_ms)


def _expiry(context: RequestContext, error_code: ErrorCode, time_ms: int) -> Message:
    response: Any = response_type(context.api_key)()
    response.error_code = error_code
    response.expiry_timestamp_ms = time_ms
    return response  # type: ignore[no-any-return]


def _created(
    creation: Creation, token: DelegationToken, hmac: bytes, context: RequestContext
) -> CreateDelegationTokenResponse:
    """Return the response with a new token."""
    response = refused_creation(creation, ErrorCode.NONE, context, time_ms=token.issued_ms)
    response.expiry_timestamp_ms = token.expires_ms
    response.max_timestamp_ms = token.max_ms
    response.token_id = token.token_id
    response.hmac = hmac
    return response


def refused_creation(
    creation: Creation, error_code: ErrorCode, context: RequestContext, *, time_ms: int = NO_TIME
) -> CreateDelegationTokenResponse:
    """Return the response without a token; `time_ms` is each of its times."""
    kind, name = principal_parts(creation.owner)
    response = CreateDelegationTokenResponse(
        error_code=error_code,
        principal_type=kind,
        principal_name=name,
        issue_timestamp_ms=time_ms,
        expiry_timestamp_ms=time_ms,
        max_timestamp_ms=time_ms,
        token_id="",
        hmac=b"",
    )
    if context.api_version >= REQUESTER_SINCE:
        kind, name = principal_parts(creation.requester)
        response.token_requester_principal_type, response.token_requester_principal_name = kind, name
    return response
