from __future__ import annotations

from typing import Any

import pytest
from twisted.internet import error

from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.rule import RuleError
from tests.broker_sim.wire_clients import WireNetwork


@pytest.fixture
def network() -> WireNetwork:
    return WireNetwork(brokers=3)


def test_a_drawn_end_is_another_broker(network: WireNetwork) -> None:
    for seed in range(8):
        drawn = WireNetwork(brokers=3, seed=seed)
        drawn.add({"cut_link": {"from": "any", "to": "any"}})
        ((source, target),) = drawn.cuts()
        assert source != target
        assert {source, target} <= {1, 2, 3}


def test_an_end_is_drawn_when_a_request_fires_the_rule(network: WireNetwork) -> None:
    client = network.client("app")
    rule = {"select": {"api": "ApiVersions", "nth": 2}}
    network.add({"reset": {"from": "client app", "to": "self"}}, **rule)
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
