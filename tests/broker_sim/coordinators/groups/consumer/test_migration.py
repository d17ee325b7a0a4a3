"""Groups with members that change their type."""

from __future__ import annotations

import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol_specs.schemas.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from protocol_specs.schemas.record_serde import encode_versioned
from tests.broker_sim.coordinators.groups.consumer.test_classic_members import heartbeat, join

CUSTOM_ASSIGNOR = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor "
    "before re-attempting the upgrade."
)


def classic_group(bench, user_data=None):
    """A stable classic group of one member, which has all partitions of `a`."""
    joined = join(bench)
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[TopicPartition(topic="a", partitions=[0, 1, 2])], user_data=user_data
    )
    own = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=encode_versioned(assignment, 1))
    request = SyncGroupRequest(
        group_id="g",
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[own],
    )
    assert bench.api.exchange(request, 5).error_code == 0
    return joined


@pytest.mark.parametrize(
    ("policy", "user_data", "text"),
    [
        ("bidirectional", None, None),
        ("upgrade", None, None),
        ("downgrade", None, "online upgrade is disabled."),
        (
            "bidirectional",
            b"sticky",
            CUSTOM_ASSIGNOR,
        ),
    ],
)
def test_a_consumer_member_upgrades_a_classic_group(consumers, policy, user_data, text):
    bench = consumers(group_initial_rebalance_delay_ms=0, group_consumer_migration_policy=policy)
    joined = classic_group(bench, user_data)
    response = bench.join("m1", "a")
    if text is not None:
        assert response.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert response.error_message == f"Cannot upgrade classic group g to consumer group because {text}"
        return
    assert (response.error_code, response.member_epoch) == (0, joined.generation_id + 1)
    described = {member.member_id: member for member in bench.describe().members}
    assert described[joined.member_id].member_epoch == joined.generation_id
    assert described[joined.member_id].assignment.topic_partitions[0].partitions == [0, 1, 2]
    assert heartbeat(bench, joined) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_goes_on_as_classic_when_its_last_consumer_leaves(consumers):
    bench = consumers(group_initial_rebalance_delay_ms=0)
    joined = classic_group(bench)
    bench.join("m1", "a")
    assert bench.heartbeat("m1", -1).error_code == 0
    group = bench.group()
    assert (group.type.value, list(group.members)) == ("classic", [joined.member_id])
    assert heartbeat(bench, joined, group.generation_id) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_stays_a_consumer_group_without_downgrades(consumers):
    bench = consumers(group_initial_rebalance_delay_ms=0, group_consumer_migration_policy="upgrade")
    classic_group(bench)
    bench.join("m1", "a")
    bench.heartbeat("m1", -1)
    assert bench.group().type.value == "consumer"


def test_a_converted_group_survives_a_move_of_its_coordinator(consumers):
    bench = consumers(group_initial_rebalance_delay_ms=0)
    classic_group(bench)
    bench.join("m1", "a")
    before = bench.describe()
    runtime = bench.broker.coordinators.groups.runtime
    runtime.resigned(0)
    runtime.elected(0, 1)
    bench.wait(10)
    assert bench.describe() == before
