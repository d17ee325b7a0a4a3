"""The replay of the records of 3.7's preview."""

from __future__ import annotations

from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.coordinators.groups.consumer import consumer_records, preview_records
from broker_sim.coordinators.groups.consumer.preview_replay import PreviewReplay
from broker_sim.coordinators.groups.group_registry import GroupRegistry
from broker_sim.coordinators.groups.group_shard import Replayed
from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
from tests.broker_sim.coordinators.groups.consumer.test_preview_records import MEMBER, T


def replayed(*records):
    registry = SnapshotRegistry()
    groups = GroupRegistry(registry)
    replay = PreviewReplay(registry, groups, behaviour=behaviour_of("3.7.2"))
    for record in records:
        replay.handlers[type(record.key)](Replayed(record.key, record.value, 0, -1, -1))
    return groups.get("g").members["m"]


RECORDS = (preview_records.member_record("g", MEMBER), preview_records.current_assignment_record("g", MEMBER))


def test_a_member_is_what_its_records_have():
    member = replayed(*RECORDS)
    assert member.state is MemberState.UNREVOKED_PARTITIONS
    assert (member.target_epoch, member.pending_assignment) == (4, {T: frozenset({2})})
    assert (member.subscribed_topic_names, member.assigned) == (MEMBER.subscribed_topic_names, MEMBER.assigned)


def test_a_member_without_assignment_has_left():
    member = replayed(*RECORDS, consumer_records.current_assignment_tombstone("g", "m"))
    assert (member.member_epoch, member.target_epoch, dict(member.pending_assignment)) == (-1, -1, {})
