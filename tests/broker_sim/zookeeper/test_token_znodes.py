"""Delegation tokens as znodes."""

from __future__ import annotations

import json

from broker_sim.security.delegation_token import DelegationToken
from broker_sim.zookeeper.token_znodes import read_tokens, token_znodes
from broker_sim.zookeeper.znodes import Znode

TOKEN = DelegationToken(
    token_id="id", owner="User:a b", requester="User:root", renewers=("User:Ω",), issued_ms=1, max_ms=3, expires_ms=2
)


def test_a_token_is_read_as_it_was_written() -> None:
    tree = token_znodes({"id": TOKEN})
    assert read_tokens(tree | {"/brokers/ids/1": Znode("{}")}) == {"id": TOKEN}
    value = json.loads(tree["/delegation_token/tokens/id"].data)
    assert value == {
        "version": 3,
        "owner": "User%3Aa%20b",
        "tokenRequester": "User%3Aroot",
        "renewers": ["User%3A%CE%A9"],
        "issueTimestamp": 1,
        "maxTimestamp": 3,
        "expiryTimestamp": 2,
        "tokenId": "id",
    }
