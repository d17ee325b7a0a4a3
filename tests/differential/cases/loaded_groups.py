"""Groups of every type and state that a coordinator loads after a restart. Clusters of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.list_groups import ListGroupsRequest
from tests.differential.case import case
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.cases.share_state import describe_offsets
from tests.differential.cases.streams_group_heartbeat import (
    STREAMS,
    StreamsMember,
    streams_describe,
    subtopology,
    topology,
)
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_requests import (
    NO_DELAY,
    Member,
    await_members,
    await_state,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    heartbeat,
    list_own_groups,
    stable_one,
    stable_pair,
    sync,
)
from tests.differential.modern_requests import SHORT_SESSIONS, Consumer, consumer_describe
from tests.differential.probe import attempts
from tests.differential.requests import all_versions, batch, fill
from tests.differential.share_requests import ACCEPT, SHARE, ShareConsumer, share_describe, share_group_of
from tests.differential.transaction_requests import Transactions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

ONLY_NEW: Final = ("4.3.1",)
CLASSIC: Final = ("stable", "completing", "preparing", "empty", "simple", "open")
MODERN: Final = tuple(
    dict(
        (
            *SHARE,
            *STREAMS,
            ("group.consumer.assignment.interval.ms", "0"),
        )
    ).items()
)


def _own(number: int) -> tuple[tuple[str, str], ...]:
    return (("metadata.max.idle.interval.ms", f"{530 + number}"),)


def _restart(probe: Probe, *groups: str) -> None:
    """Restart the only broker; return when it has loaded these groups."""
    probe.nodes.shut_down(1)
    probe.nodes.restart(1)
    probe.connect(1)
    probe.use(1)
    for group in groups:
        group_of(probe, group.removeprefix(f"{probe.name}-"))


@case(settings=(*NO_DELAY, *_own(0)))
def classic_groups(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    groups = {name: group_of(probe, name) for name in CLASSIC}
    leader, follower = stable_pair(probe, groups["stable"], session_ms=60_000, rebalance_ms=60_000)
    leader.commit((topic, {0: 1, 2: 3}), metadata_text="kept")
    static = Member(probe, groups["completing"], instance="i", session_ms=60_000, rebalance_ms=60_000)
    static.join()
    first = stable_one(probe, groups["preparing"], session_ms=60_000, rebalance_ms=60_000)
    second = Member(probe, groups["preparing"], session_ms=60_000, rebalance_ms=60_000)
    second.learn_id()
    parked = second.start_join()
    await_state(probe, groups["preparing"], "PreparingRebalance")
    left = stable_one(probe, groups["empty"])
    left.commit((topic, {1: 2}))
    left.leave()
    probe.quiet(commit(groups["simple"], (topic, {0: 5})), 8)
    transactions = Transactions(probe)
    transactions.begin()
    probe.quiet(commit(groups["open"], (topic, {0: 7})), 8)
    probe.quiet(transactions.add_offsets(groups["open"]), 3)
    named: dict[str, Any] = {"producer_id": transactions.producer_id, "producer_epoch": transactions.epoch}
    probe.exchange(txn_commit(groups["open"], topic, transactional_id=transactions.id, **named), 3)
    _restart(probe, *groups.values())
    probe.finish(parked)
    for version in all_versions(ListGroupsRequest):
        list_own_groups(probe, version)
    for version in range(7 if probe.release in ONLY_NEW else 6):
        probe.exchange(describe_groups(*groups.values()), version)
    for name, group in groups.items():
        for version in (1, 5, 7, 8):
            for stable in (False, True):
                request = fetch_offsets(group, (topic, [0, 1, 2]), require_stable=stable)
                probe.exchange(request, version, note=f"{name}, {stable}")
        probe.exchange(fetch_offsets(group, everything=True), 8, note=name)
        probe.exchange(offset_delete(group, (topic, [2])), 0, note=name)
    for member in (leader, follower, static, first, second):
        for version in range(5):
            probe.exchange(heartbeat(member.group, member.generation, member.id), version)
        for version in range(6):
            probe.exchange(sync(member.group, member.generation, member.id), version)
        probe.exchange(commit(member.group, (topic, {1: 4}), generation=member.generation, member_id=member.id), 8)
    probe.exchange(DeleteGroupsRequest(groups_names=list(groups.values())), 2)
    leader.connection, follower.connection = probe.connect(), probe.connect()
    parked = follower.start_join(note="rejoins as it was")
    probe.finish(parked)
    parked = leader.start_join(note="rejoins, and so must the other")
    await_state(probe, groups["stable"], "PreparingRebalance")
    follower.join(note="rejoins")
    leader.finish_join(parked)
    probe.exchange(describe_groups(groups["stable"]), 5)
    transactions.ended(commit=True)
    probe.exchange(fetch_offsets(groups["open"], everything=True), 8, note="committed")


@case(settings=(*NO_DELAY, *_own(1)))
def sessions_of_classic_members(probe: Probe) -> None:
    """They begin anew when the group is loaded; one that the coordinator did not load has none."""
    group, other = group_of(probe), group_of(probe, "h")
    for name in (group, other):
        stable_one(probe, name, session_ms=1_500, instance="i" if name == other else None)
    pair = stable_pair(probe, group_of(probe, "pair"), session_ms=60_000, rebalance_ms=1_500)
    _restart(probe, group, other, pair[0].group)
    for name in (group, other):
        await_state(probe, name, "Empty")
        probe.exchange(describe_groups(name), 5)
    pair[0].connection = probe.connect()
    pair[0].join(note="the other one does not rejoin in time")
    await_members(probe, pair[0].group, 1)
    list_own_groups(probe, 4)


@case(releases=ONLY_NEW, settings=(*MODERN, *_own(2)))
def modern_groups(probe: Probe) -> None:
    topic = known_topic(probe, partitions=4)
    group, share, streams = group_of(probe, "c"), share_group_of(probe, "s"), group_of(probe, "k")
    first, second = (Consumer(probe, group, name, [topic], rebalance_ms=60_000) for name in ("m1", "m2"))
    third = Consumer(probe, group, "m3", [topic], instance="i", rebalance_ms=60_000, version=1)
    first.join()
    first.report()
    second.join()
    first.beat(note="it has to revoke")
    third.join()
    third.leave(-2, note="pauses")
    # Of one partition: which member gets which of several depends on the id of the topic.
    shared = known_topic(probe, "shared")
    sharers = [ShareConsumer(probe, share, name, [shared]) for name in ("s1", "s2")]
    sharers[0].join()
    sharers[0].await_assignment(1)
    sharers[1].join()
    sharers[0].beat(note="both have the partition")
    member = StreamsMember(probe, streams, "k1", topology(subtopology("0", topic)))
    member.join()
    member.report()
    other = StreamsMember(probe, streams, "k2", topology(subtopology("0", topic)), process="p2")
    other.join()
    member.beat(note="it has to revoke")
    _restart(probe, group, share, streams)
    list_own_groups(probe, 5)
    for note in ("loaded", "later"):
        for version in (0, 1):
            probe.exchange(consumer_describe(group), version, note=note)
        probe.exchange(share_describe(share), 1, note=note)
        probe.exchange(streams_describe(streams), 0, note=note)
        for each in (first, second, third):
            each.beat(note=f"{each.id}, {note}")
        for sharer in sharers:
            sharer.beat(note=f"{sharer.id}, {note}")
        for streamer in (member, other):
            streamer.beat(note=f"{streamer.id}, {note}")
        first.report()
        second.report()
        member.report()
        other.report()
    third.join(note="joins again")
    for version in (0, 1):
        probe.exchange(consumer_describe(group), version, note="joined")


@case(releases=ONLY_NEW, settings=(*MODERN, *_own(3)))
def share_partitions(probe: Probe) -> None:
    """Their state is loaded: what was acquired is available again, with its delivery count."""
    topic = known_topic(probe)
    topic_id = probe.topic_id(topic)
    group = share_group_of(probe)
    fill(probe, topic, *[batch(b"%d" % number) for number in range(6)])
    member = ShareConsumer(probe, group, "s1", [topic])
    member.join()
    member.await_assignment(1)
    member.fetch({topic_id: {0: []}})
    member.acknowledge({topic_id: {0: [(0, 0, [ACCEPT]), (2, 3, [ACCEPT])]}})
    for version in (0, 1):
        probe.exchange(describe_offsets((group, {topic: [0]})), version, note="before")
    _restart(probe, group)
    probe.await_topic(topic)
    for _ in attempts("the share partition to be described"):
        described: Any = probe.quiet(describe_offsets((group, {topic: [0]})), 1)
        if not described.groups[0].error_code and not described.groups[0].topics[0].partitions[0].error_code:
            break
    for version in (0, 1):
        probe.exchange(describe_offsets((group, {topic: [0]})), version, note="after")
    member.connection, member.session = probe.connect(), 0
    member.beat()
    member.fetch({topic_id: {0: []}}, note="the session is gone with the connection")
    member.acknowledge({topic_id: {0: [(1, 1, [ACCEPT]), (4, 5, [ACCEPT])]}})
    probe.exchange(describe_offsets((group, {topic: [0]})), 1, note="all are acknowledged")


@case(releases=ONLY_NEW, settings=(*SHORT_SESSIONS, *_own(4)))
def sessions_of_consumers(probe: Probe) -> None:
    """They begin anew when the group is loaded."""
    topic = known_topic(probe, partitions=4)
    group = group_of(probe)
    first, second = (Consumer(probe, group, name, [topic]) for name in ("m1", "m2"))
    first.join()
    second.join()
    _restart(probe, group)
    for _ in attempts("both members to be gone"):
        found: Any = probe.quiet(consumer_describe(group), 1)
        if not found.groups[0].members:
            break
    probe.exchange(consumer_describe(group), 1)
