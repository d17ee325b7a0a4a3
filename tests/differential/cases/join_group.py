"""JoinGroup, as raw probes see it: how a member enters, and what the coordinator refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order, hash_set_order, string_hash
from protocol_specs.messages.join_group import JoinGroupRequest
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
    stable_pair,
    subscription,
)
from tests.differential.probe import attempts
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case(settings=NO_DELAY)
def a_group_of_one_in_every_version(probe: Probe) -> None:
    for version in all_versions(JoinGroupRequest):
        group = group_of(probe, f"v{version}")
        member = Member(probe, group)
        member.join(version)
        member.sync({member.id: b"assignment"}, min(version, 5))
        member.join(version, note="again")
        probe.exchange(leave(group, (member.id, None)), 2)


def _note_order(probe: Probe, members: list[Any], known: list[str], most: int, *, note: str) -> None:
    """Write down whether members are listed as Kafka's table has them; the ids are random."""
    if probe.release == "3.7.2":
        order = [known[place] for place in hash_set_order(map(string_hash, known), most=most)]
    else:
        order = hash_order(known, beside=most - len(known))
    probe.write(note=note, in_order=[each.member_id for each in members] == order, members=len(members))


@case(settings=NO_DELAY)
def members_are_listed_in_the_order_of_a_hash_table(probe: Probe) -> None:
    """To the leader, and by DescribeGroups: 3.7's table is one of Scala, which grows sooner."""
    for count in (3, 11, 12, 13):
        group = group_of(probe, f"g{count}")
        times = {"session_ms": 60_000, "rebalance_ms": 60_000}
        leader, *others = (Member(probe, group, **times) for _ in range(count))
        leader.join()
        parked = []
        for place, member in enumerate(others, 2):
            member.learn_id()
            parked.append(probe.start(member.join_request, 9, on=member.connection))
            await_members(probe, group, place)
        joined: Any = probe.quiet(leader.join_request, 9, on=leader.connection)
        known = [leader.id, *(member.id for member in others)]
        _note_order(probe, joined.members, known, count, note="the leader's list")
        for each in parked:
            probe.finish(each)
        described: Any = probe.quiet(describe_groups(group), 5)
        _note_order(probe, described.groups[0].members, known, count, note="described")
        probe.exchange(leave(group, (known.pop(), None)), 5)
        described = probe.quiet(describe_groups(group), 5)
        _note_order(probe, described.groups[0].members, known, count, note="the last one has left")


@case(settings=NO_DELAY)
def empty_group_ids(probe: Probe) -> None:
    group_of(probe)
    for version in all_versions(JoinGroupRequest):
        probe.exchange(join(""), version)
        probe.exchange(join("", member_id="m"), version)
        if version >= 5:
            probe.exchange(join("", instance="i"), version)


@case(settings=NO_DELAY)
def session_time_outs_out_of_range(probe: Probe) -> None:
    group = group_of(probe)
    for version in all_versions(JoinGroupRequest):
        for session_ms in (99, 0, -1, 1_800_001, 2**31 - 1):
            probe.exchange(join(group, session_ms=session_ms), version, note=str(session_ms))
    probe.exchange(describe_groups(group), 5)
    for session_ms in (100, 1_800_000):
        probe.exchange(join(group, session_ms=session_ms), 9, note=str(session_ms))


@case(settings=NO_DELAY)
def rebalance_time_outs_of_any_size(probe: Probe) -> None:
    for number, rebalance_ms in enumerate((500, 2**31 - 1)):
        group = group_of(probe, f"g{number}")
        member = Member(probe, group, rebalance_ms=rebalance_ms)
        member.join(note=str(rebalance_ms))
        member.sync({member.id: b"a"})
        member.leave()


@case(settings=NO_DELAY)
def members_that_are_unknown(probe: Probe) -> None:
    group = group_of(probe)
    for version in all_versions(JoinGroupRequest):
        probe.exchange(join(group, member_id="stranger"), version, note="no group")
    probe.exchange(describe_groups(group), 5)
    stable_one(probe, group)
    for version in all_versions(JoinGroupRequest):
        probe.exchange(join(group, member_id="stranger"), version, note="a stable group")
    for version in range(5, 10):
        probe.exchange(join(group, member_id="stranger", instance="i"), version, note="a stable group, static")


@case(settings=NO_DELAY)
def ids_that_are_given_out(probe: Probe) -> None:
    group = group_of(probe)
    first: Any = probe.exchange(join(group), 9, note="first id")
    second: Any = probe.exchange(join(group), 4, note="second id")
    probe.exchange(describe_groups(group), 5, note="pending members")
    probe.exchange(heartbeat(group, -1, first.member_id), 4, note="of a pending member")
    probe.exchange(commit(group, ("none", {0: 1}), member_id=first.member_id, generation=1), 9, note="pending member")
    parked = probe.start(join(group, member_id=first.member_id), 9, on=probe.connect(), note="the first joins")
    await_state(probe, group, "CompletingRebalance")
    probe.exchange(describe_groups(group), 5, note="one waits for the pending other")
    probe.exchange(leave(group, (second.member_id, None)), 5, note="the pending one leaves")
    joined = probe.finish(parked)
    probe.exchange(join(group, member_id=second.member_id), 9, note="the one that left")
    probe.exchange(leave(group, (joined.member_id, None)), 5)


