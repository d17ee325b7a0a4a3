"""Topics, partitions, groups and members that one request names twice, empty lists and names of any length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from protocol_specs.messages.consumer_group_heartbeat import TopicPartitions
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.offset_fetch import OffsetFetchRequest
from tests.differential.case import case
from tests.differential.cases.describe_producers import describe as describe_producers
from tests.differential.cases.find_coordinator import GROUP, TRANSACTION, await_coordinator
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.cases.init_producer_id import await_transactions, init
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_requests import (
    NO_DELAY,
    Member,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    heartbeat,
    join,
    leave,
    stable_one,
    sync,
)
from tests.differential.modern_requests import AT_ONCE, Consumer, consumer_heartbeat
from tests.differential.transaction_requests import Transactions, batched, describe, list_own

if TYPE_CHECKING:
    from tests.differential.probe import Probe

LONG: Final = ("x" * 249, "x" * 250, "x" * 1_000, "x" * 32_767, "\u00e9" * 16_383)


@case(settings=NO_DELAY)
def offsets_that_are_committed_twice(probe: Probe) -> None:
    topic, other = probe.topic(partitions=2), probe.topic("u")
    ids = {topic: probe.topic_id(topic), other: probe.topic_id(other)}
    group = group_of(probe)
    newest = 10 if probe.release == "4.3.1" else 8
    for version in (1, 2, 8, newest):
        request = commit(
            group, (topic, {0: 1, 1: 2}), (other, {0: 3, 9: 9}), (topic, {0: 5, 1: 6}), ("", {0: 1}), ("none", {0: 1}),
            ("none", {0: 2}), ids=ids,
        )  # fmt: skip
        request.topics[0].partitions += commit(group, (topic, {0: version + 50})).topics[0].partitions
        probe.exchange(request, version)
        wanted = ((topic, [1, 0, 0]), (other, [0, 9]), (topic, [0]), ("none", [0]), ("", [0]), ("none", [1, 0]))
        for fetched in (1, 5, 7, 8, newest):
            probe.exchange(fetch_offsets(group, *wanted, ids=ids), fetched, note=f"after {version}")
    probe.exchange(
        offset_delete(group, (topic, [0, 0]), (other, [0]), (topic, [1, 0]), ("none", [1]), ("none", [1])), 0
    )
    probe.exchange(offset_delete(group, ("", [0]), (topic, []), (topic, [1])), 0)
    probe.exchange(offset_delete(group), 0)
    probe.exchange(fetch_offsets(group, everything=True), 7)


@case(settings=NO_DELAY)
def offsets_that_are_committed_twice_in_a_transaction(probe: Probe) -> None:
    topic, other = probe.topic(partitions=2), probe.topic("u")
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.add_offsets(group), 3)
    for version in range(6 if probe.release == "4.3.1" else 4):
        request = txn_commit(
            group,
            topic,
            transactional_id=transactions.id,
            producer_id=transactions.producer_id,
            producer_epoch=transactions.epoch,
        )
        for name, offset in (("none", 1), (other, 8), (topic, 30 + version), ("", 2), ("none", 2)):
            entry = txn_commit(group, name).topics[0]
            entry.partitions[0].committed_offset = offset
            request.topics.append(entry)
        request.topics[0].partitions += txn_commit(group, topic).topics[0].partitions
        probe.exchange(request, version)
    transactions.ended(commit=True)
    probe.exchange(fetch_offsets(group, everything=True), 7)


@case(settings=NO_DELAY)
def transactions_that_are_named_twice(probe: Probe) -> None:
    topic, other = probe.topic(partitions=3), probe.topic("u")
    transactions, second = Transactions(probe), Transactions(probe, "second")
    transactions.begin()
    second.begin()
    for version in range(4):
        request = transactions.add((topic, 0), (other, 0), (topic, 0), (topic, 1))
        request.v3_and_below_topics += transactions.add((topic, 2), (topic, 0)).v3_and_below_topics
        probe.exchange(request, version)
        transactions.describe()
        request.v3_and_below_topics += transactions.add((topic, 9), (other, 1)).v3_and_below_topics
        probe.exchange(request, version, note="some unknown")
        probe.exchange(transactions.add(), version, note="none")
        probe.exchange(transactions.add(("", 0)), version, note="no name")
        probe.exchange(transactions.add((topic, -1), (topic, 2_147_483_647)), version, note="odd partitions")
    for version in (4, 5) if probe.release == "4.3.1" else (4,):
        mine, its = transactions.verify((topic, 0), (topic, 0), (other, 0)), second.verify((topic, 0), (topic, 7))
        for entries, note in (
            ((mine, mine), "twice"),
            ((mine, its), "two"),
            ((its, mine, transactions.verify((topic, 1), (topic, 9))), "twice with others between"),
            ((transactions.verify(),), "no partitions"),
            ((transactions.verify((topic, 0), transactional_id=""),), "no id"),
            ((transactions.verify((topic, 0), transactional_id="none"), mine), "an unknown id"),
            ((transactions.verify(("none", 0), (topic, 1)),), "an unknown topic"),
            ((transactions.verify((topic, 0), producer_epoch=9), its), "a newer epoch"),
            ((transactions.verify((topic, 0), verify_only=False), its), "both"),
        ):
            probe.exchange(batched(*entries), version, note=note)
        probe.exchange(AddPartitionsToTxnRequest(), version, note="nothing") if version > 99 else None
    ids = [transactions.id, "", "none", transactions.id, second.id, "", "none"]
    probe.exchange(describe(*ids), 0)
    probe.exchange(describe(), 0, note="none")
    probe.exchange(describe_producers((topic, (0, 0)), (other, (0,)), (topic, (1, 0)), ("none", (0, 0))), 0)
    probe.exchange(describe_producers(), 0)
    list_own(probe, 0, producer_id_filters=[transactions.producer_id] * 3, state_filters=["Ongoing", "Ongoing"])


@case(settings=NO_DELAY)
def names_of_any_length(probe: Probe) -> None:
    topic = probe.topic()
    group_of(probe)
    await_transactions(probe)
    for name in LONG:
        note = f"{len(name)}"
        for version in (0, 4):
            probe.exchange(init(name), version, note=note)
        probe.exchange(describe(name), 0, note=note)
        for version in (0, 8):
            probe.exchange(commit(name, (topic, {0: 1})), max(version, 2), note=note)
        probe.exchange(commit("g", (name, {0: 1})), 2, note=note)
        for version in (5, 8):
            probe.exchange(fetch_offsets(name, (topic, [0])), version, note=note)
            probe.exchange(fetch_offsets("none", (name, [0])), version, note=note)
        probe.exchange(heartbeat(name, 1, name), 4, note=note)
        probe.exchange(join(name, member_id=name), 9, note=note)
        probe.exchange(sync("none", 1, name), 5, note=note)
        probe.exchange(leave(name, (name, name)), 5, note=note)
        probe.exchange(describe_groups(name), 5, note=note)
        for kind in (GROUP, TRANSACTION):
            probe.exchange(FindCoordinatorRequest(key=name, key_type=kind), 2, note=note)
            probe.exchange(FindCoordinatorRequest(coordinator_keys=[name, "", name], key_type=kind), 4, note=note)
        member = Member(probe, group_of(probe, f"m{len(name)}{len(name.encode())}"), instance=name)
        member.join()
        member.sync({member.id: b"", "none": b"x"})
        member.leave()


@case(settings=NO_DELAY)
def members_that_are_named_twice(probe: Probe) -> None:
    group = group_of(probe)
    member = Member(probe, group, protocols=(("range", b"a"), ("range", b"b"), ("", b"c")))
    member.join()
    request = sync(group, member.generation, member.id, {member.id: b"first"})
    request.assignments += sync(group, 1, "", {"none": b"x", member.id: b"second"}).assignments
    probe.exchange(request, 5, on=member.connection)
    probe.exchange(describe_groups(group, group), 5)
    for version in (2, 3, 5):
        members = ((member.id, None), ("none", None), (member.id, None), ("", None), ("none", None), ("", ""))
        probe.exchange(leave(group, *members), version)
        probe.exchange(describe_groups(group), 5)
        member.id = ""
        member.join()
        member.sync({})
    probe.exchange(leave(group, (member.id, "i"), (member.id, None)), 5, note="with an instance")
    static = stable_one(probe, group_of(probe, "static"), instance="i")
    for members in (
        ((static.id, "j"), ("x", "i"), ("", "j")),
        ((static.id, None),),
        (("", "i"), ("", "i"), (static.id, "i")),
    ):
        probe.exchange(leave(static.group, *members), 4, note=str(len(members)))


@case(settings=NO_DELAY)
def groups_that_are_named_twice(probe: Probe) -> None:
    topic = probe.topic()
    ids = {topic: probe.topic_id(topic)}
    groups = [group_of(probe, name) for name in "abc"]
    for number, group in enumerate(groups):
        probe.exchange(commit(group, (topic, {0: number})), 8)
    await_coordinator(probe, TRANSACTION)
    for version in (8, 9, 10):
        entries: list[Any] = [
            fetch_offsets(group, (topic, [0]), ids=ids).groups[0] for group in (groups[1], groups[0], groups[1], "none")
        ]
        entries += [fetch_offsets(groups[1], everything=True).groups[0], fetch_offsets(groups[2]).groups[0]]
        for stable in (False, True):
            probe.exchange(OffsetFetchRequest(groups=entries, require_stable=stable), version)
    for version in (4, 6):
        for kind in (GROUP, TRANSACTION):
            keys = ["b", "", "a", "b", "\u00e9", "", "c" * 300]
            probe.exchange(FindCoordinatorRequest(coordinator_keys=keys, key_type=kind), version)


@case(settings=AT_ONCE)
def owned_topics_that_are_named_twice(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    topic_id, group = probe.topic_id(topic), group_of(probe)
    first, second = (Consumer(probe, group, name, topics=[topic]) for name in ("m1", "m2"))
    first.join()
    first.report()
    second.join()
    first.beat(note="must revoke one")
    kept = first.assigned[topic_id]
    revoked = [1 - kept[0]]
    for owned in ([kept, revoked], [revoked, kept], [kept, kept], [kept]):
        request = consumer_heartbeat(group, first.id, first.epoch)
        request.topic_partitions = [TopicPartitions(topic_id=topic_id, partitions=each) for each in owned]
        probe.exchange(
            request, 0, note=f"owns {['the other' if each == revoked else 'the kept one' for each in owned]}"
        )
    second.beat(note="gets the other")
