"""Records and their replay: the state after a load equals the one before, also without compacted records."""

from __future__ import annotations

import pytest

from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.coordinators.groups.consumer import consumer_records
from broker_sim.coordinators.groups.consumer.consumer_group import ResolvedRegex
from broker_sim.coordinators.groups.consumer.consumer_member import ClassicProtocolData, ConsumerMember
from broker_sim.coordinators.groups.consumer.consumer_replay import ConsumerReplay
from broker_sim.coordinators.groups.group_registry import GroupRegistry
from broker_sim.coordinators.groups.group_shard import Replayed
from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.groups.modern.subscription_metadata import TopicMetadata
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord, Log
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

T = b"t" * 16
MEMBER = ConsumerMember(
    member_id="m",
    member_epoch=3,
    previous_member_epoch=2,
    state=MemberState.UNREVOKED_PARTITIONS,
    instance_id="i",
    rack_id="r",
    client_id="c",
    client_host="/127.0.0.1",
    subscribed_topic_names=frozenset({"x", "y"}),
    subscribed_topic_regex="z.*",
    rebalance_timeout_ms=1000,
    server_assignor="range",
    assigned={T: frozenset({0})},
    pending_revocation={T: frozenset({1})},
    assignment_epochs={(T, 0): 3, (T, 1): 2},
    classic=ClassicProtocolData(500, (("range", b"meta"),)),
)


class Replays:
    def __init__(self, *, release="4.3.1"):
        registry = SnapshotRegistry()
        self.groups = GroupRegistry(registry)
        self.replay = ConsumerReplay(registry, self.groups, behaviour=behaviour_of(release))

    def apply(self, *records):
        for record in records:
            key, value = record.encode()
            read = CoordinatorRecord.decode(Log.CONSUMER_OFFSETS, key, value)
            self.replay.handlers[type(read.key)](Replayed(read.key, read.value, 0, -1, -1))
        return self.groups.get("g")


def test_a_member_is_what_its_records_have():
    group = Replays().apply(
        consumer_records.member_record("g", MEMBER), consumer_records.current_assignment_record("g", MEMBER)
    )
    assert group.members["m"] == MEMBER
    assert group.static_members["i"] == "m"
    assert not group.is_free(T, 0)
    assert not group.is_free(T, 1)


def test_a_group_is_what_its_records_have():
    group = Replays().apply(
        consumer_records.group_epoch_record("g", 7, -42),
        consumer_records.target_record("g", "m", {T: frozenset({0, 1})}),
        consumer_records.assignment_epoch_record("g", 6, 1234),
        consumer_records.regex_record("g", "z.*", ResolvedRegex(frozenset({"z1"}), 3, 99)),
    )
    assert (group.group_epoch.get(), group.metadata.get(), group.assignment_epoch.get()) == (7, -42, 6)
    assert group.assignment_timestamp_ms.get() == 1234
    assert group.target_of("m") == {T: frozenset({0, 1})}
    assert group.regexes["z.*"] == ResolvedRegex(frozenset({"z1"}), 3, 99)
    assert group.is_subscribed_to("z1")


def test_the_topics_of_older_releases_have_a_record():
    topics = {"x": TopicMetadata(T, 2, (("r1",), ())), "y": TopicMetadata(b"u" * 16, 1)}
    group = Replays(release="4.0.0").apply(consumer_records.partition_metadata_record("g", topics))
    assert group.metadata.get() == topics


def test_the_tombstones_of_a_group_delete_it():
    replays = Replays()
    group = replays.apply(
        consumer_records.member_record("g", MEMBER),
        consumer_records.group_epoch_record("g", 7, 0),
        consumer_records.target_record("g", "m", {}),
        consumer_records.current_assignment_record("g", MEMBER),
        consumer_records.regex_record("g", "z.*", ResolvedRegex()),
    )
    assert replays.apply(*group.tombstones()) is None


def test_the_tombstones_of_a_member_release_its_partitions():
    replays = Replays()
    replays.apply(
        consumer_records.member_record("g", MEMBER),
        consumer_records.target_record("g", "m", {}),
        consumer_records.current_assignment_record("g", MEMBER),
    )
    group = replays.apply(*consumer_records.member_tombstones("g", ["m"]))
    assert group.is_empty()
    assert group.is_free(T, 0)
    assert (group.static_members.keys(), group.target.keys(), group.assignors.keys()) == ([], [], [])


@pytest.mark.parametrize(
    "tombstone",
    [
        consumer_records.group_epoch_tombstone("g"),
        consumer_records.partition_metadata_tombstone("g"),
        consumer_records.assignment_epoch_tombstone("g"),
        consumer_records.regex_tombstone("g", "x"),
        *consumer_records.member_tombstones("g", ["m"]),
    ],
)
def test_a_tombstone_of_an_unknown_group_is_ignored(tombstone):
    assert Replays().apply(tombstone) is None
