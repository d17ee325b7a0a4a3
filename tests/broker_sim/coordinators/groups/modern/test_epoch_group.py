"""The state of a group by its epochs and members, and the expiry of its metadata."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.modern.epoch_group import GroupState
from broker_sim.coordinators.groups.modern.modern_group import ModernGroup
from broker_sim.coordinators.groups.modern.modern_member import ModernMember
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
from protocol_specs.error_codes import ErrorCode

ANN = ModernMember(member_id="ann", member_epoch=1)


@pytest.fixture
def registry():
    return SnapshotRegistry()


@pytest.fixture
def group(registry):
    return ModernGroup[ModernMember](registry, "group", first_epoch=1)


def test_the_state_follows_epochs_and_members(group):
    assert group.state() is GroupState.EMPTY
    group.put_member(ANN)
    assert group.state() is GroupState.STABLE
    group.group_epoch.set(2)
    assert group.state() is GroupState.ASSIGNING
    group.assignment_epoch.set(2)
    assert group.state() is GroupState.RECONCILING
    group.put_member(replace(ANN, member_epoch=2))
    assert group.state_name() == "Stable"


def test_the_state_is_that_of_an_offset(registry, group):
    group.put_member(ANN)
    registry.snapshot(5)
    group.group_epoch.set(2)
    registry.snapshot(6)
    group.remove_member("ann")
    assert [group.state(5), group.state(6), group.state()] == [
        GroupState.STABLE,
        GroupState.ASSIGNING,
        GroupState.EMPTY,
    ]
    assert (group.member_ids(6), group.member_ids()) == (["ann"], [])


def test_an_unknown_member_is_refused(group):
    with pytest.raises(CoordinatorError) as refused:
        group.existing_member("a")
    assert refused.value.error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert refused.value.message == "Member a is not a member of group group."


def test_metadata_expires_by_time_request_and_reverted_epoch(group):
    assert group.has_metadata_expired(0)
    group.group_epoch.set(3)
    group.refresh_metadata_at(100, 3)
    assert not group.has_metadata_expired(99)
    assert group.has_metadata_expired(100)
    group.group_epoch.set(2)
    assert group.has_metadata_expired(99)
    group.group_epoch.set(3)
    group.request_metadata_refresh()
    assert group.has_metadata_expired(0)


def test_a_member_of_an_offset_is_found_after_it_has_left(registry, group):
    group.put_member(ANN)
    registry.snapshot(5)
    group.remove_member("ann")
    assert group.existing_member("ann", 5) is ANN
    with pytest.raises(CoordinatorError):
        group.existing_member("ann")


def test_only_an_empty_group_may_be_deleted(group):
    group.check_delete()
    group.put_member(ANN)
    with pytest.raises(CoordinatorError) as refused:
        group.check_delete()
    assert refused.value.error_code is ErrorCode.NON_EMPTY_GROUP


def test_a_target_assignment_waits_for_the_interval_since_the_last(group):
    assert not group.awaits_assignment_interval(10, 1000)
    group.assignment_timestamp_ms.set(500)
    assert group.awaits_assignment_interval(1499, 1000)
    assert not group.awaits_assignment_interval(1500, 1000)
    assert not group.awaits_assignment_interval(500, 0)
