"""DescribeDelegationToken (api key 41): the tokens that the client may see (KIP-48).

A broker responds from its own image. Mirrors KafkaApis.handleDescribeTokensRequest with
DelegationTokenManager.filterToken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.token_requests import REQUESTER_SINCE, allows_token_requests, requester_of
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.security.delegation_token import hmac_of, principal_parts, secret_of
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order
from protocol_specs.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenResponse,
)

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.security.delegation_token import DelegationToken
    from protocol_specs.messages.describe_delegation_token import DescribeDelegationTokenRequest


def handle(request: DescribeDelegationTokenRequest, context: RequestContext) -> DescribeDelegationTokenResponse:
    """Describe the tokens of the owners, also those that an owner may renew or has requested; without a list, all."""
    if not allows_token_requests(context):
        return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    secret = secret_of(context.broker.config)
    if not secret:
        return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    tokens = context.broker.metadata_cache.image.tokens
    if request.owners is not None:
        owners = [f"{each.principal_type}:{each.principal_name}" for each in request.owners]
        tokens = {key: token for key, token in tokens.items() if any(map(token.concerns, owners))}
    visible = (tokens[token_id] for token_id in hash_order(tokens) if _may_see(tokens[token_id], context))
    return DescribeDelegationTokenResponse(
        tokens=[_described(token, hmac_of(token.token_id, secret), context.api_version) for token in visible]
    )


def _may_see(token: DelegationToken, context: RequestContext) -> bool:
    return (
        token.concerns(requester_of(context))
        or context.may(AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id)
        or context.may(AclOperation.DESCRIBE_TOKENS, ResourceType.USER, token.owner)
    )


def _described(token: DelegationToken, hmac: bytes, version: int) -> DescribedDelegationToken:
    kind, name = principal_parts(token.owner)
    renewers = map(principal_parts, token.renewers)
    described = DescribedDelegationToken(
        principal_type=kind,
        principal_name=name,
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=hmac,
        renewers=[DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name) for kind, name in renewers],
    )
    if version >= REQUESTER_SINCE:
        kind, name = principal_parts(token.requester)
        described.token_requester_principal_type, described.token_requester_principal_name = kind, name
    return described


HANDLER: Final = ApiHandler(handle=handle)
