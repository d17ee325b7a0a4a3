"""The members and topics that an assignor gets, and the changes of its result."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.assignors.assignor import AssignorError
from broker_sim.coordinators.groups.modern.modern_group import ModernGroup
from broker_sim.coordinators.groups.modern.modern_member import ModernMember
from broker_sim.coordinators.groups.modern.target_assignment import compute_target_assignment
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
from broker_sim.metadata.metadata_image import PartitionRegistration, TopicImage
from protocol_specs.error_codes import ErrorCode

TOPIC = bytes(15) + b"\x01"


class Recording:
    """Gives the first member everything."""

    name = "recording"

    def __init__(self, error=None):
        self.spec = None
        self.error = error

    def assign(self, spec):
        self.spec = spec
        if self.error is not None:
            raise self.error
        return {next(iter(spec.members)): {TOPIC: frozenset(range(spec.partitions_of(TOPIC)))}}


def topics(count):
    partition = PartitionRegistration(replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0)
    return {"x": TopicImage(name="x", topic_id=TOPIC, partitions=(partition,) * count, configs={})}


@pytest.fixture
def group():
    group = ModernGroup[ModernMember](SnapshotRegistry(), "group")
    for member_id in ("b", "a"):
        group.put_member(member(member_id))
    group.target["a"] = {TOPIC: frozenset({0})}
    return group


def member(member_id, **changes):
    return ModernMember(member_id=member_id, subscribed_topic_names=frozenset({"x", "gone"}), **changes)


def compute(group, assignor, updated, replaced_id=None):
    return compute_target_assignment(
        group,
        assignor,
        group_epoch=7,
        updated=updated,
        replaced_id=replaced_id,
        homogeneous=True,
        topics=topics(2),
        topic_names=lambda each: each.subscribed_topic_names,
    )


def test_members_come_in_the_order_of_a_hash_map_and_missing_topics_are_left_out(group):
    assignor = Recording()
    target = compute(group, assignor, member("c"))
    assert list(assignor.spec.members) == ["a", "b", "c"]
    assert all(list(each.topic_ids) == [TOPIC] for each in assignor.spec.members.values())
    assert assignor.spec.members["a"].target == {TOPIC: frozenset({0})}
    assert assignor.spec.assigned == {(TOPIC, 0)}
    assert target.members == {"a": {TOPIC: frozenset({0, 1})}, "b": {}, "c": {}}
    assert target.changed == target.members


def test_an_equal_assignment_is_no_change(group):
    group.target["a"] = {TOPIC: frozenset({0, 1})}
    group.target["b"] = {}
    assert compute(group, Recording(), member("b")).changed == {}


def test_a_static_member_inherits_the_target_of_the_id_that_it_replaces(group):
    assignor = Recording()
    compute(group, assignor, member("d", instance_id="i"), replaced_id="a")
    assert list(assignor.spec.members) == ["b", "d"]
    assert assignor.spec.members["d"].target == {TOPIC: frozenset({0})}


def test_a_failing_assignor_is_an_unknown_server_error(group):
    with pytest.raises(CoordinatorError) as refused:
        compute(group, Recording(AssignorError("no way")), member("a"))
    assert refused.value.error_code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert refused.value.message == "Failed to compute a new target assignment for epoch 7: no way"
