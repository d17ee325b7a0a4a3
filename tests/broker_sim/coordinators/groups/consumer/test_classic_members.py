"""Classic members of consumer groups, as a real 4.3.1 serves them."""

from __future__ import annotations

import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.heartbeat import HeartbeatRequest
from protocol_specs.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol_specs.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol_specs.messages.sync_group import SyncGroupRequest
from protocol_specs.schemas.consumer_protocol_assignment import ConsumerProtocolAssignment
from protocol_specs.schemas.consumer_protocol_subscription import ConsumerProtocolSubscription
from protocol_specs.schemas.record_serde import decode_versioned, encode_versioned


@pytest.fixture
def bench(consumers):
    return consumers(group_initial_rebalance_delay_ms=0)


def join_request(member_id="", *topics, protocol="range", **fields):
    metadata = encode_versioned(ConsumerProtocolSubscription(topics=list(topics or ["a"])), 1)
    return JoinGroupRequest(
        **{
            "group_id": "g",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            "member_id": member_id,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(name=protocol, metadata=metadata)],
            **fields,
        }
    )


def join(bench, **fields):
    """Join with the id that the first response has."""
    required = bench.api.exchange(join_request(**fields), 9)
    assert required.error_code == ErrorCode.MEMBER_ID_REQUIRED
    return bench.api.exchange(join_request(required.member_id, **fields), 9)


def sync(bench, joined):
    request = SyncGroupRequest(
        group_id="g",
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
    )
    return bench.api.exchange(request, 5)


def assigned(response):
    decoded, _ = decode_versioned(ConsumerProtocolAssignment, bytes(response.assignment))
    return {topic.topic: topic.partitions for topic in decoded.assigned_partitions}


def heartbeat(bench, joined, generation=None):
    generation = joined.generation_id if generation is None else generation
    request = HeartbeatRequest(group_id="g", generation_id=generation, member_id=joined.member_id)
    return bench.api.exchange(request, 4).error_code


def test_a_classic_member_shares_partitions_with_a_consumer(bench):
    bench.join("m1", "a")
    bench.wait(1100)
    joined = join(bench)
    assert (joined.error_code, joined.generation_id, joined.leader, joined.members) == (0, 3, "", [])
    assert (joined.protocol_type, joined.protocol_name) == ("consumer", "range")
    assert assigned(sync(bench, joined)) == {}
    revoked = bench.partitions(bench.heartbeat("m1", 2))
    bench.heartbeat("m1", 2, owned=revoked)
    assert heartbeat(bench, joined) == ErrorCode.REBALANCE_IN_PROGRESS
    again = bench.api.exchange(join_request(joined.member_id), 9)
    assert sum(len(partitions) for partitions in assigned(sync(bench, again)).values()) == 3 - len(revoked["a"])
    assert heartbeat(bench, again) == 0
    types = {member.member_id: member.member_type for member in bench.describe().members}
    assert types == {"m1": 1, joined.member_id: 0}


def test_wrong_members_and_generations_are_refused(bench):
    bench.join("m1", "a")
    joined = join(bench)
    assert heartbeat(bench, joined, 99) == ErrorCode.ILLEGAL_GENERATION
    request = HeartbeatRequest(group_id="g", generation_id=2, member_id="m1")
    assert bench.api.exchange(request, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    refused = bench.api.exchange(join_request("x", protocol_type="connect"), 9)
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_classic_member_that_does_not_rejoin_is_removed(bench):
    bench.join("m1", "a")
    bench.wait(1100)
    joined = join(bench)
    sync(bench, joined)
    bench.heartbeat("m1", -1)
    bench.wait(10)
    assert bench.group().type.value == "classic"


def test_leaving_makes_a_new_epoch(bench):
    bench.join("m1", "a")
    joined = join(bench)
    members = [MemberIdentity(member_id="stranger"), MemberIdentity(member_id=joined.member_id)]
    response = bench.api.exchange(LeaveGroupRequest(group_id="g", members=members), 5)
    assert [member.error_code for member in response.members] == [ErrorCode.UNKNOWN_MEMBER_ID, 0]
    assert [member.member_id for member in bench.describe().members] == ["m1"]


def test_a_static_member_leaves_by_its_instance_id_alone(bench):
    bench.join("m1", "a")
    joined = bench.api.exchange(join_request(group_instance_id="i1"), 9)
    sync(bench, joined)
    members = [MemberIdentity(member_id="", group_instance_id="i1")]
    response = bench.api.exchange(LeaveGroupRequest(group_id="g", members=members), 3)
    assert [(one.member_id, one.group_instance_id, one.error_code) for one in response.members] == [("", "i1", 0)]
    assert [member.member_id for member in bench.describe().members] == ["m1"]


def test_an_empty_consumer_group_becomes_classic(bench):
    bench.join("m1", "a")
    bench.heartbeat("m1", -1)
    assert join(bench).error_code == 0
    assert bench.group().type.value == "classic"


def test_classic_members_cannot_join_where_migration_is_disabled(consumers):
    bench = consumers(group_consumer_migration_policy="disabled")
    bench.join("m1", "a")
    assert bench.api.exchange(join_request(), 9).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
