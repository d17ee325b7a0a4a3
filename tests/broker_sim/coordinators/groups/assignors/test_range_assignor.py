"""Ranges of partitions."""

from __future__ import annotations

from dataclasses import replace

from broker_sim.coordinators.groups.assignors.assignor import GroupSpec
from broker_sim.coordinators.groups.assignors.range_assignor import RangeAssignor
from broker_sim.coordinators.groups.modern.topic_partitions import listed
from tests.broker_sim.coordinators.groups.assignors.specs import numbers_of, spec_of, topic_id


def test_ranges_are_co_partitioned():
    spec = spec_of({1: 3, 2: 3}, {"b": (1, 2), "a": (1, 2)})
    assert numbers_of(RangeAssignor().assign(spec)) == {"a": {1: [0, 1], 2: [0, 1]}, "b": {1: [2], 2: [2]}}


def test_members_of_one_topic_share_it():
    spec = spec_of({1: 3, 2: 3}, {"a": (1, 2), "b": (1,), "c": (1, 2)})
    assert numbers_of(RangeAssignor().assign(spec)) == {
        "a": {1: [0], 2: [0, 1]},
        "b": {1: [1]},
        "c": {1: [2], 2: [2]},
    }


def test_static_members_come_first_by_instance_id():
    spec = spec_of({1: 2}, {"a": (1,), "b": (1,), "c": (1,)})
    instances = {"a": None, "b": "z", "c": "y"}
    members = {each: replace(spec.members[each], instance_id=instance) for each, instance in instances.items()}
    found = RangeAssignor().assign(GroupSpec(members, homogeneous=True, partition_counts=spec.partition_counts))
    assert numbers_of(found) == {"c": {1: [0]}, "b": {1: [1]}, "a": {}}


def test_a_range_is_listed_by_number():
    found = RangeAssignor().assign(spec_of({1: 20}, {"a": (1,), "b": (1,)}))
    assert listed(found["b"][topic_id(1)]) == list(range(10, 20))
