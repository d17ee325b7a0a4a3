"""The records of a group that a real 4.3.1 writes for the same heartbeats."""

from __future__ import annotations

from broker_sim.coordinators.groups.consumer import consumer_records
from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember


def test_the_records_of_a_group_have_types_3_to_8_and_16():
    tombstones = (
        consumer_records.group_epoch_tombstone("g"),
        consumer_records.partition_metadata_tombstone("g"),
        consumer_records.member_tombstone("g", "m"),
        consumer_records.assignment_epoch_tombstone("g"),
        consumer_records.target_tombstone("g", "m"),
        consumer_records.current_assignment_tombstone("g", "m"),
        consumer_records.regex_tombstone("g", "x"),
    )
    assert [record.key.RECORD_TYPE for record in tombstones] == [3, 4, 5, 6, 7, 8, 16]
    assert all(record.value is None for record in tombstones)


def test_the_tombstones_of_a_member_come_in_kafkas_order():
    types = [record.key.RECORD_TYPE for record in consumer_records.member_tombstones("g", ["m", "n"])]
    assert types == [8, 7, 5, 8, 7, 5]


def test_topics_without_epochs_have_a_null_list():
    member = ConsumerMember(member_id="m", assigned={b"t" * 16: frozenset({2, 0})})
    value = consumer_records.current_assignment_record("g", member).value
    (topic,) = value.assigned_partitions
    assert (topic.partitions, topic.assignment_epochs) == ([0, 2], None)


def test_subscribed_names_are_sorted():
    member = ConsumerMember(member_id="m", subscribed_topic_names=frozenset({"b", "a", "c"}))
    assert consumer_records.member_record("g", member).value.subscribed_topic_names == ["a", "b", "c"]
