from __future__ import annotations

import pytest
from twisted.internet import error

from tests.broker_sim.wire_clients import ENDS_MS, WireNetwork


@pytest.mark.parametrize(
    ("stream", "took_ms"), [({"stream": "upstream"}, 10), ({"stream": "downstream"}, 10), ({}, 10)]
)
def test_a_toxic_poisons_a_stream(network: WireNetwork, stream: dict[str, str], took_ms: float) -> None:
    client = network.client("app")
    network.add({"toxic": {"type": "latency", "attributes": {"latency": 10}} | stream})
    assert network.exchange(client, within_ms=50) == pytest.approx(took_ms, abs=1)
    network.run(ENDS_MS)
    assert network.exchange(client) == pytest.approx(0, abs=1)


def test_a_toxic_of_no_toxicity_poisons_nothing(network: WireNetwork) -> None:
    client = network.client("app")
    toxic = {"type": "latency", "toxicity": 0, "attributes": {"latency": 10}, "from": "client app", "to": [1, 2]}
    network.add({"toxic": toxic})
    assert network.exchange(client, within_ms=50) == pytest.approx(0, abs=1)


def test_the_toxic_down_closes_and_refuses(network: WireNetwork) -> None:
    client = network.client("app")
    network.add({"toxic": {"type": "down", "to": 1}})
    assert client.ended_ms is not None
    assert isinstance(network.client().reason, error.ConnectionRefusedError)
    network.run(ENDS_MS)
    assert network.exchange(network.client()) == pytest.approx(0, abs=1)
