from __future__ import annotations

from typing import Any

import pytest
from twisted.internet import error

near = pytest.approx


@pytest.mark.parametrize("stream", ["upstream", "downstream"])
def test_a_toxic_poisons_connections_through_the_proxy(network: Any, stream: str) -> None:
    open_before = network.connect_to()
    network.exchange(open_before)
    network.rule(
        {"toxic": {"type": "latency", "stream": stream, "attributes": {"latency": 20}, "from": "client app"}},
        until={"delay_ms": 3_000},
    )
    assert network.exchange(open_before) == near(20, abs=1)
    assert network.exchange(network.connect_to()) == near(20, abs=1)
    assert network.exchange(network.connect_to(client_id="other"), within_ms=100) == near(0, abs=1)
    network.run(3_000)
    assert network.exchange(open_before) == near(0, abs=1)


def test_a_connection_is_cut_off_and_half_open(network: Any) -> None:
    client, other = network.connect_to(1), network.connect_to(2)
    network.rule({"cut_link": {"from": 1, "to": "clients"}}, until={"delay_ms": 100})
    network.rule({"half_open": {"from": "clients", "to": 2}}, until={"delay_ms": 100})
    assert network.exchange(client, within_ms=40) is None
    assert network.exchange(other, within_ms=40) is None
    network.run(1_000)
    assert len(client.responses) == 1
    assert isinstance(other.reason, error.ConnectionLost)


def test_a_listener_refuses_and_listens_again_on_its_port(network: Any) -> None:
    network.rule({"refuse": 1}, until={"delay_ms": 50})
    assert isinstance(network.connect_to(1).reason, error.ConnectionRefusedError)
    assert network.exchange(network.connect_to(2), within_ms=10) is not None
    network.run(100)
    assert network.exchange(network.connect_to(1)) == near(0, abs=1)


def test_a_listener_accepts_nothing(network: Any) -> None:
    network.rule({"backlog": {"at": 1, "size": 1}}, until={"delay_ms": 50})
    client = network.connect_to(1)
    client.send()
    network.run(20)
    assert not client.responses
    network.run(100)
    assert len(client.responses) == 1
