from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.control.events import BrokerStarted
from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.rule import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable


def releases_of(made: Any) -> list[str]:
    return [broker.release.name for broker in made.cluster.brokers.values()]


def test_one_broker_restarts_as_another_release(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(release="3.7.2")
    made.produce(1)
    assert fire(made, {"upgrade": {"to": "3.9", "broker": "leader of t-0"}}, ms=30_000).problem is None
    assert releases_of(made) == ["3.9.2", "3.7.2", "3.7.2"]
    assert made.values(1) == [1]


def test_all_brokers_restart_in_order(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(release="3.7.2")
    made.produce(1)
    before = made.journal.count(kind=BrokerStarted)
    assert fire(made, {"upgrade": "3.8"}, ms=60_000).problem is None
    assert releases_of(made) == ["3.8.1"] * 3
    assert [event.broker_id for event in made.journal.events_of(BrokerStarted)][before:] == [1, 2, 3]
    made.produce(2)
    made.settle()
    assert [made.values(broker) for broker in (1, 2, 3)] == [[1, 2]] * 3


def test_what_is_refused_is_the_problem_of_the_rule(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(release="3.9.2")
    before = made.journal.count(kind=BrokerStarted)
    assert "metadata.version is finalized at 21" in fire(made, {"upgrade": {"to": "3.7", "broker": 2}}).problem
    assert "releases are mixed within KRaft from 3.3 to 3.9" in fire(made, {"upgrade": "4.3.1"}).problem
    assert made.journal.count(kind=BrokerStarted) == before


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ({"upgrade": 3.9}, "expected the name of a release in quotes, such as '3.9', not 3.9"),
        ({"upgrade": {"to": "3.99"}}, "no broker release '3.99' is known"),
        ({"upgrade": {"broker": 1}}, "missing; expected the release"),
        ({"finalize": {"too": "3.9"}}, "unknown key; did you mean 'to'?; expected one of to"),
    ],
)
def test_a_wrong_release_is_refused_before_the_run(act: dict[str, Any], problem: str) -> None:
    with pytest.raises(RuleError) as raised:
        parse_rule({"name": "r", "act": act})
    assert problem in str(raised.value)
