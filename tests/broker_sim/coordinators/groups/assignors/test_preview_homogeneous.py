"""Uniform assignments of 3.7 of members with the same topics; thousands of drawn ones were compared with Kafka's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker_sim.coordinators.groups.assignors.preview_homogeneous import PreviewHomogeneousAssignment
from tests.broker_sim.coordinators.groups.assignors.specs import numbers_of, spec_of, topic_id


def test_members_get_partitions_in_turn():
    spec = spec_of({1: 3, 2: 2}, {"a": (1, 2), "b": (1, 2)})
    assert numbers_of(PreviewHomogeneousAssignment(spec).build()) == {"a": {1: [0, 2], 2: [1]}, "b": {1: [1], 2: [0]}}


def test_members_keep_their_partitions_and_an_extra_one():
    spec = spec_of({1: 5}, {"a": (1,), "b": (1,)}, {"b": {topic_id(1): frozenset({0, 1, 2, 3})}})
    assert numbers_of(PreviewHomogeneousAssignment(spec).build()) == {"a": {1: [3, 4]}, "b": {1: [0, 1, 2]}}


def test_partitions_go_to_members_in_their_racks():
    racks = {(1, number): "yxyx"[number] for number in range(4)}
    targets = {"a": {topic_id(1): frozenset({0, 1})}}
    spec = spec_of({1: 4}, {"a": (1,), "b": (1,)}, targets, {"a": "x", "b": "y"}, racks)
    assert numbers_of(PreviewHomogeneousAssignment(spec).build()) == {"a": {1: [1, 3]}, "b": {1: [0, 2]}}


def test_a_partition_without_members_near_stays_with_its_owner():
    racks = {(1, 0): "z", (1, 1): "x"}
    spec = spec_of({1: 2}, {"a": (1,), "b": (1,)}, {"b": {topic_id(1): frozenset({0})}}, {"a": "x"}, racks)
    assert numbers_of(PreviewHomogeneousAssignment(spec).build()) == {"a": {1: [1]}, "b": {1: [0]}}


def test_no_topics_are_no_partitions():
    assert PreviewHomogeneousAssignment(spec_of({}, {"a": ()})).build() == {}


@given(st.integers(1, 7), st.integers(0, 20), st.integers(0, 20))
def test_members_differ_by_one_partition_at_most(members, first, second):
    spec = spec_of({1: first, 2: second}, {f"m{index}": (1, 2) for index in range(members)})
    sizes = [sum(map(len, topics.values())) for topics in PreviewHomogeneousAssignment(spec).build().values()]
    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == first + second
