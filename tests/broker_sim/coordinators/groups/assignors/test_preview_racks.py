"""Racks of members and partitions."""

from __future__ import annotations

from broker_sim.coordinators.groups.assignors.preview_racks import Racks
from tests.broker_sim.coordinators.groups.assignors.specs import spec_of, topic_id

FIRST, SECOND, THIRD = ((topic_id(1), number) for number in range(3))
EVERYWHERE = {(1, 0): "x", (1, 1): "x", (1, 2): "x"}


def racks_of(racks: dict[str, str], partition_racks: dict[tuple[int, int], str]) -> Racks:
    spec = spec_of({1: 3}, dict.fromkeys("abc", (1,)), racks=racks, partition_racks=partition_racks)
    return Racks(spec, [FIRST, SECOND, THIRD])


def test_racks_matter_where_members_and_partitions_share_some():
    assert racks_of({"a": "x"}, EVERYWHERE | {(1, 1): "y"}).matter
    assert not racks_of({}, EVERYWHERE | {(1, 1): "y"}).matter
    assert not racks_of({"a": "z"}, EVERYWHERE | {(1, 1): "y"}).matter
    assert not racks_of({"a": "x"}, EVERYWHERE).matter


def test_members_match_partitions_in_their_rack():
    racks = racks_of({"a": "x", "b": "y"}, {(1, 0): "x", (1, 1): "y"})
    assert [racks.match(name, FIRST) for name in "abc"] == [True, False, False]
    assert [racks.match(name, THIRD) for name in "abc"] == [False, False, False]


def test_partitions_with_few_members_near_come_first():
    racks = racks_of({"a": "x", "b": "x", "c": "y"}, {(1, 0): "x", (1, 1): "y"})
    assert racks.in_order([FIRST, SECOND, THIRD]) == [SECOND, FIRST]


def test_members_with_few_partitions_come_first_and_keep_their_order():
    racks = racks_of({"a": "x", "b": "x"}, {(1, 0): "x", (1, 1): "y"})
    assert racks.members_near(FIRST, {"a": 2, "b": 1}.__getitem__) == ["b", "a"]
    assert racks.members_near(FIRST, {"a": 1, "b": 1}.__getitem__) == ["b", "a"]
