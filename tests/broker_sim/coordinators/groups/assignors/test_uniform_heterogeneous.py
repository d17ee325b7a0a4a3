"""Uniform assignments of members with different topics."""

from __future__ import annotations

from broker_sim.coordinators.groups.assignors.uniform_heterogeneous import HeterogeneousAssignment
from broker_sim.coordinators.groups.modern.topic_partitions import listed
from tests.broker_sim.coordinators.groups.assignors.specs import numbers_of, spec_of, topic_id


def test_free_partitions_go_to_the_least_loaded_subscriber():
    spec = spec_of({1: 4, 2: 2}, {"a": (1, 2), "b": (2,)})
    assert numbers_of(HeterogeneousAssignment(spec).build()) == {"a": {1: [0, 1, 2, 3]}, "b": {2: [0, 1]}}


def test_partitions_move_from_the_most_loaded_member():
    targets = {"a": {topic_id(1): frozenset({0, 1, 2, 3})}}
    spec = spec_of({1: 4, 2: 0}, {"a": (1, 2), "b": (1,)}, targets)
    assert numbers_of(HeterogeneousAssignment(spec).build()) == {"a": {1: [0, 1]}, "b": {1: [2, 3]}}


def test_a_topic_that_a_member_dropped_goes_to_its_subscribers():
    targets = {"a": {topic_id(1): frozenset({0, 1})}}
    spec = spec_of({1: 2, 2: 1}, {"a": (2,), "b": (1,)}, targets)
    assert numbers_of(HeterogeneousAssignment(spec).build()) == {"a": {2: [0]}, "b": {1: [0, 1]}}


def test_a_kept_partition_is_listed_before_a_new_one_of_its_bucket():
    targets = {"a": {topic_id(1): frozenset({16})}, "b": {topic_id(1): frozenset(range(1, 16))}}
    found = HeterogeneousAssignment(spec_of({1: 17, 2: 1}, {"a": (1,), "b": (1, 2)}, targets)).build()
    assert listed(found["a"][topic_id(1)])[:2] == [16, 0]
