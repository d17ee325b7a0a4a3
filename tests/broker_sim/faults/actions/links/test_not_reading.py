from __future__ import annotations

from tests.broker_sim.wire_clients import ENDS_MS, WireNetwork


def test_a_broker_that_does_not_read_gives_no_response(network: WireNetwork) -> None:
    client = network.client("app")
    network.add({"not_reading": {"from": "clients", "to": 1}})
    assert network.exchange(client, within_ms=50) is None
    network.run(ENDS_MS)
    assert len(client.responses) == 1
