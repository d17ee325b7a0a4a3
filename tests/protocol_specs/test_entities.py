"""Values by the entity or the names of their fields; the groups and members of requests."""

import pytest

from protocol_specs.entities import (
    GROUP_ID,
    PRODUCER_ID,
    TRANSACTIONAL_ID,
    entity_values,
    groups_of,
    members_of,
    named_values,
)
from protocol_specs.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.describe_groups import DescribeGroupsRequest
from protocol_specs.messages.fetch import FetchRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.heartbeat import HeartbeatRequest
from protocol_specs.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol_specs.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol_specs.messages.share_fetch import ShareFetchRequest


def test_values_of_arrays_come_one_by_one():
    assert list(entity_values(DescribeGroupsRequest(groups=["a", "b"]), GROUP_ID)) == ["a", "b"]


def test_nested_structs_are_searched():
    transaction = AddPartitionsToTxnTransaction(transactional_id="t", producer_id=7, producer_epoch=0, topics=[])
    request = AddPartitionsToTxnRequest(transactions=[transaction])
    assert "t" in list(entity_values(request, TRANSACTIONAL_ID))
    assert 7 in list(entity_values(request, PRODUCER_ID))


def test_null_is_left_out():
    request = ShareFetchRequest(group_id=None, member_id=None)
    assert list(entity_values(request, GROUP_ID)) == []
    assert list(named_values(request, frozenset({"member_id"}))) == []


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
