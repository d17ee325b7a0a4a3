"""Consumer groups from their heartbeats: joins, reconciliation, leaves and expirations, as a real 4.3.1 responds."""

from __future__ import annotations

import pytest

from broker_sim.control.events import GroupMemberAssigned, GroupMemberJoined, GroupMemberRemoved
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic


def test_the_first_member_gets_all_partitions_at_epoch_2(consumers):
    bench = consumers()
    response = bench.join("m1", "a", "b", "missing")
    assert (response.error_code, response.member_id, response.member_epoch) == (0, "m1", 2)
    assert response.heartbeat_interval_ms == 5000
    assert bench.partitions(response) == {"a": [0, 1, 2], "b": [0, 1]}
    assert bench.partitions(bench.heartbeat("m1", 2)) is None


@pytest.mark.parametrize(
    ("release", "with_topics", "without"), [("4.3.1", 2, 1), ("4.2.1", 1, 1), ("4.1.1", 1, 1), ("4.0.0", 1, 0)]
)
def test_the_first_epoch_depends_on_the_release(consumers, release, with_topics, without):
    bench = consumers(release=release)
    assert bench.join("m1", "a").member_epoch == with_topics
    assert bench.join("m1", group_id="other", subscribed_topic_regex="a").member_epoch == without


def test_a_second_member_gets_partitions_when_the_first_has_revoked_them(consumers):
    bench = consumers()
    bench.join("m1", "a")
    bench.wait(1100)
    joined = bench.join("m2", "a")
    assert (joined.member_epoch, bench.partitions(joined)) == (3, {})
    revoking = bench.heartbeat("m1", 2)
    assert (revoking.member_epoch, bench.partitions(revoking)) == (2, {"a": [0, 1]})
    assert bench.partitions(bench.heartbeat("m2", 3)) is None
    assert bench.heartbeat("m1", 2, owned={"a": [0, 1]}).member_epoch == 3
    assert bench.partitions(bench.heartbeat("m2", 3)) == {"a": [2]}
    assert bench.describe().group_state == "Stable"


def test_an_assignment_waits_for_its_interval(consumers):
    bench = consumers()
    bench.join("m1", "a")
    assert bench.join("m2", "a").member_epoch == 2
    assert (bench.describe().group_epoch, bench.describe().assignment_epoch) == (3, 2)
    bench.wait(1000)
    bench.heartbeat("m2", 2)
    assert bench.describe().assignment_epoch == 3


def test_a_lost_response_is_repeated_with_the_previous_epoch(consumers):
    bench = consumers()
    bench.join("m1", "a")
    bench.wait(1100)
    bench.join("m2", "a")
    bench.heartbeat("m1", 2)
    assert bench.heartbeat("m1", 2, owned={"a": [0, 1]}).member_epoch == 3
    assert bench.heartbeat("m1", 2, owned={"a": [0, 1]}).member_epoch == 3
    fenced = bench.heartbeat("m1", 2, owned={"a": [0, 1, 2]})
    assert fenced.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert fenced.error_message == (
        "The consumer group member has a smaller member epoch (2) than the one known by the group coordinator (3). "
        "The member must abandon all its partitions and rejoin."
    )


@pytest.mark.parametrize(("epoch", "text"), [(1, "Consumer group x not found."), (-1, "Group x not found.")])
def test_an_unknown_group_is_refused(consumers, epoch, text):
    response = consumers().heartbeat("m1", epoch, group_id="x")
    assert (response.error_code, response.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, text)


def test_a_dropped_topic_is_revoked_at_once(consumers):
    bench = consumers()
    bench.join("m1", "a", "b")
    response = bench.heartbeat("m1", 2, subscribed_topic_names=["a"])
    assert (response.member_epoch, bench.partitions(response)) == (2, {"a": [0, 1, 2]})
    assert [topic.topic_name for topic in bench.describe().members[0].assignment.topic_partitions].count("b") == 1
    bench.wait(1000)
    assert bench.heartbeat("m1", 2, owned={"a": [0, 1, 2]}).member_epoch == 3


