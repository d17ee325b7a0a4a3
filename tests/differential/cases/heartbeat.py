"""Heartbeat and LeaveGroup, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.heartbeat import HeartbeatRequest
from tests.differential.case import case
from tests.differential.group_requests import (
    NO_DELAY,
    Member,
    await_members,
    await_state,
    commit,
    describe_groups,
    group_of,
    heartbeat,
    stable_one,
)
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case(settings=NO_DELAY)
def groups_and_members_that_are_unknown(probe: Probe) -> None:
    group = group_of(probe)
    for version in all_versions(HeartbeatRequest):
        probe.exchange(heartbeat(group, 1, "stranger"), version, note="no group")
        probe.exchange(heartbeat("", 1, "stranger"), version, note="an empty group id")
        probe.exchange(heartbeat("", 1, ""), version, note="both empty")
    probe.exchange(commit(group, ("t", {0: 1})), 2)
    member = stable_one(probe, group)
    for version in all_versions(HeartbeatRequest):
        probe.exchange(heartbeat(group, member.generation, member.id), version, note="right")
        probe.exchange(heartbeat(group, member.generation, "stranger"), version, note="unknown member")
        probe.exchange(heartbeat(group, member.generation, ""), version, note="empty member id")
        for generation in (member.generation + 1, member.generation - 1, 0, -1, -2):
            probe.exchange(heartbeat(group, generation, member.id), version, note="another generation")
    for version in range(3, 5):
        probe.exchange(heartbeat(group, 1, member.id, instance="i"), version, note="unknown instance")
        probe.exchange(heartbeat(group, 9, member.id, instance="i"), version, note="unknown instance and generation")
        probe.exchange(heartbeat(group, 1, member.id, instance=""), version, note="empty instance")
    member.leave()
    probe.exchange(heartbeat(group, member.generation, member.id), 4, note="an empty group")


@case(settings=NO_DELAY)
def sessions_that_end(probe: Probe) -> None:
    group = group_of(probe)
    member = stable_one(probe, group, session_ms=2_000)
    member.heartbeat()
    await_members(probe, group, 0)
    probe.exchange(describe_groups(group), 5)
    member.heartbeat(note="too late")
    member.sync({}, note="too late")
    probe.exchange(member.join_request, 9, on=member.connection, note="with the old id")
    member.id = ""
    member.join(note="with a new one")


@case(settings=NO_DELAY)
def sessions_that_end_in_a_rebalance(probe: Probe) -> None:
    group = group_of(probe)
    first = stable_one(probe, group, session_ms=2_000, rebalance_ms=10_000)
    second = Member(probe, group)
    second.learn_id()
    parked = second.start_join()
    await_state(probe, group, "PreparingRebalance")
    second.finish_join(parked)
    first.heartbeat(note="too late")
    second.sync({second.id: b"all"})
    probe.exchange(describe_groups(group), 5)


@case(settings=NO_DELAY)
def rebalances_that_time_out(probe: Probe) -> None:
    group = group_of(probe)
    first = stable_one(probe, group, rebalance_ms=1_500)
    second = Member(probe, group, rebalance_ms=1_500)
    second.learn_id()
    parked = second.start_join()
    await_state(probe, group, "PreparingRebalance")
    first.heartbeat(note="it could rejoin")
    second.finish_join(parked)
    first.heartbeat(note="too late")
    probe.exchange(describe_groups(group), 5)


@case(settings=NO_DELAY)
def commits_keep_a_session(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    member = stable_one(probe, group)
    member.commit((topic, {0: 3}))
    member.heartbeat()
    member.commit((topic, {0: 4}), generation=9, note="another generation")
    member.heartbeat()
