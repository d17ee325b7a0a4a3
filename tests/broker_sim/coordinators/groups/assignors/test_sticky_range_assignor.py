"""Ranges that stay with their members."""

from __future__ import annotations

from broker_sim.coordinators.groups.assignors.sticky_range_assignor import StickyRangeAssignor
from tests.broker_sim.coordinators.groups.assignors.specs import numbers_of, spec_of, topic_id


def test_each_topic_is_dealt_in_ranges():
    spec = spec_of({1: 3, 2: 2}, {"a": (1, 2), "b": (1, 2)})
    assert numbers_of(StickyRangeAssignor().assign(spec)) == {"a": {1: [0, 1], 2: [0]}, "b": {1: [2], 2: [1]}}


def test_members_keep_their_partitions():
    spec = spec_of({1: 5}, {"a": (1,), "b": (1,)}, {"b": {topic_id(1): frozenset({0, 1, 2, 3})}})
    assert numbers_of(StickyRangeAssignor().assign(spec)) == {"a": {1: [3, 4]}, "b": {1: [0, 1, 2]}}


def test_a_partition_of_two_members_stays_with_both():
    held = {topic_id(1): frozenset({0})}
    spec = spec_of({1: 3}, dict.fromkeys("abc", (1,)), {"a": held, "b": held})
    assert numbers_of(StickyRangeAssignor().assign(spec)) == {"a": {1: [0]}, "b": {1: [0]}, "c": {1: [1]}}
