"""Static members of classic groups (KIP-345), as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    join,
    leave,
    offering,
    stable_one,
    sync,
)

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def static_pair(probe: Probe, group: str) -> tuple[Member, Member]:
    """Two static members of a stable group, the leader first."""
    first, second = Member(probe, group, instance="one"), Member(probe, group, instance="two")
    first.join()
    parked = second.start_join()
    await_state(probe, group, "PreparingRebalance")
    first.join(note="again")
    second.finish_join(parked)
    waiting = second.start_sync()
    first.sync({first.id: b"of one", second.id: b"of two"})
    probe.finish(waiting)
    return first, second


@case(settings=NO_DELAY)
def one_in_every_version(probe: Probe) -> None:
    for version in range(5, 10):
        group = group_of(probe, f"v{version}")
        member = Member(probe, group, instance="an instance")
        member.join(version)
        member.sync({member.id: b"assignment"})
        previous = member.id
        member.id = ""
        member.join(version, note="another process with its instance")
        member.sync({}, note="of the new process")
        member.heartbeat(note="of the new process")
        for request_version in (3, 4):
            request = heartbeat(group, member.generation, previous, instance="an instance")
            probe.exchange(request, request_version, note="of the old process")
        probe.exchange(heartbeat(group, member.generation, previous), 4, note="of the old process, without instance")
        request = sync(group, member.generation, previous, instance="an instance")
        probe.exchange(request, 5, note="of the old process")
        request = join(group, member_id=previous, instance="an instance")
        probe.exchange(request, version, note="of the old process")
        offsets = commit(group, ("t", {0: 1}), member_id=previous, generation=1, instance="an instance")
        probe.exchange(offsets, 8, note="of the old process")
        probe.exchange(leave(group, (previous, "an instance")), 5, note="of the old process")
        probe.exchange(describe_groups(group), 5)
        probe.exchange(leave(group, ("", "an instance")), 5, note="by its instance alone")
        probe.exchange(describe_groups(group), 5)


@case(settings=NO_DELAY)
def a_follower_that_comes_back(probe: Probe) -> None:
    group = group_of(probe)
    first, second = static_pair(probe, group)
    for version in (5, 6, 7, 8, 9):
        second.id = ""
        second.join(version, note="the same protocols")
        second.sync(note="the assignment that it had")
        first.heartbeat()
    second.id = ""
    second.protocols = offering("range", note=b"changed")
    second.join(9, note="other metadata, the same protocol")
    second.sync()
    first.heartbeat()
    second.id = ""
    second.protocols = offering("roundrobin", "range")
    second.join(9, note="another preference, the same choice")
    second.sync()
    first.heartbeat()


@case(settings=NO_DELAY)
def a_leader_that_comes_back(probe: Probe) -> None:
    group = group_of(probe)
    first, second = static_pair(probe, group)
    for version in (5, 8, 9):
        first.id = ""
        first.join(version, note="the same protocols")
        first.sync({}, note="the assignment that it had")
        second.heartbeat()
    probe.exchange(describe_groups(group), 5)
    parked = first.start_join(note="rejoins with its id")
    await_state(probe, group, "PreparingRebalance")
    second.join()
    first.finish_join(parked)


@case(settings=NO_DELAY)
def a_member_that_is_replaced_while_it_waits(probe: Probe) -> None:
    group = group_of(probe)
    first, second = static_pair(probe, group)
    parked = first.start_join(note="the leader rejoins")
    await_state(probe, group, "PreparingRebalance")
    other = Member(probe, group, instance="one")
    waiting = other.start_join(note="another process with its instance")
    probe.finish(parked)
    second.join()
    other.finish_join(waiting)
    second_waits = second.start_sync()
    third = Member(probe, group, instance="two")
    third_waits = third.start_join(note="another process, while the assignment is awaited")
    probe.finish(second_waits)
    other.heartbeat()
    other.join()
    third.finish_join(third_waits)
    probe.exchange(describe_groups(group), 5)


@case(settings=NO_DELAY)
def static_members_stay_when_they_do_not_rejoin(probe: Probe) -> None:
    group = group_of(probe)
    first, second = static_pair(probe, group)
    third = Member(probe, group, rebalance_ms=1_500)
    first.rebalance_ms = second.rebalance_ms = 1_500
    first.protocols = second.protocols = offering("range", note=b"changed")
    parked = first.start_join(note="with a short time-out")
    await_state(probe, group, "PreparingRebalance")
    second.join(note="with a short time-out")
    first.finish_join(parked)
    first.sync({})
    third.learn_id()
    parked = third.start_join()
    third.finish_join(parked)
    probe.exchange(describe_groups(group), 5, note="the static members did not rejoin")
    first.heartbeat()


@case(settings=NO_DELAY)
def sessions_of_static_members_end(probe: Probe) -> None:
    group = group_of(probe)
    member = stable_one(probe, group, instance="i", session_ms=2_000)
    await_members(probe, group, 0)
    member.heartbeat(note="too late")
    member.join(note="with the old id")
    member.id = ""
    member.join(note="without an id")


@case(settings=NO_DELAY)
def members_that_leave_by_instance(probe: Probe) -> None:
    group = group_of(probe)
    first, second = static_pair(probe, group)
    leaving = leave(group, ("", "one"), ("", "three"), ("stranger", "two"), ("", "two"))
    probe.exchange(leaving, 4)
    probe.exchange(describe_groups(group), 5)
    first.heartbeat()
    second.heartbeat()


@case(settings=NO_DELAY)
def static_and_dynamic_ids_are_mixed(probe: Probe) -> None:
    group = group_of(probe)
    static = stable_one(probe, group, instance="i")
    probe.exchange(heartbeat(group, static.generation, static.id), 4, note="static, without instance")
    probe.exchange(heartbeat(group, static.generation, static.id, instance="j"), 4, note="another instance")
    probe.exchange(join(group, member_id=static.id, instance="j"), 9, note="another instance with its id")
    probe.exchange(join(group, member_id="stranger", instance="i"), 9, note="another id with its instance")
    static.commit(("t", {0: 1}), instance=None, note="without instance")
    static.commit(("t", {0: 1}), member_id="stranger", note="another id")
    probe.exchange(leave(group, (static.id, None)), 5, note="without instance")
    probe.exchange(describe_groups(group), 5)
