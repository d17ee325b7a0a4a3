"""The selection of requests by group and member."""

from __future__ import annotations

import pytest

from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.interception import FaultPoint, Phase
from broker_sim.faults.rule import RuleError
from protocol_specs.api_key import ApiKey
from protocol_specs.messages.heartbeat import HeartbeatRequest


@pytest.mark.parametrize(
    ("select", "missed"),
    [
        ({"group": "order*"}, None),
        ({"group": "payments"}, (1, "the groups ['orders'] of the request do not fit \"payments\"")),
        ({"group": "orders", "member": "m-?"}, None),
        (
            {"api": "Heartbeat", "group": "orders", "member": "x"},
            (3, "the members ['m-1'] of the request do not fit \"x\""),
        ),
    ],
)
def test_patterns_select(select, missed):
    rule = parse_rule({"act": "hold", "select": select})
    assert rule.phase is Phase.BEFORE_APPEND
    request = HeartbeatRequest(group_id="orders", generation_id=1, member_id="m-1")
    point = FaultPoint(broker_id=1, api_key=ApiKey.HEARTBEAT, request=request)
    assert rule.select.mismatch(point, "Heartbeat", None) == missed


@pytest.mark.parametrize("key", ["group", "member"])
def test_the_body_is_needed(key):
    with pytest.raises(RuleError, match=f"select.{key}: known once the request is parsed"):
        parse_rule({"act": "hold", "phase": "before_parse", "select": {key: "x"}})
