"""Records that consumer, share and streams groups have in common: values create groups, tombstones undo records."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.groups.group_registry import GroupRegistry
from broker_sim.coordinators.groups.group_shard import Replayed
from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH
from broker_sim.coordinators.groups.modern.modern_group import ModernGroup
from broker_sim.coordinators.groups.streams import streams_records
from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
from broker_sim.coordinators.groups.streams.streams_member import StreamsMember, TaskState
from broker_sim.coordinators.groups.streams.streams_replay import StreamsReplay
from broker_sim.coordinators.groups.streams.tasks import NO_HELD_TASKS, HeldTasks, Tasks
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

ANN = StreamsMember(
    member_id="ann",
    member_epoch=3,
    previous_member_epoch=2,
    state=TaskState.STABLE,
    process_id="p",
    assigned=HeldTasks(active={"0": {1: 3}}),
)
GROUP_EPOCH = streams_records.group_record(
    "g", 3, metadata_hash=7, validated_topology_epoch=0, assignment_configs={"num.standby.replicas": "0"}
)
ASSIGNMENT_EPOCH = streams_records.assignment_epoch_record("g", 3, 1234)
MEMBER = streams_records.member_record("g", ANN)
TARGET = streams_records.target_record("g", "ann", Tasks(active={"0": frozenset({1})}))
ASSIGNMENT = streams_records.current_assignment_record("g", ANN)
ALL = (GROUP_EPOCH, ASSIGNMENT_EPOCH, MEMBER, TARGET, ASSIGNMENT)


class Replays:
    def __init__(self):
        self.registry = SnapshotRegistry()
        self.groups = GroupRegistry(self.registry)
        self.replay = StreamsReplay(self.registry, self.groups)

    def apply(self, *records):
        for record in records:
            self.replay.handlers[type(record.key)](Replayed(record.key, record.value, 0, -1, -1))
        return self.groups.get("g")


def tombstone(record):
    return CoordinatorRecord(record.key, None)


def test_values_make_the_group_and_its_member():
    group = Replays().apply(*ALL)
    assert isinstance(group, StreamsGroup)
    assert group.members["ann"] == ANN
    assert (group.group_epoch.get(), group.assignment_epoch.get(), group.assignment_timestamp_ms.get()) == (3, 3, 1234)
    assert group.target_of("ann") == Tasks(active={"0": frozenset({1})})


@pytest.mark.parametrize("record", ALL)
def test_a_tombstone_of_an_unknown_group_is_ignored(record):
    assert Replays().apply(tombstone(record)) is None


@pytest.mark.parametrize("record", [MEMBER, TARGET, ASSIGNMENT])
def test_a_tombstone_of_an_unknown_member_is_ignored(record):
    assert Replays().apply(GROUP_EPOCH, tombstone(record)).is_empty()


def test_the_tombstone_of_the_epoch_removes_the_group():
    assert Replays().apply(*ALL, tombstone(GROUP_EPOCH)) is None


def test_the_tombstone_of_the_assignment_epoch_forgets_when_it_was_computed():
    group = Replays().apply(*ALL, tombstone(ASSIGNMENT_EPOCH))
    assert (group.assignment_epoch.get(), group.assignment_timestamp_ms.get()) == (-1, 0)


def test_the_tombstone_of_the_assignment_keeps_the_member():
    member = Replays().apply(*ALL, tombstone(ASSIGNMENT)).members["ann"]
    assert (member.member_epoch, member.previous_member_epoch) == (LEAVE_EPOCH, LEAVE_EPOCH)
    assert member.assigned == NO_HELD_TASKS
    assert member.process_id == "p"


def test_tombstones_remove_the_target_and_the_member():
    group = Replays().apply(*ALL, tombstone(TARGET), tombstone(MEMBER))
    assert group.target_of("ann") == Tasks()
    assert group.is_empty()


def test_a_value_replaces_a_group_of_another_type():
    replays = Replays()
    replays.groups.add(ModernGroup(replays.registry, "g"))
    assert isinstance(replays.apply(MEMBER), StreamsGroup)