@case(settings=NO_DELAY)
def pending_ids_expire(probe: Probe) -> None:
    group = group_of(probe)
    probe.exchange(join(group, session_ms=200), 9, note="an id that is not used")
    member = Member(probe, group)
    member.join(note="waits for the pending member")
    probe.exchange(describe_groups(group), 5)


@case(settings=NO_DELAY)
def protocols_that_do_not_match(probe: Probe) -> None:
    group = group_of(probe)
    for version in (0, 3, 5, 9):
        probe.exchange(join(group, protocols=()), version, note="no protocols, no group")
        probe.exchange(join(group, protocol_type=""), version, note="no type, no group")
        probe.exchange(join(group, protocol_type="", protocols=()), version, note="neither, no group")
    probe.exchange(describe_groups(group), 5)
    stable_one(probe, group, protocols=offering("range", "roundrobin"))
    for version in (0, 3, 5, 9):
        probe.exchange(join(group, protocol_type="connect"), version, note="another type")
        probe.exchange(join(group, protocols=(("sticky", b""),)), version, note="no common protocol")
        probe.exchange(join(group, protocols=()), version, note="no protocols")
        probe.exchange(join(group, protocol_type=""), version, note="no type")
        probe.exchange(
            join(group, protocol_type="connect", member_id="stranger"), version, note="another type, unknown"
        )
    probe.exchange(join(group, protocol_type="connect", instance="i"), 9, note="another type, static")


@case(settings=NO_DELAY)
def protocols_are_chosen_by_votes(probe: Probe) -> None:
    group = group_of(probe)
    orders = (("a", "b", "c"), ("b", "c", "a"), ("b", "a"), ("c", "a", "b"))
    members: list[Member] = []
    for order in orders:
        member = Member(probe, group, protocols=offering(*order))
        member.learn_id()
        parked = [(member, member.start_join())]
        if members:
            await_members(probe, group, len(members) + 1)
            parked[:0] = [(each, each.start_join()) for each in members]
        for each, waiting in parked:
            each.finish_join(waiting)
        members.append(member)
    probe.exchange(describe_groups(group), 5, note="while the leader has not synced")
    for each in members:
        probe.exchange(leave(group, (each.id, None)), 5)
    probe.exchange(describe_groups(group), 5, note="empty")


@case(settings=NO_DELAY)
def protocol_types_of_any_name(probe: Probe) -> None:
    for number, (protocol_type, protocols) in enumerate(
        (
            ("connect", (("default", b"x"),)),
            ("consumer", offering("")),
            ("x" * 300, (("y" * 300, b"z" * 3000),)),
        )
    ):
        group = group_of(probe, f"g{number}")
        member = Member(probe, group, protocol_type=protocol_type, protocols=protocols)
        member.join()
        member.sync({member.id: b"\xff\x00"})
        for version in range(7):
            probe.exchange(describe_groups(group), version)


@case(settings=NO_DELAY)
def metadata_that_consumers_cannot_read(probe: Probe) -> None:
    """A coordinator reads the topics of a subscription; a size that is too large is no error that it expects."""
    right = subscription("t")
    for number, data in enumerate(
        (
            b"",
            b"\0",
            b"\0\0",
            right[:-1],
            right[:8],
            right + b"more",
            b"\xff\xff" + right[2:],
            b"\0\x09" + right[2:],
            b"\0\1\xff\xff\xff\xff",
            b"\0\0\0\0\0\1\xff\xff",
            b"garbage",
            b"\0\0\0\0\0\2\0\1t",
        )
    ):
        member = Member(probe, group_of(probe, f"g{number}"), protocols=(("range", data),))
        member.learn_id()
        probe.expect_silence(member.join_request, 9, on=member.connection, note=data.hex())
        probe.exchange(describe_groups(member.group), 5)


@case(settings=NO_DELAY)
def a_protocol_that_is_offered_twice(probe: Probe) -> None:
    """The coordinator takes it for one that two members offer, and fails to vote."""
    twice = (*offering("a", note=b"1"), *offering("a", note=b"2"))
    member = Member(probe, group_of(probe), protocols=twice)
    member.learn_id()
    probe.expect_silence(member.join_request, 9, on=member.connection)
    probe.exchange(describe_groups(member.group), 5)


