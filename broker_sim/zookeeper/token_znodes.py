"""The znodes of delegation tokens: one per token, with Kafka's JSON. Mirrors DelegationTokenManagerZk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from broker_sim.security.delegation_token import DelegationToken
from broker_sim.zookeeper.znodes import Znode

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TOKENS", "read_tokens", "token_znodes"]

TOKENS: Final = "/delegation_token/tokens/"
JSON_VERSION: Final = 3
"""The version that names the requester beside the owner."""


def token_znodes(tokens: Mapping[str, DelegationToken]) -> dict[str, Znode]:
    """Return the znodes of all tokens, by path."""
    return {f"{TOKENS}{token_id}": Znode(_data(token)) for token_id, token in tokens.items()}


def read_tokens(tree: Mapping[str, Znode]) -> dict[str, DelegationToken]:
    """Return the tokens in a tree of znodes, by id."""
    found = (_token(json.loads(znode.data)) for path, znode in tree.items() if path.startswith(TOKENS))
    return {token.token_id: token for token in found}


def _data(token: DelegationToken) -> str:
    value = {
        "version": JSON_VERSION,
        "owner": quote(token.owner, safe=""),
        "tokenRequester": quote(token.requester, safe=""),
        "renewers": [quote(each, safe="") for each in token.renewers],
        "issueTimestamp": token.issued_ms,
        "maxTimestamp": token.max_ms,
        "expiryTimestamp": token.expires_ms,
        "tokenId": token.token_id,
    }
    return json.dumps(value, separators=(",", ":"))


def _token(value: Mapping[str, Any]) -> DelegationToken:
    return DelegationToken(
        token_id=value["tokenId"],
        owner=unquote(value["owner"]),
        requester=unquote(value["tokenRequester"]),
        renewers=tuple(map(unquote, value["renewers"])),
        issued_ms=value["issueTimestamp"],
        max_ms=value["maxTimestamp"],
        expires_ms=value["expiryTimestamp"],
    )
