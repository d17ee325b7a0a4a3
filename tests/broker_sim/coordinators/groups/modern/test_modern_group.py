"""Counts over the subscriptions of the members of a group."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.groups.modern.modern_group import ModernGroup, is_homogeneous
from broker_sim.coordinators.groups.modern.modern_member import ModernMember
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry


def member(member_id, *topics):
    return ModernMember(member_id=member_id, subscribed_topic_names=frozenset(topics))


@pytest.fixture
def registry():
    return SnapshotRegistry()


@pytest.fixture
def group(registry):
    return ModernGroup[ModernMember](registry, "group")


def test_subscribers_are_counted_per_topic(group):
    group.put_member(member("a", "x", "y"))
    group.put_member(member("b", "x"))
    assert dict(group.subscribers.items()) == {"x": 2, "y": 1}
    group.put_member(member("a", "z"))
    group.remove_member("b")
    assert dict(group.subscribers.items()) == {"z": 1}
    assert group.is_subscribed_to("z")
    assert not group.is_subscribed_to("x")


def test_a_change_is_counted_before_it_is_made(group):
    group.put_member(member("a", "x", "y"))
    assert group.subscribers_with([member("a", "x", "y")], member("a", "y")) == {"y": 1}
    assert group.subscribers_with([], member("b", "x")) == {"x": 2, "y": 1}
    assert group.subscribers["x"] == 1


def test_members_revert_with_their_counts(registry, group):
    group.put_member(member("a", "x"))
    registry.snapshot(1)
    group.remove_member("a")
    assert group.is_empty()
    registry.revert_to(1)
    assert not group.is_empty()
    assert group.subscribers["x"] == 1


def test_a_group_uses_the_topics_of_its_subscribers(group):
    group.put_member(member("a", "x"))
    assert group.uses_any(frozenset({"x", "y"}))
    assert not group.uses_any(frozenset({"y"}))


def test_members_with_the_same_topics_are_homogeneous():
    assert is_homogeneous({"x": 2, "y": 2}, 2)
    assert is_homogeneous({}, 2)
    assert not is_homogeneous({"x": 2, "y": 1}, 2)