def test_a_member_that_leaves_makes_a_new_epoch(consumers):
    bench = consumers()
    bench.join("m1", "a")
    left = bench.heartbeat("m1", -1)
    assert (left.error_code, left.member_epoch, left.heartbeat_interval_ms) == (0, -1, 0)
    assert (bench.describe().group_state, bench.describe().group_epoch) == ("Empty", 3)
    assert bench.heartbeat("m1", -1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_removed(consumers):
    bench = consumers(group_consumer_session_timeout_ms=50_000)
    bench.join("m1", "a")
    bench.wait(40_000)
    bench.heartbeat("m1", 2)
    bench.wait(49_900)
    assert bench.group().members.keys() == ["m1"]
    bench.wait(200)
    assert bench.group().is_empty()


def test_a_member_that_does_not_revoke_is_removed(consumers):
    bench = consumers()
    bench.join("m1", "a", rebalance_timeout_ms=700)
    bench.wait(1100)
    bench.join("m2", "a")
    bench.heartbeat("m1", 2)
    bench.wait(699)
    assert "m1" in bench.group().members
    bench.wait(1)
    assert "m1" not in bench.group().members
    assert bench.heartbeat("m1", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_keeps_its_partitions_over_a_pause(consumers):
    bench = consumers()
    bench.join("m1", "a", instance_id="i")
    assert bench.join("m2", "a", instance_id="i").error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert bench.heartbeat("m1", -2, instance_id="i").member_epoch == -2
    response = bench.join("m2", "a", instance_id="i")
    assert (response.member_epoch, bench.partitions(response)) == (2, {"a": [0, 1, 2]})
    assert bench.describe().group_epoch == 2
    assert bench.heartbeat("m1", 2, instance_id="i").error_code == ErrorCode.FENCED_INSTANCE_ID
    assert bench.heartbeat("m1", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group_refuses_newcomers(consumers):
    bench = consumers(group_consumer_max_size=1)
    bench.join("m1", "a")
    refused = bench.join("m2", "a")
    assert (refused.error_code, refused.error_message) == (
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        "The consumer group has reached its maximum capacity of 1 members.",
    )
    assert bench.join("m1", "a").error_code == 0


def test_a_member_without_an_id_gets_one(consumers):
    response = consumers().join("", "a", version=0)
    assert (response.error_code, len(response.member_id)) == (0, 22)


def test_more_partitions_make_a_new_epoch(consumers):
    bench = consumers()
    bench.join("m1", "a")
    bench.wait(1100)
    topic = CreatePartitionsTopic(name="a", count=5, assignments=None)
    bench.api.exchange(CreatePartitionsRequest(topics=[topic], timeout_ms=1000), 2)
    bench.wait(100)
    response = bench.heartbeat("m1", 2)
    assert (response.member_epoch, bench.partitions(response)) == (3, {"a": [0, 1, 2, 3, 4]})


def test_a_restarted_coordinator_knows_its_groups(consumers):
    bench = consumers()
    bench.join("m1", "a", "b", instance_id="i")
    before = bench.describe()
    runtime = bench.broker.coordinators.groups.runtime
    runtime.resigned(0)
    runtime.elected(0, 1)
    bench.wait(10)
    assert bench.describe() == before
    assert bench.heartbeat("m1", 2).error_code == 0
    bench.wait(45_000)
    assert bench.group().is_empty()


def test_the_journal_has_the_life_of_a_member(consumers):
    bench = consumers()
    bench.join("m1", "a")
    bench.heartbeat("m1", -1)
    kinds = (GroupMemberJoined, GroupMemberAssigned, GroupMemberRemoved)
    events = bench.broker.journal.events_of(*kinds)
    assert [type(event) for event in events] == list(kinds)
    assert events[1].assignment == "a-0, a-1, a-2"
