"""Share groups and streams groups that receive the requests of classic groups, of offsets and of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from tests.differential.case import case
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.cases.streams_group_heartbeat import (
    STREAMS,
    StreamsMember,
    streams_describe,
    streams_heartbeat,
    subtopology,
    topology,
)
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_records import write_records
from tests.differential.group_requests import (
    OFFSETS_TOPIC,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    heartbeat,
    join,
    leave,
    list_own_groups,
    stable_one,
    sync,
)
from tests.differential.modern_requests import Consumer, consumer_describe, consumer_heartbeat
from tests.differential.probe import attempts
from tests.differential.share_requests import SHARE, ShareConsumer, share_describe, share_group_of, share_heartbeat

if TYPE_CHECKING:
    from tests.differential.probe import Probe

NEW: Final = ("4.3.1",)


@case(settings=SHARE, releases=NEW)
def a_share_group(probe: Probe) -> None:
    topic = known_topic(probe)
    group = share_group_of(probe)
    member = ShareConsumer(probe, group, "m", [topic])
    member.join()
    for note in ("members", "empty"):
        for version in (0, 4, 9):
            probe.exchange(join(group, member_id="x"), version, note=note)
            if note == "members":
                probe.exchange(join(group), version, note=note)
        probe.exchange(sync(group, 1, "m"), 5, note=note)
        probe.exchange(heartbeat(group, 1, "m"), 4, note=note)
        probe.exchange(leave(group, ("m", None)), 5, note=note)
        for version in (1, 8, 9):
            probe.exchange(commit(group, (topic, {0: 1})), version, note=note)
            probe.exchange(commit(group, (topic, {0: 1}), generation=1, member_id="m"), version, note=note)
        for version in (7, 9):
            probe.exchange(fetch_offsets(group, (topic, [0])), version, note=note)
            probe.exchange(fetch_offsets(group, everything=True), version, note=note)
        probe.exchange(offset_delete(group, (topic, [0])), 0, note=note)
        probe.exchange(consumer_heartbeat(group, "c", 1), 1, note=note)
        probe.exchange(consumer_heartbeat(group, "c", -1), 1, note=note)
        probe.exchange(streams_heartbeat(group, "c", 1), 0, note=note)
        if note == "members":
            probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2, note=note)
            member.leave()


@case(settings=STREAMS, releases=NEW)
def a_streams_group(probe: Probe) -> None:
    topic = known_topic(probe)
    group = group_of(probe)
    member = StreamsMember(probe, group, "m", topology(subtopology("0", topic)))
    member.join()
    for version in (0, 4, 9):
        probe.exchange(join(group, member_id="x"), version)
        probe.exchange(join(group), version)
    probe.exchange(sync(group, 1, "m"), 5)
    probe.exchange(heartbeat(group, 1, "m"), 4)
    probe.exchange(leave(group, ("m", None)), 5)
    for version in (1, 8, 9):
        probe.exchange(commit(group, (topic, {0: 1})), version)
        probe.exchange(commit(group, (topic, {0: 1}), generation=member.epoch, member_id="m"), version)
        probe.exchange(commit(group, (topic, {0: 1}), generation=member.epoch + 1, member_id="m"), version)
        probe.exchange(commit(group, (topic, {0: 1}), generation=1, member_id="x"), version)
    for version in (7, 8, 9):
        probe.exchange(fetch_offsets(group, (topic, [0])), version)
        probe.exchange(fetch_offsets(group, (topic, [0]), member_id="m", member_epoch=member.epoch), version)
        probe.exchange(fetch_offsets(group, (topic, [0]), member_id="m", member_epoch=99), version)
    probe.exchange(offset_delete(group, (topic, [0]), ("unknown", [0])), 0)
    probe.exchange(consumer_heartbeat(group, "c", 0, topics=[topic], owned={}, rebalance_ms=1), 1)
    probe.exchange(share_heartbeat(group, "c", 0, topics=[topic]), 1)
    for version in range(7):
        probe.exchange(describe_groups(group), version)
    probe.exchange(consumer_describe(group), 1)
    probe.exchange(share_describe(group), 1)
    for operations in (False, True):
        probe.exchange(streams_describe(group, group, "", "none", include_authorized_operations=operations), 0)
    probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
    member.leave()
    probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)


def _await_classic(probe: Probe, group: str) -> None:
    """Wait until the record of a new classic group is committed: a JoinGroup with an error does not wait for it."""
    for _ in attempts(f"{group} to be no streams group"):
        described: Any = probe.quiet(streams_describe(group), 0)
        if described.groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            return


@case(settings=STREAMS, releases=NEW)
def an_empty_streams_group_becomes_a_classic_one(probe: Probe) -> None:
    topic = known_topic(probe)
    group = group_of(probe)
    shape = topology(subtopology("0", topic))
    streams = StreamsMember(probe, group, "m", shape)
    streams.join()
    streams.leave()
    for member_id, epoch in ((None, 5), (None, -1), ("", 5)):
        request = fetch_offsets(group, (topic, [0]), member_id=member_id, member_epoch=epoch)
        probe.exchange(request, 9, note=f"{member_id} {epoch}")
    probe.exchange(join(group, member_id="stranger"), 9, note="an unknown member")
    probe.exchange(join(group, protocols=()), 3, note="without protocols")
    _await_classic(probe, group)
    probe.exchange(streams_describe(group), 0, note="as before")
    probe.exchange(consumer_heartbeat(group, "c", 0, topics=[topic], owned={}, rebalance_ms=1), 1, note="a consumer")
    member = stable_one(probe, group)
    for version in (5, 6):
        probe.exchange(describe_groups(group), version)
    probe.exchange(streams_describe(group), 0)
    StreamsMember(probe, group, "m", shape).join(note="a group with a classic member")
    member.leave()
    StreamsMember(probe, group, "m", shape).join(note="an empty classic group")
    probe.exchange(describe_groups(group), 6)
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=STREAMS, releases=NEW)
def an_unknown_classic_member_removes_an_empty_group(probe: Probe) -> None:
    """It leaves no record of that: what reads the committed state finds the group until the next record."""
    topic = known_topic(probe)
    for note in ("consumer", "streams"):
        group = group_of(probe, note)
        member = (
            Consumer(probe, group, "m", [topic])
            if note == "consumer"
            else StreamsMember(probe, group, "m", topology(subtopology("0", topic)))
        )
        member.join()
        probe.exchange(commit(group, (topic, {0: 1}), generation=member.epoch, member_id="m"), 9)
        member.leave()
        probe.exchange(join(group, member_id="stranger"), 9)
        _describe(probe, group, "removed")
        probe.exchange(offset_delete(group, (topic, [0])), 0)
        probe.exchange(commit(group, (topic, {0: 2})), 9)
        _describe(probe, group, "a group that only commits")
        probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
        write_records(probe, OFFSETS_TOPIC, group)


def _describe(probe: Probe, group: str, note: str) -> None:
    probe.exchange(consumer_describe(group), 1, note=note)
    probe.exchange(streams_describe(group), 0, note=note)
    probe.exchange(describe_groups(group), 6, note=note)
    list_own_groups(probe, 5, note=note)
    probe.exchange(fetch_offsets(group, everything=True), 9, note=note)
