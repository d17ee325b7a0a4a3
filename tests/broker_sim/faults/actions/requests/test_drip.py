from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.interception import FaultPoint, Phase
from broker_sim.faults.rule import RuleError
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable

POINT = FaultPoint(broker_id=1, api_key=ApiKey.METADATA)


def test_the_rest_follows_after_a_time_or_with_the_end_of_the_rule(replicas: Callable[..., Any]) -> None:
    made = replicas()
    faults = made.cluster.faults
    for act, wait_ms in (({"first_bytes": 5, "stall_ms": 300}, 300), (5, None)):
        faults.add(parse_rule({"name": "drip", "act": {"drip": act}}))
        fired = faults.intercept(Phase.MID_RESPONSE, POINT)
        assert fired.cut_bytes == 5
        made.run(ms=299)
        assert not fired.wait.called
        if wait_ms is None:
            faults.remove("drip")
            assert fired.wait.called
        else:
            made.run(ms=2)
            assert fired.wait.called
            faults.remove("drip")


def test_it_needs_the_bytes_of_a_response() -> None:
    with pytest.raises(RuleError, match="phase: drip fires in mid_response, not in before_parse"):
        parse_rule({"act": {"drip": 5}, "phase": "before_parse"})
