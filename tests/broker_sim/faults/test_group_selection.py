"""Rules that select by group and member: the names in requests, on a served cluster."""

from __future__ import annotations

import pytest

from broker_sim.faults.grammar import parse_rule
from broker_sim.faults.group_selection import groups_of, members_of
from broker_sim.faults.interception import FaultPoint, Phase
from broker_sim.faults.rule import RuleError
from protocol_specs.api_key import ApiKey
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.fetch import FetchRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.heartbeat import HeartbeatRequest
from protocol_specs.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol_specs.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup


@pytest.mark.parametrize(
    ("request_", "groups", "members"),
    [
        (HeartbeatRequest(group_id="g", generation_id=1, member_id="m", group_instance_id="i"), ["g"], ["m", "i"]),
        (DeleteGroupsRequest(groups_names=["a", "b"]), ["a", "b"], []),
        (FindCoordinatorRequest(key="g"), ["g"], []),
        (FindCoordinatorRequest(coordinator_keys=["a", "b"]), ["a", "b"], []),
        (FindCoordinatorRequest(key="transaction", key_type=1), [], []),
        (FetchRequest(), [], []),
        (
            LeaveGroupRequest(
                group_id="g",
                members=[
                    MemberIdentity(member_id="m", group_instance_id=None),
                    MemberIdentity(member_id="", group_instance_id="i"),
                ],
            ),
            ["g"],
            ["m", "i"],
        ),
        (OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", member_id="m")]), ["g"], ["m"]),
        (None, [], []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_groups_and_members_of_a_request(request_, groups, members):
    assert (groups_of(request_), members_of(request_)) == (groups, members)


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
