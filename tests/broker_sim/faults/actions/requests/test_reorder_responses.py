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
