"""SyncGroup, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.sync_group import SyncGroupRequest
from tests.differential.case import case
from tests.differential.group_requests import (
    NO_DELAY,
    Member,
    await_state,
    describe_groups,
    group_of,
    leave,
    stable_one,
    stable_pair,
    sync,
)
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case(settings=NO_DELAY)
def groups_and_members_that_are_unknown(probe: Probe) -> None:
    group = group_of(probe)
    for version in all_versions(SyncGroupRequest):
        probe.exchange(sync(group, 1, "stranger"), version, note="no group")
        probe.exchange(sync("", 1, "stranger"), version, note="an empty group id")
    member = stable_one(probe, group)
    for version in all_versions(SyncGroupRequest):
        probe.exchange(sync(group, member.generation, "stranger"), version, note="unknown member")
        probe.exchange(sync(group, 99, "stranger"), version, note="unknown member, unknown generation")
        probe.exchange(sync(group, 99, member.id), version, note="unknown generation")
        probe.exchange(sync(group, -1, member.id), version, note="generation -1")
        probe.exchange(sync(group, member.generation, ""), version, note="empty id")
        probe.exchange(sync(group, member.generation, member.id), version, note="right")
        probe.exchange(
            sync(group, member.generation, member.id, {member.id: b"other"}), version, note="another assignment"
        )
    for version in range(3, 6):
        probe.exchange(sync(group, member.generation, member.id, instance="i"), version, note="unknown instance")
    member.leave()
    probe.exchange(sync(group, member.generation, member.id), 5, note="an empty group")


@case(settings=NO_DELAY)
def protocols_that_are_inconsistent(probe: Probe) -> None:
    member = stable_one(probe, group_of(probe))
    for version in (4, 5):
        for protocol_type, protocol in (
            ("connect", "range"),
            ("consumer", "roundrobin"),
            (None, "range"),
            ("consumer", None),
            (None, None),
            ("", ""),
            ("connect", "roundrobin"),
        ):
            request = sync(member.group, member.generation, member.id, protocol_type=protocol_type, protocol=protocol)
            probe.exchange(request, version, note=f"{protocol_type} {protocol}")
    request = sync(member.group, 99, member.id, protocol_type="connect")
    probe.exchange(request, 5, note="unknown generation and another type")


@case(settings=NO_DELAY)
def assignments_in_every_version(probe: Probe) -> None:
    for version in all_versions(SyncGroupRequest):
        group = group_of(probe, f"v{version}")
        first, second = Member(probe, group), Member(probe, group)
        first.join()
        second.learn_id()
        parked = second.start_join()
        await_state(probe, group, "PreparingRebalance")
        first.sync({}, version, note="in a rebalance")
        first.join()
        second.finish_join(parked)
        waiting = second.start_sync({second.id: b"ignored"}, version, note="of a follower")
        first.sync({first.id: b"1", "stranger": b"2"}, version, note="nothing for the follower")
        probe.finish(waiting)
        second.sync(version=version, note="again")
        probe.exchange(describe_groups(group), 5)
        probe.exchange(leave(group, (first.id, None), (second.id, None)), 5)


@case(settings=NO_DELAY)
def rebalances_while_members_wait(probe: Probe) -> None:
    group = group_of(probe)
    first, second = stable_pair(probe, group)
    parked = first.start_join(note="the leader rejoins")
    await_state(probe, group, "PreparingRebalance")
    second.join()
    first.finish_join(parked)
    waiting = second.start_sync(note="waits for the leader")
    probe.exchange(leave(group, (first.id, None)), 5, note="the leader leaves")
    probe.finish(waiting)
    second.join(note="it is the leader now")
    second.sync({second.id: b"all"})


@case(settings=NO_DELAY)
def a_leader_that_does_not_sync(probe: Probe) -> None:
    group = group_of(probe)
    first, second = stable_pair(probe, group, rebalance_ms=1_500)
    parked = first.start_join(note="the leader rejoins")
    await_state(probe, group, "PreparingRebalance")
    second.join()
    first.finish_join(parked)
    waiting = second.start_sync(note="waits for the leader")
    probe.finish(waiting)
    probe.exchange(describe_groups(group), 5, note="the leader is gone")
    first.heartbeat(note="of the leader that is gone")
    second.join(note="alone")
    second.sync({second.id: b"all"})


@case(settings=NO_DELAY)
def large_assignments(probe: Probe) -> None:
    group = group_of(probe)
    member = Member(probe, group)
    member.join()
    member.sync({member.id: b"x" * 1_200_000}, note="larger than a record may be")
    probe.exchange(describe_groups(group), 5)
    member.heartbeat()
    member.join(note="again")
    member.sync({member.id: b"x" * 1000}, note="of a right size")
