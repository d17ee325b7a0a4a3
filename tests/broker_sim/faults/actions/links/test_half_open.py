from __future__ import annotations

from twisted.internet import error

from tests.broker_sim.wire_clients import ENDS_MS, WireNetwork


def test_a_half_open_connection_is_reset_at_the_end(network: WireNetwork) -> None:
    client = network.client("app")
    network.add({"half_open": {"from": "client app", "to": 1}})
    assert network.exchange(client, within_ms=50) is None
    assert client.ended_ms is None
    network.run(ENDS_MS)
    assert isinstance(client.reason, error.ConnectionLost)
