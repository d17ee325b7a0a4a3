"""LeaveGroup, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.leave_group import LeaveGroupRequest
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
)
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case(settings=NO_DELAY)
def groups_and_members_that_are_unknown(probe: Probe) -> None:
    group = group_of(probe)
    for version in all_versions(LeaveGroupRequest):
        probe.exchange(leave(group, ("stranger", None)), version, note="no group")
        probe.exchange(leave("", ("stranger", None)), version, note="an empty group id")
        probe.exchange(leave(group, ("", None)), version, note="no group, an empty id")
    for version in range(3, 6):
        probe.exchange(leave(group), version, note="no members, no group")
        probe.exchange(leave(group, ("a", None), ("b", "i"), ("", "j")), version, note="several, no group")
    member = stable_one(probe, group)
    for version in all_versions(LeaveGroupRequest):
        probe.exchange(leave(group, ("stranger", None)), version, note="unknown")
        probe.exchange(leave(group, ("", None)), version, note="an empty id")
    for version in range(3, 6):
        probe.exchange(leave(group), version, note="no members")
        probe.exchange(leave(group, ("", "i"), ("stranger", "i"), ("", "")), version, note="unknown instances")
        probe.exchange(leave(group, (member.id, "i")), version, note="an instance that is not its own")
    member.heartbeat()
    probe.exchange(leave(group, ("stranger", None), (member.id, None), (member.id, None)), 5, note="twice")
    probe.exchange(describe_groups(group), 5)


@case(settings=NO_DELAY)
def the_last_member_in_every_version(probe: Probe) -> None:
    for version in all_versions(LeaveGroupRequest):
        group = group_of(probe, f"v{version}")
        member = stable_one(probe, group)
        member.leave(version)
        probe.exchange(describe_groups(group), 5)
        member.heartbeat(note="afterwards")
        member.leave(version, note="again")
        probe.exchange(leave(group, ("stranger", None)), version, note="an empty group")


@case(settings=NO_DELAY)
def one_of_two(probe: Probe) -> None:
    group = group_of(probe)
    first, second = stable_pair(probe, group)
    first.leave(note="the leader")
    probe.exchange(describe_groups(group), 5)
    second.heartbeat()
    second.join()
    second.sync({second.id: b"all"})
    probe.exchange(describe_groups(group), 5)


@case(settings=NO_DELAY)
def both_at_once(probe: Probe) -> None:
    group = group_of(probe)
    first, second = stable_pair(probe, group)
    request = leave(group, (first.id, None), (second.id, None), reason="closing")
    probe.exchange(request, 5)
    probe.exchange(describe_groups(group), 5)


@case(settings=NO_DELAY)
def a_member_whose_join_is_parked(probe: Probe) -> None:
    group = group_of(probe)
    first, second = stable_pair(probe, group)
    parked = first.start_join(note="the leader rejoins")
    await_state(probe, group, "PreparingRebalance")
    probe.exchange(leave(group, (first.id, None)), 5, note="on another connection")
    probe.finish(parked, seconds=0.5)
    second.heartbeat()
    second.join()
    third = Member(probe, group)
    third.learn_id()
    probe.exchange(leave(group, (third.id, None)), 5, note="a pending member")
    second.heartbeat()
