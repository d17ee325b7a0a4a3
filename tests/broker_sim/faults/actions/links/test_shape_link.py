from __future__ import annotations

import pytest

from tests.broker_sim.wire_clients import ENDS_MS, WireNetwork


def test_a_link_is_shaped_for_messages_and_for_connections(network: WireNetwork) -> None:
    client = network.client("app")
    shape = {"from": "all", "to": 2, "latency_ms": 20, "jitter_ms": [0, 1], "loss": 0.0001, "slice_bytes": 10}
    network.add({"shape_link": shape})
    network.add({"shape_link": {"from": 1, "to": "client app", "slice_bytes": 10, "latency_ms": 3}})
    assert network.exchange(client, within_ms=20) == pytest.approx(3, abs=1)
    assert max(client.pieces) <= 10
    slow = network.client("app", broker=2)
    assert network.exchange(slow, within_ms=40) == pytest.approx(20, abs=2)
    network.run(ENDS_MS)
    assert network.exchange(slow) == pytest.approx(0, abs=1)


def test_the_draws_of_a_shape_repeat_themselves(network: WireNetwork) -> None:
    def times(seed: int) -> list[float | None]:
        drawn = WireNetwork(seed=seed)
        client = drawn.client("app")
        drawn.add({"shape_link": {"from": "clients", "to": 1, "jitter_ms": 20}})
        return [drawn.exchange(client, within_ms=25) for _ in range(3)]

    assert times(3) == times(3) != times(4)
