from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.interception import FaultPoint, Phase
from broker_sim.faults.rule import RuleError
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable

POINT = FaultPoint(broker_id=1, api_key=ApiKey.PRODUCE)


def test_each_response_waits_for_the_others_for_a_time(replicas: Callable[..., Any]) -> None:
    made = replicas()
    faults = made.cluster.faults
    faults.add(parse_rule({"name": "r", "act": {"reorder_responses": {"count": 3, "within_ms": 300}}}))
    fired = faults.intercept(Phase.MID_RESPONSE, POINT)
    assert fired.reversed_responses == 3
    made.run(ms=299)
    assert not fired.wait.called
    made.run(ms=2)
    assert fired.wait.called


def test_one_response_has_no_order() -> None:
    with pytest.raises(RuleError, match="at least 2"):
        parse_rule({"act": {"reorder_responses": 1}})


@pytest.mark.parametrize(("times", "count"), [({"times": 2}, 2), ({"times": 3}, 2), ({}, 2)])
def test_a_rule_that_fires_often_enough_is_valid(times: dict[str, int], count: int) -> None:
    parse_rule({"name": "r", "act": {"reorder_responses": count}, "select": {"api": "Produce"}, **times})


def test_a_rule_that_holds_too_few_responses_is_refused() -> None:
    with pytest.raises(RuleError, match="1 holds fewer responses than change their order: expected 2 or more"):
        parse_rule({"name": "r", "act": {"reorder_responses": 2}, "select": {"api": "Produce"}, "times": 1})
