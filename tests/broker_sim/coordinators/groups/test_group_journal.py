"""The events of groups, on a broker on virtual time."""

from __future__ import annotations

import pytest

from broker_sim.control.events import (
    GroupMemberAssigned,
    GroupMemberJoined,
    GroupMemberRemoved,
    GroupRequestRefused,
    GroupStateChanged,
)
from broker_sim.coordinators.groups.group_journal import readable_assignment
from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.heartbeat import HeartbeatRequest
from protocol_specs.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol_specs.messages.leave_group import LeaveGroupRequest
from protocol_specs.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol_specs.schemas.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from protocol_specs.schemas.record_serde import encode_versioned
from tests.broker_sim.apis.conftest import ApiBench

ASSIGNMENT = encode_versioned(
    ConsumerProtocolAssignment(assigned_partitions=[TopicPartition(topic="orders", partitions=[0, 2])]), 1
)
OF_GROUPS = (GroupStateChanged, GroupMemberJoined, GroupMemberAssigned, GroupMemberRemoved, GroupRequestRefused)


@pytest.mark.parametrize(
    ("assignment", "of_consumers", "text"),
    [
        (ASSIGNMENT, True, "orders-0, orders-2"),
        (ASSIGNMENT, False, f"{len(ASSIGNMENT)} bytes"),
        (b"", True, ""),
        (b"\0\1\xff", True, "3 malformed bytes"),
    ],
)
def test_assignments_are_readable(assignment, of_consumers, text):
    assert readable_assignment(assignment, of_consumers=of_consumers) == text


@pytest.fixture
def bench():
    api = ApiBench(
        brokers=1,
        topics=[TopicSpec(name="__consumer_offsets")],
        config={"group.initial.rebalance.delay.ms": "0"},
        release="4.3.1",
        seed=1,
    )
    api.settle()
    yield api
    api.cluster.close()


def test_the_life_of_a_member(bench):
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")],
    )
    member = bench.exchange(join, 3).member_id
    given = SyncGroupRequestAssignment(member_id=member, assignment=ASSIGNMENT)
    bench.exchange(SyncGroupRequest(group_id="g", generation_id=1, member_id=member, assignments=[given]), 2)
    bench.exchange(HeartbeatRequest(group_id="g", generation_id=7, member_id=member), 2)
    bench.exchange(LeaveGroupRequest(group_id="g", member_id=member), 2)
    lines = []
    for event in bench.cluster.journal.events:
        match event:
            case GroupStateChanged():
                lines.append(f"{event.previous} > {event.state} {event.generation}")
            case GroupMemberJoined():
                lines.append("joined")
            case GroupMemberAssigned():
                lines.append(f"assigned {event.assignment}")
            case GroupMemberRemoved():
                lines.append(f"removed: {event.reason}")
            case GroupRequestRefused():
                lines.append(f"{event.api}: {event.error}")
    assert lines == [
        "joined",
        "Empty > PreparingRebalance 0",
        "PreparingRebalance > CompletingRebalance 1",
        "assigned orders-0, orders-2",
        "CompletingRebalance > Stable 1",
        "Heartbeat: ILLEGAL_GENERATION",
        "removed: it has left the group",
        "Stable > PreparingRebalance 1",
        "PreparingRebalance > Empty 2",
    ]
    assert {event.group_id for event in bench.cluster.journal.events if isinstance(event, OF_GROUPS)} == {"g"}