@case(settings=NO_DELAY)
def two_members(probe: Probe) -> None:
    group = group_of(probe)
    first, second = stable_pair(probe, group)
    probe.exchange(describe_groups(group), 5)
    first.heartbeat()
    second.heartbeat()
    second.join(note="a follower, unchanged")
    first.heartbeat(note="nothing happened")
    parked = first.start_join(note="the leader rejoins")
    await_state(probe, group, "PreparingRebalance")
    second.heartbeat(note="in a rebalance")
    probe.exchange(describe_groups(group), 5, note="preparing")
    second.join()
    first.finish_join(parked)
    second.heartbeat(note="the assignment is awaited")
    probe.exchange(describe_groups(group), 5, note="completing")
    second.join(note="again, while the assignment is awaited")
    first.sync({second.id: b"alone"})
    second.sync()


@case(settings=NO_DELAY)
def a_follower_that_offers_something_else(probe: Probe) -> None:
    group = group_of(probe)
    first, second = stable_pair(probe, group)
    second.protocols = offering("range", note=b"changed")
    parked = second.start_join(note="other metadata")
    await_state(probe, group, "PreparingRebalance")
    first.heartbeat()
    first.join()
    second.finish_join(parked)
    second.protocols = offering("range", note=b"changed twice")
    parked = second.start_join(note="other metadata, while the assignment is awaited")
    await_state(probe, group, "PreparingRebalance")
    first.sync({}, note="too late")
    first.join()
    second.finish_join(parked)


@case(settings=NO_DELAY)
def a_member_that_joins_on_two_connections(probe: Probe) -> None:
    group = group_of(probe)
    first, second = stable_pair(probe, group, protocols=offering("range", "roundrobin"))
    parked = second.start_join()
    second.protocols = offering("range", note=b"changed")
    probe.finish(parked)
    parked = second.start_join(note="a protocol less")
    await_state(probe, group, "PreparingRebalance")
    second.protocols = offering("range", "roundrobin")
    replacing = probe.start(second.join_request, 9, on=probe.connect(), note="both protocols, on another connection")
    _await_common_protocol(probe, group, "roundrobin")
    first.join()
    probe.finish(replacing)
    probe.exchange(second.join_request, 9, on=probe.connect(), note="the same, while the assignment is awaited")
    probe.finish(parked, seconds=0.3)


def _await_common_protocol(probe: Probe, group: str, name: str) -> None:
    """Wait until every member of a classic group offers a protocol: no other response shows that one joined again."""
    for _ in attempts(f"the members of {group} to offer {name}"):
        refused: Any = probe.quiet(join(group, member_id="stranger", protocols=offering(name)), 9)
        if refused.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
            return
        assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL, refused


@case(settings=(*NO_DELAY, ("group.max.size", "2")))
def groups_that_are_full(probe: Probe) -> None:
    group = group_of(probe)
    first, second = stable_pair(probe, group)
    for version in all_versions(JoinGroupRequest):
        probe.exchange(join(group), version, note="a third")
    for version in (5, 9):
        probe.exchange(join(group, instance="i"), version, note="a third, static")
    probe.exchange(join(group, member_id="stranger"), 9, note="unknown")
    parked = first.start_join(note="the leader rejoins")
    await_state(probe, group, "PreparingRebalance")
    probe.exchange(join(group, session_ms=300), 9, note="a third, in a rebalance, which waits for it")
    second.join()
    first.finish_join(parked)
    probe.exchange(join(group), 9, note="a third, while the assignment is awaited")


@case(settings=(("group.initial.rebalance.delay.ms", "1500"), ("group.min.session.timeout.ms", "100")))
def members_that_come_within_the_initial_delay(probe: Probe) -> None:
    group = group_of(probe)
    members = [Member(probe, group) for _ in range(3)]
    for each in members:
        each.learn_id()
    parked = []
    for count, each in enumerate(members, 1):
        parked.append(each.start_join())
        await_members(probe, group, count)
    probe.exchange(describe_groups(group), 5, note="waiting for more")
    for each, waiting in zip(members, parked, strict=True):
        each.finish_join(waiting)
    for each in members:
        probe.exchange(leave(group, (each.id, None)), 5)


@case(settings=NO_DELAY)
def bodies_that_are_wrong(probe: Probe) -> None:
    group_of(probe)
    for version, body, note in (
        (0, b"", "empty"),
        (0, b"\0\1g\0\0\0\x64", "cut"),
        (0, b"\xff\xff\0\0\x27\x10\0\0\0\x08consumer\0\0\0\0", "a null group"),
        (1, b"\0\1g\0\0\x27\x10\0\0\x27\x10\0\0\0\x08consumer\xff\xff\xff\xff", "null protocols"),
        (1, b"\0\1g\0\0\x27\x10\0\0\x27\x10\0\0\0\x08consumer\0\0\0\1\0\1r\xff\xff\xff\xff", "null metadata"),
        (6, b"\2g\0\0\x27\x10\0\0\x27\x10\1\0\x09consumer\1\0more", "more bytes"),
        (6, b"\2g\0\0\x27\x10\0\0\x27\x10\1\0\x09consumer\xff\xff\xff\xff\x0f\0", "2**32-2 protocols"),
    ):
        probe.raw_body(11, version, body, note=note)
