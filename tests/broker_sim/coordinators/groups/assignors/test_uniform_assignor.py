"""Uniform assignments: complete, balanced, and stable once they are made."""

from __future__ import annotations

from hypothesis import given

from broker_sim.coordinators.groups.assignors.uniform_assignor import UniformAssignor
from broker_sim.coordinators.groups.modern.topic_partitions import each_partition
from tests.broker_sim.coordinators.groups.assignors.specs import SUBSCRIPTIONS, TOPICS, spec_of, topic_id


def test_a_group_without_members_has_no_assignment():
    assert UniformAssignor().assign(spec_of({}, {})) == {}


@given(SUBSCRIPTIONS, SUBSCRIPTIONS)
def test_each_partition_has_one_subscriber_and_a_second_run_changes_nothing(before, after):
    assignor = UniformAssignor()
    first = assignor.assign(spec_of(TOPICS, before))
    kept = {member_id: target for member_id, target in first.items() if member_id in after}
    second = assignor.assign(spec_of(TOPICS, after, kept))
    owned = [each for topics in second.values() for each in each_partition(topics)]
    subscribed = {number for numbers in after.values() for number in numbers}
    assert sorted(owned) == sorted(
        (topic_id(number), partition) for number in subscribed for partition in range(TOPICS[number])
    )
    for member_id, topics in second.items():
        assert set(topics) <= {topic_id(number) for number in after[member_id]}
    assert assignor.assign(spec_of(TOPICS, after, second)) == second
