"""The member of a request, and its epoch."""

from __future__ import annotations

import pytest

from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup
from broker_sim.coordinators.groups.consumer.consumer_member import ClassicProtocolData, ConsumerMember
from broker_sim.coordinators.groups.consumer.member_lookup import (
    check_epoch,
    dynamic_member,
    held_static_member,
    joining_static_member,
)
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

HOLDER = ConsumerMember(member_id="m", instance_id="i", member_epoch=3, previous_member_epoch=2)


@pytest.fixture
def group():
    group = ConsumerGroup(SnapshotRegistry(), "g", behaviour=behaviour_of("4.3.1"))
    group.put_member(HOLDER)
    return group


def test_a_join_creates_a_dynamic_member(group):
    assert dynamic_member(group, "n", create=True) == ConsumerMember(member_id="n")
    with pytest.raises(CoordinatorError, match="UNKNOWN_MEMBER_ID"):
        dynamic_member(group, "n", create=False)


@pytest.mark.parametrize("classic", [False, True])
def test_a_classic_member_replaces_the_holder_of_an_instance_id(group, classic):
    records: list = []
    if classic:
        replacement = joining_static_member(group, "n", "i", records, classic=True)
        assert (replacement.member_id, replacement.member_epoch, replacement.instance_id) == ("n", 0, "i")
        assert [record.key.RECORD_TYPE for record in records] == [8, 7, 5, 5, 7, 8]
    else:
        with pytest.raises(CoordinatorError, match="UNRELEASED_INSTANCE_ID"):
            joining_static_member(group, "n", "i", records, classic=False)
        assert records == []


def test_a_classic_holder_is_replaced_too(group):
    group.put_member(ConsumerMember(member_id="m", instance_id="i", classic=ClassicProtocolData(1, ())))
    assert joining_static_member(group, "n", "i", [], classic=False).member_id == "n"


@pytest.mark.parametrize(
    ("member_id", "instance_id", "error"),
    [("m", "x", "UNKNOWN_MEMBER_ID: Instance id x is unknown."), ("n", "i", "FENCED_INSTANCE_ID")],
)
def test_an_instance_id_has_one_member(group, member_id, instance_id, error):
    with pytest.raises(CoordinatorError, match=error):
        held_static_member(group, member_id, instance_id)
    assert held_static_member(group, "m", "i") == HOLDER


@pytest.mark.parametrize(
    ("epoch", "owned", "fenced"),
    [(3, None, False), (0, None, True), (2, [], False), (2, None, True), (4, [], True), (1, [], True)],
)
def test_epochs_are_checked(epoch, owned, fenced):
    if fenced:
        with pytest.raises(CoordinatorError, match="FENCED_MEMBER_EPOCH"):
            check_epoch(HOLDER, epoch, owned)
    else:
        check_epoch(HOLDER, epoch, owned)
