"""Rules on links, connections and listeners: their written form, their effect, and their end."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet import error

from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.rule import RuleError
from broker_sim.links.node_links import CONTROLLER_ID
from tests.broker_sim.wire_clients import WireNetwork

ENDS_MS = 100
near = pytest.approx


@pytest.fixture
def network() -> WireNetwork:
    return WireNetwork(brokers=3)


def add(network: WireNetwork, act: Any, **rule: Any) -> None:
    """Add a rule that opens now and closes after ENDS_MS."""
    name = f"rule-{len(network.cluster.faults.reports())}"
    written = {"name": name, "act": act, "until": {"delay_ms": ENDS_MS}} | rule
    network.cluster.faults.add(parse_rule(written))
    network.run(1)


def cuts(network: WireNetwork) -> set[tuple[int, int]]:
    nodes = [1, 2, 3, CONTROLLER_ID]
    return {(a, b) for a in nodes for b in nodes if a != b and network.cluster.link(a, b).cut_off}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"from": 1, "to": 2}, {(1, 2)}),
        ({"from": 1, "to": [2, "controllers"]}, {(1, 2), (1, 3000)}),
        ({"from": [1], "to": "controllers", "both_ways": True}, {(1, 3000), (3000, 1)}),
        ({"from": 1, "to": "brokers"}, {(1, 2), (1, 3)}),
        ({"from": "all", "to": 3}, {(1, 3), (2, 3), (3000, 3)}),
    ],
)
def test_a_cut_separates_nodes_until_its_end(
    network: WireNetwork, written: dict[str, Any], expected: set[tuple[int, int]]
) -> None:
    add(network, {"cut_link": written})
    assert cuts(network) == expected
    network.run(ENDS_MS)
    assert cuts(network) == set()


def test_a_drawn_end_is_another_broker(network: WireNetwork) -> None:
    for seed in range(8):
        drawn = WireNetwork(brokers=3, seed=seed)
        add(drawn, {"cut_link": {"from": "any", "to": "any"}})
        ((source, target),) = cuts(drawn)
        assert source != target
        assert {source, target} <= {1, 2, 3}


def test_a_cut_between_a_node_and_itself_has_no_effect(network: WireNetwork) -> None:
    add(network, {"cut_link": {"from": 1, "to": 1}}, optional=True)
    (report,) = network.cluster.faults.reports()
    assert report.fired == 0


def test_a_cut_separates_clients_from_a_broker(network: WireNetwork) -> None:
    app, other = network.client("app"), network.client("other")
    add(network, {"cut_link": {"from": "client a*", "to": 1}})
    assert network.exchange(app, within_ms=50) is None
    assert network.exchange(other, within_ms=20) == near(0, abs=1)
    network.run(300)
    assert len(app.responses) == 1


def test_a_link_is_shaped_for_messages_and_for_connections(network: WireNetwork) -> None:
    client = network.client("app")
    shape = {"from": "all", "to": 2, "latency_ms": 20, "jitter_ms": [0, 1], "loss": 0.0001, "slice_bytes": 10}
    add(network, {"shape_link": shape})
    add(network, {"shape_link": {"from": 1, "to": "client app", "slice_bytes": 10, "latency_ms": 3}})
    assert network.exchange(client, within_ms=20) == near(3, abs=1)
    assert max(client.pieces) <= 10
    slow = network.client("app", broker=2)
    assert network.exchange(slow, within_ms=40) == near(20, abs=2)
    network.run(ENDS_MS)
    assert network.exchange(slow) == near(0, abs=1)


def test_the_draws_of_a_shape_repeat_themselves(network: WireNetwork) -> None:
    def times(seed: int) -> list[float | None]:
        drawn = WireNetwork(seed=seed)
        client = drawn.client("app")
        add(drawn, {"shape_link": {"from": "clients", "to": 1, "jitter_ms": 20}})
        return [drawn.exchange(client, within_ms=25) for _ in range(3)]

    assert times(3) == times(3) != times(4)


def test_a_half_open_connection_is_reset_at_the_end(network: WireNetwork) -> None:
    client = network.client("app")
    add(network, {"half_open": {"from": "client app", "to": 1}})
    assert network.exchange(client, within_ms=50) is None
    assert client.ended_ms is None
    network.run(ENDS_MS)
    assert isinstance(client.reason, error.ConnectionLost)


@pytest.mark.parametrize(
    ("written", "received"), [({}, 0), ({"after_ms": 20}, 0), ({"from": 1, "to": "clients", "after_bytes": 7}, 7)]
)
def test_connections_are_reset(network: WireNetwork, written: dict[str, Any], received: int) -> None:
    client = network.client("app")
    add(network, {"reset": {"from": "clients", "to": 1} | written})
    if received:
        client.send()
    network.run(25)
    assert isinstance(client.reason, error.ConnectionLost)
    assert client.received == received


def test_a_close_is_seen_late(network: WireNetwork) -> None:
    client = network.client("app")
    network.exchange(client)
    add(network, {"slow_close": {"from": 1, "to": "clients", "delay_ms": 40}})
    begin_ms = network.now_ms()
    network.cluster.wire.close_connections((1,), "*")
    network.run(60)
    assert (client.ended_ms or 0) - begin_ms == near(40, abs=1)


def test_a_broker_that_does_not_read_gives_no_response(network: WireNetwork) -> None:
    client = network.client("app")
    add(network, {"not_reading": {"from": "clients", "to": 1}})
    assert network.exchange(client, within_ms=50) is None
    network.run(ENDS_MS)
    assert len(client.responses) == 1


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        ({"refuse": 1}, error.ConnectionRefusedError),
        ({"refuse": {"at": ["brokers"]}}, error.ConnectionRefusedError),
        ({"black_hole": [1, 2]}, error.TimeoutError),
        ({"accept_then_close": 1}, error.ConnectionDone),
    ],
)
def test_new_connections_fail_until_the_end(network: WireNetwork, act: Any, reason: type[Exception]) -> None:
    add(network, act)
    client = network.client(timeout_s=0.05)
    network.run(60)
    assert isinstance(client.reason, reason)
    network.run(ENDS_MS)
    assert network.exchange(network.client()) == near(0, abs=1)


def test_a_backlog_is_accepted_slowly(network: WireNetwork) -> None:
    add(network, {"backlog": {"at": 1, "size": 2, "accept_every_ms": 30}})
    clients = [network.client() for _ in range(2)]
    for client in clients:
        client.send()
    outside = network.client(timeout_s=0.01)
    network.run(70)
    assert [len(client.responses) for client in clients] == [1, 1]
    assert isinstance(outside.reason, error.TimeoutError)


@pytest.mark.parametrize(
    ("stream", "took_ms"), [({"stream": "upstream"}, 10), ({"stream": "downstream"}, 10), ({}, 10)]
)
def test_a_toxic_poisons_a_stream(network: WireNetwork, stream: dict[str, str], took_ms: float) -> None:
    client = network.client("app")
    add(network, {"toxic": {"type": "latency", "attributes": {"latency": 10}} | stream})
    assert network.exchange(client, within_ms=50) == near(took_ms, abs=1)
    network.run(ENDS_MS)
    assert network.exchange(client) == near(0, abs=1)


def test_a_toxic_of_no_toxicity_poisons_nothing(network: WireNetwork) -> None:
    client = network.client("app")
    toxic = {"type": "latency", "toxicity": 0, "attributes": {"latency": 10}, "from": "client app", "to": [1, 2]}
    add(network, {"toxic": toxic})
    assert network.exchange(client, within_ms=50) == near(0, abs=1)


def test_the_toxic_down_closes_and_refuses(network: WireNetwork) -> None:
    client = network.client("app")
    add(network, {"toxic": {"type": "down", "to": 1}})
    assert client.ended_ms is not None
    assert isinstance(network.client().reason, error.ConnectionRefusedError)
    network.run(ENDS_MS)
    assert network.exchange(network.client()) == near(0, abs=1)


def test_an_end_is_drawn_when_a_request_fires_the_rule(network: WireNetwork) -> None:
    client = network.client("app")
    rule = {"select": {"api": "ApiVersions", "nth": 2}}
    add(network, {"reset": {"from": "client app", "to": "self"}}, **rule)
    assert network.exchange(client, within_ms=10) is not None
    assert client.ended_ms is None
    client.send()
    network.run(10)
    assert isinstance(client.reason, error.ConnectionLost)


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ({"cut_link": {"from": 1}}, "act.cut_link.to: missing"),
        ({"cut_link": {"from": 1, "to": "controlers"}}, "'all', 'brokers', 'controllers', 'clients', 'client PATTERN'"),
        ({"cut_link": {"from": 1, "to": 9}}, "there is no broker 9"),
        ({"reset": {"from": 1, "to": 2}}, "expected 'clients' or 'client PATTERN' in from or to"),
        ({"shape_link": {"from": 1, "to": 2}}, "expected at least one of latency_ms"),
        ({"toxic": {"type": "latancy"}}, "did you mean 'latency'"),
        ({"toxic": {"type": "latency", "attributes": {"delay": 1}}}, "toxic.attributes.delay: latency has"),
        ({"toxic": {"type": "down", "attributes": {"delay": 1}}}, "down has no attributes"),
        ({"toxic": {"type": "latency", "attributes": 3}}, "expected a mapping"),
        ({"refuse": "client app"}, "'brokers'"),
    ],
)
def test_a_mistake_is_named(network: WireNetwork, act: Any, problem: str) -> None:
    with pytest.raises(RuleError, match=problem):
        network.cluster.faults.add(parse_rule({"name": "wrong", "act": act}))
