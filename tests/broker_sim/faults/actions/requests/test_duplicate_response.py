from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.interception import FaultPoint, Outcome, Phase
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable

POINT = FaultPoint(broker_id=1, api_key=ApiKey.METADATA)


def test_copies_of_several_rules_add_up(replicas: Callable[..., Any]) -> None:
    faults = replicas().cluster.faults
    faults.add(parse_rule({"name": "a", "act": {"duplicate_response": 1}}))
    faults.add(parse_rule({"name": "b", "act": {"duplicate_response": {"one_of": [2]}}}))
    fired = faults.intercept(Phase.MID_RESPONSE, POINT)
    assert (fired.outcome, fired.copies) == (Outcome.PROCEED, 3)
