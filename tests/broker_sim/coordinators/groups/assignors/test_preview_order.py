"""Orders of members and partitions."""

from __future__ import annotations

from broker_sim.coordinators.groups.assignors.preview_order import (
    all_partitions,
    by_topic_id,
    copied_set_order,
    member_rank,
    set_order,
)
from tests.broker_sim.coordinators.groups.assignors.specs import spec_of, topic_id


def test_partitions_are_in_the_order_of_their_hashes():
    spec = spec_of({1: 2, 2: 1}, {"a": (1, 2)})
    partitions = all_partitions(spec, [topic_id(2), topic_id(1)])
    assert partitions == [(topic_id(1), 0), (topic_id(1), 1), (topic_id(2), 0)]
    assert set_order(reversed(partitions)) == copied_set_order(reversed(partitions)) == partitions


def test_a_table_that_was_copied_is_larger_than_one_that_grew():
    partitions = [(topic_id(1), number) for number in range(8, 20)]
    assert set_order(partitions) != copied_set_order(partitions)


def test_ids_are_compared_as_signed_numbers():
    negative = b"\xff" * 16
    assert sorted([(topic_id(1), 1), (topic_id(1), 0), (negative, 5)], key=by_topic_id) == [
        (negative, 5),
        (topic_id(1), 0),
        (topic_id(1), 1),
    ]


def test_members_are_compared_by_utf_16_units():
    assert sorted(["\uffff", "\U00010000", "a"], key=member_rank) == ["a", "\U00010000", "\uffff"]
