"""Sets in the order of insertion, and equal to built-in ones."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_runtime.ordered_sets import FrozenOrderedSet, OrderedSet, OrderedWeakSet

MEMBERS = st.lists(st.text(max_size=2), max_size=6)
OPERATORS = ("__or__", "__and__", "__sub__", "__xor__")
METHODS = ("union", "intersection", "difference", "symmetric_difference")
IN_PLACE = ("__ior__", "__iand__", "__isub__", "__ixor__")
UPDATES = ("update", "intersection_update", "difference_update", "symmetric_difference_update")


@pytest.mark.parametrize(("ordered", "built_in"), [(OrderedSet, set), (FrozenOrderedSet, frozenset)])
def test_the_order_is_that_of_insertion(ordered: type, built_in: type) -> None:
    names = [f"broker-{number}" for number in range(50)]
    assert list(ordered(reversed(names))) == names[::-1]
    assert list(ordered(names) - {"broker-3"}) == [name for name in names if name != "broker-3"]
    assert list(ordered(names).union(["a"])) == [*names, "a"]
    assert [*ordered(names) & set(names)] == names
    assert [*built_in(names) & ordered(names)] == names
    assert list(copy.deepcopy(ordered(names))) == list(ordered(names).copy()) == names
    assert list(pickle.loads(pickle.dumps(ordered(names)))) == names
    assert repr(ordered("ba")).endswith("(['b', 'a'])")


def test_the_order_depends_neither_on_addresses_nor_on_the_hash_of_none() -> None:
    # Before Python 3.12 the hash of None is an address; brokers without a rack are tuples with it.
    brokers = [("broker", number, None) for number in range(30)] + [object() for _ in range(30)]
    assert list(FrozenOrderedSet(brokers)) == list(OrderedSet(brokers)) == brokers


@pytest.mark.parametrize(("ordered", "built_in"), [(OrderedSet, set), (FrozenOrderedSet, frozenset)])
@given(first=MEMBERS, second=MEMBERS)
def test_the_results_are_those_of_a_built_in_set(ordered, built_in, first, second) -> None:
    mine, plain = ordered(first), built_in(first)
    assert mine == plain
    assert len(mine) == len(plain)
    for name in OPERATORS:
        for other in (set(second), frozenset(second), OrderedSet(second), FrozenOrderedSet(second)):
            expected = getattr(plain, name)(other)
            assert getattr(mine, name)(other) == expected
            assert sorted(getattr(mine, name)(other)) == sorted(expected)
            assert getattr(plain, name)(other) == expected
        assert getattr(mine, name)(second) is NotImplemented
    for plain_left in (set(second), frozenset(second)):
        assert plain_left | mine == plain_left | plain
        assert plain_left & mine == plain_left & plain
        assert plain_left - mine == plain_left - plain
        assert plain_left ^ mine == plain_left ^ plain
    for name in METHODS:
        result = getattr(mine, name)(second)
        assert result == getattr(plain, name)(second)
        assert list(result) == list(dict.fromkeys(result))
    assert (mine <= set(second), mine >= set(second)) == (plain <= set(second), plain >= set(second))
    assert mine.isdisjoint(second) == plain.isdisjoint(second)


@given(first=MEMBERS, second=MEMBERS)
def test_changes_are_those_of_a_built_in_set(first, second) -> None:
    for name in IN_PLACE:
        mine, plain = OrderedSet(first), set(first)
        same = getattr(mine, name)(set(second))
        getattr(plain, name)(set(second))
        assert same is mine == plain
        assert sorted(mine) == sorted(plain)
        assert getattr(mine, name)(second) is NotImplemented
    for name in UPDATES:
        mine, plain = OrderedSet(first), set(first)
        getattr(mine, name)(second)
        getattr(plain, name)(second)
        assert mine == plain
        assert sorted(mine) == sorted(plain)


def test_members_come_and_go_in_order() -> None:
    members = OrderedSet("abc")
    members.add("d")
    members.add("a")
    members.discard("b")
    members.discard("x")
    members.remove("d")
    assert list(members) == ["a", "c"]
    assert (members.pop(), list(members), len(members)) == ("a", ["c"], 1)
    members.clear()
    assert not members
    with pytest.raises(KeyError):
        members.pop()
    with pytest.raises(KeyError):
        members.remove("a")
    members.add("z")
    assert list(members) == ["z"]


def test_a_built_in_set_is_an_instance() -> None:
    assert isinstance(set(), OrderedSet)
    assert isinstance(frozenset(), FrozenOrderedSet)
    assert not isinstance([], OrderedSet)
    assert isinstance(OrderedSet(), set)
    assert hash(FrozenOrderedSet("ab")) == hash(frozenset("ab"))


def test_a_weak_set_keeps_the_order_and_no_member_alive() -> None:
    class Member:
        pass

    kept = [Member() for _ in range(5)]
    members = OrderedWeakSet()
    for member in reversed(kept):
        members.add(member)
    members.discard(kept[0])
    del member, kept[1]
    gc.collect()
    assert list(members) == [kept[3], kept[2], kept[1]]
    assert len(members) == 3
    members.clear()
    assert list(members) == []
