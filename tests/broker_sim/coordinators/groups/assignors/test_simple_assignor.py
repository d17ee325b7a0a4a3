"""Partitions that members share."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.groups.assignors.simple_assignor import SimpleAssignor
from broker_sim.coordinators.groups.modern.topic_partitions import listed
from tests.broker_sim.coordinators.groups.assignors.specs import numbers_of, spec_of, topic_id

BOTH = {topic_id(number): frozenset([0]) for number in (1, 2)}
"""The first partitions of two topics."""


def assignor(counts):
    return SimpleAssignor({number.to_bytes(16, "big"): frozenset(range(count)) for number, count in counts.items()})


@pytest.mark.parametrize(("partitions", "members"), [(3, 1), (3, 3), (3, 2), (2, 5), (1, 4), (7, 3)])
def test_every_partition_has_the_same_number_of_members_and_no_member_is_idle(partitions, members):
    names = [f"m{number}" for number in range(members)]
    spec = spec_of({1: partitions}, dict.fromkeys(names, (1,)))
    assigned = assignor({1: partitions}).assign(spec)
    sharing = -(-members // partitions)
    held = [partition for target in assigned.values() for each in target.values() for partition in each]
    assert all(assigned[name] for name in names)
    assert {held.count(partition) for partition in range(partitions)} <= {sharing, sharing - 1}
    assert set(held) == set(range(partitions))


def test_only_assignable_partitions_are_assigned():
    spec = spec_of({1: 3}, {"a": (1,)})
    assert numbers_of(assignor({1: 2}).assign(spec)) == {"a": {1: [0, 1]}}
    assert numbers_of(assignor({}).assign(spec)) == {"a": {}}


def test_members_share_each_topic_among_its_subscribers():
    spec = spec_of({1: 2, 2: 1}, {"a": (1,), "b": (1, 2)})
    assigned = numbers_of(assignor({1: 2, 2: 1}).assign(spec))
    assert assigned["b"][2] == [0]
    assert sorted(assigned["a"][1] + assigned["b"][1]) == [0, 1]


def test_a_topic_stays_without_partitions_when_a_member_has_lost_them():
    spec = spec_of({1: 1, 2: 1}, {"a": (1, 2), "b": (1, 2)}, {"a": BOTH})
    assigned = numbers_of(assignor({1: 1, 2: 1}).assign(spec))
    assert sorted(assigned["a"].values()) == [[], [0]]
    assert len(assigned["b"]) == 1


def test_a_topic_without_subscribers_is_removed_only_if_all_subscriptions_are_the_same():
    before = {"a": BOTH}
    same = spec_of({1: 1}, {"a": (1,)}, before)
    assert numbers_of(assignor({1: 1}).assign(same)) == {"a": {1: [0]}}
    different = spec_of({1: 1, 3: 1}, {"a": (1,), "b": (3,)}, before)
    assert numbers_of(assignor({1: 1, 3: 1}).assign(different)) == {"a": {1: [0], 2: [0]}, "b": {3: [0]}}


def test_a_kept_partition_is_listed_before_a_new_one_of_its_bucket():
    found = assignor({1: 17}).assign(
        spec_of({1: 17}, {"a": (1,)}, {"a": {topic_id(1): frozenset(range(1, 10)) | {16}}})
    )
    assert sorted(found["a"][topic_id(1)]) == list(range(17))
    few = SimpleAssignor({topic_id(1): frozenset({0, 16})})
    found = few.assign(spec_of({1: 17}, {"a": (1,)}, {"a": {topic_id(1): frozenset({16})}}))
    assert listed(found["a"][topic_id(1)]) == [16, 0]
