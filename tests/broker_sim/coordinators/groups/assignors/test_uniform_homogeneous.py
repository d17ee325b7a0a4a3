"""Uniform assignments of members with the same topics."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker_sim.coordinators.groups.assignors.uniform_homogeneous import HomogeneousAssignment
from broker_sim.coordinators.groups.modern.topic_partitions import listed
from tests.broker_sim.coordinators.groups.assignors.specs import numbers_of, spec_of, topic_id


def test_partitions_are_dealt_member_by_member():
    spec = spec_of({1: 3, 2: 2}, {"a": (1, 2), "b": (1, 2)})
    assert numbers_of(HomogeneousAssignment(spec).build()) == {"a": {1: [0, 1]}, "b": {1: [2], 2: [0, 1]}}
    first = HomogeneousAssignment(spec, extras_stay=False)
    assert numbers_of(first.build()) == {"a": {1: [0, 1, 2]}, "b": {2: [0, 1]}}


def test_a_member_keeps_its_extra_partition():
    targets = {"b": {topic_id(1): frozenset({0, 1, 2})}}
    spec = spec_of({1: 5}, {"a": (1,), "b": (1,)}, targets)
    assert numbers_of(HomogeneousAssignment(spec).build()) == {"a": {1: [3, 4]}, "b": {1: [0, 1, 2]}}
    first = HomogeneousAssignment(spec, extras_stay=False)
    assert numbers_of(first.build()) == {"a": {1: [2, 3, 4]}, "b": {1: [0, 1]}}


def test_the_last_members_get_the_extra_partitions_that_no_member_has():
    targets = {name: {topic_id(1): frozenset({place})} for place, name in enumerate("abc")}
    spec = spec_of({1: 5}, dict.fromkeys("abc", (1,)), targets)
    assert numbers_of(HomogeneousAssignment(spec).build()) == {"a": {1: [0]}, "b": {1: [1, 3]}, "c": {1: [2, 4]}}


def test_a_new_member_gets_the_last_partitions_of_the_others():
    targets = {"a": {topic_id(1): frozenset({0, 1, 2, 3})}}
    spec = spec_of({1: 4}, {"a": (1,), "b": (1,)}, targets)
    assert numbers_of(HomogeneousAssignment(spec).build()) == {"a": {1: [0, 1]}, "b": {1: [2, 3]}}


def test_a_dropped_topic_is_not_kept():
    targets = {"a": {topic_id(1): frozenset({0}), topic_id(2): frozenset({0})}}
    spec = spec_of({2: 1}, {"a": (2,)}, targets)
    assert numbers_of(HomogeneousAssignment(spec).build()) == {"a": {2: [0]}}


@given(st.integers(1, 7), st.integers(0, 20), st.integers(0, 20), st.booleans())
def test_members_differ_by_one_partition_at_most(members, first, second, extras_stay):
    spec = spec_of({1: first, 2: second}, {f"m{index}": (1, 2) for index in range(members)})
    assignment = HomogeneousAssignment(spec, extras_stay=extras_stay).build()
    sizes = [sum(map(len, topics.values())) for topics in assignment.values()]
    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == first + second


def test_a_kept_partition_is_listed_before_a_new_one_of_its_bucket():
    targets = {"a": {topic_id(1): frozenset({16, 17})}, "b": {topic_id(1): frozenset(range(1, 10))}}
    found = HomogeneousAssignment(spec_of({1: 18}, {"a": (1,), "b": (1,)}, targets)).build()
    assert listed(found["a"][topic_id(1)]) == [16, 0, 17, 10, 11, 12, 13, 14, 15]
    lost = HomogeneousAssignment(spec_of({1: 18}, {"a": (1,), "b": (1,), "c": (1,), "d": (1,)}, found)).build()
    assert listed(lost["a"][topic_id(1)]) == [16, 0, 17, 10, 11]
