"""Uniform assignments of 3.7 of members with different topics; thousands of drawn ones were compared with Kafka's."""

from __future__ import annotations

import pytest
from hypothesis import given

from broker_sim.coordinators.groups.assignors.assignor import AssignorError, UnexpectedAssignorError
from broker_sim.coordinators.groups.assignors.preview_heterogeneous import PreviewHeterogeneousAssignment
from tests.broker_sim.coordinators.groups.assignors.specs import (
    SUBSCRIPTIONS,
    TOPICS,
    numbers_of,
    spec_of,
    topic_id,
)


def test_partitions_go_to_the_least_loaded_subscriber():
    spec = spec_of({1: 2, 2: 2}, {"a": (1, 2), "b": (2,)})
    assert numbers_of(PreviewHeterogeneousAssignment(spec).build()) == {"a": {1: [0, 1]}, "b": {2: [0, 1]}}


def test_partitions_move_to_a_new_subscriber():
    spec = spec_of({1: 4, 2: 1}, {"a": (1, 2), "b": (1,)}, {"a": {topic_id(1): frozenset(range(4))}})
    assert numbers_of(PreviewHeterogeneousAssignment(spec).build()) == {"a": {1: [2, 3], 2: [0]}, "b": {1: [0, 1]}}


def test_members_in_the_rack_of_a_partition_come_first():
    racks = {(1, 0): "y", (1, 1): "x", (2, 0): "y"}
    targets = {"a": {topic_id(1): frozenset({0})}}
    spec = spec_of({1: 2, 2: 1}, {"a": (1,), "b": (1, 2)}, targets, {"a": "x", "b": "y"}, racks)
    assert numbers_of(PreviewHeterogeneousAssignment(spec).build()) == {"a": {1: [1]}, "b": {1: [0], 2: [0]}}


def test_a_partition_may_move_to_a_member_in_its_rack_that_does_not_subscribe():
    racks = {(1, 0): "r2", (2, 0): "r3", (2, 1): "r1", (2, 2): "r1"}
    targets = {"a": {topic_id(2): frozenset({0, 1, 2})}}
    spec = spec_of({1: 2, 2: 3}, {"a": (2,), "b": (1,), "c": (1, 2)}, targets, {"a": "r1", "b": "r1"}, racks)
    found = numbers_of(PreviewHeterogeneousAssignment(spec).build())
    assert sum(len(partitions) for topics in found.values() for partitions in topics.values()) == 5


def test_a_member_without_topics_is_an_error_as_in_kafka():
    with pytest.raises(UnexpectedAssignorError, match="MemberAssignment"):
        PreviewHeterogeneousAssignment(spec_of({1: 1}, {"a": (1,), "b": ()})).build()


def test_no_topics_are_no_partitions():
    assert PreviewHeterogeneousAssignment(spec_of({}, {"a": ()})).build() == {}


@given(SUBSCRIPTIONS)
def test_each_subscribed_partition_has_a_subscriber(subscriptions):
    try:
        found = PreviewHeterogeneousAssignment(spec_of(TOPICS, subscriptions)).build()
    except AssignorError:
        return  # as Kafka, which moves a partition twice
    assert sum(len(partitions) for topics in found.values() for partitions in topics.values()) == sum(
        TOPICS[number] for number in {each for numbers in subscriptions.values() for each in numbers}
    )
    for member_id, topics in numbers_of(found).items():
        assert set(topics) <= set(subscriptions[member_id])
