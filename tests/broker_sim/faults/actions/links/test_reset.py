from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet import error

if TYPE_CHECKING:
    from tests.broker_sim.wire_clients import WireNetwork


@pytest.mark.parametrize(
    ("written", "received"), [({}, 0), ({"after_ms": 20}, 0), ({"from": 1, "to": "clients", "after_bytes": 7}, 7)]
)
def test_connections_are_reset(network: WireNetwork, written: dict[str, Any], received: int) -> None:
    client = network.client("app")
    network.add({"reset": {"from": "clients", "to": 1} | written})
    if received:
        client.send()
    network.run(25)
    assert isinstance(client.reason, error.ConnectionLost)
    assert client.received == received
