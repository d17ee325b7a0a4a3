"""Each exception in the table of the peers' limits is there for a reason that can be seen."""

from __future__ import annotations

import pytest

from protocol_specs import coverage
from tests.against.peer_limits import LIMITS, Limit
from tests.against.peers import PEERS, installed


def carries_it(limit: Limit) -> bool:
    message, peer = limit.beyond, PEERS[limit.peer]
    body = message.encode(limit.version)
    assert type(message).decode(limit.version, body) == message
    try:
        return peer.decode(type(message), limit.version, body) == message and (
            peer.encode(message, limit.version) == body
        )
    except Exception:  # noqa: BLE001 - how a peer fails is its own affair
        return False


@pytest.mark.parametrize("limit", [pytest.param(limit, id=f"{limit.peer}: {limit.where}") for limit in LIMITS])
def test_a_peer_fails_beyond_its_limit(limit: Limit) -> None:
    is_the_one_seen = installed(limit.peer) == coverage.load().source(limit.peer).version
    assert not carries_it(limit) or not is_the_one_seen
