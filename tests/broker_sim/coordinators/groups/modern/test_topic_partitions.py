"""Assignments, their order and their topics."""

from __future__ import annotations

from broker_sim.coordinators.groups.modern.topic_partitions import (
    ListedPartitions,
    contains_all,
    each_partition,
    from_recorded_topics,
    from_topics,
    listed,
    ordered,
    to_topics,
)
from protocol_specs.messages.consumer_group_heartbeat import TopicPartitions

FIRST, SECOND = bytes(15) + b"\x01", bytes(15) + b"\x02"


def topic(topic_id, *partitions):
    return TopicPartitions(topic_id=topic_id, partitions=list(partitions))


def test_topics_come_in_the_order_of_their_hashes_and_partitions_in_that_of_theirs():
    assignment = {SECOND: frozenset({17, 2, 16}), FIRST: frozenset({0})}
    assert list(ordered(assignment)) == [(FIRST, [0]), (SECOND, [16, 17, 2])]
    assert to_topics(assignment, TopicPartitions) == [topic(FIRST, 0), topic(SECOND, 16, 17, 2)]
    assert from_topics(to_topics(assignment, TopicPartitions)) == assignment
    assert list(each_partition(assignment)) == [(SECOND, 2), (SECOND, 16), (SECOND, 17), (FIRST, 0)]


def test_a_request_that_owns_a_part_is_contained():
    assignment = {FIRST: frozenset({0, 1})}
    assert contains_all(assignment, [topic(FIRST, 1)])
    assert not contains_all(assignment, [topic(FIRST, 2)])
    assert not contains_all(assignment, [topic(SECOND)])


def test_partitions_of_one_bucket_are_listed_as_a_record_has_them():
    made = from_recorded_topics([topic(FIRST, 17, 1, 16, 0)])
    assert made == {FIRST: frozenset({0, 1, 16, 17})}
    assert listed(made[FIRST]) == [16, 0, 17, 1]
    assert listed(frozenset(made[FIRST])) == [0, 16, 1, 17]
    assert not isinstance(ListedPartitions.of([0, 16, 1, 17]), ListedPartitions)
