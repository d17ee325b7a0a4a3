"""Offsets in transactions: groups of both types, many topics, stable reads, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from protocol_specs.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.differential.case import case
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_requests import NO_DELAY, commit, fetch_offsets, group_of, stable_one
from tests.differential.modern_requests import consumer_heartbeat
from tests.differential.transaction_requests import Transactions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.differential.probe import Probe

V2 = ("4.3.1",)


def _named(transactions: Transactions) -> dict[str, Any]:
    return {
        "transactional_id": transactions.id,
        "producer_id": transactions.producer_id,
        "producer_epoch": transactions.epoch,
    }


def _commit_all(
    transactions: Transactions, group: str, topics: Mapping[str, Mapping[int, int]], **fields: Any
) -> TxnOffsetCommitRequest:
    entries = [
        TxnOffsetCommitRequestTopic(
            name=name,
            partitions=[
                TxnOffsetCommitRequestPartition(
                    partition_index=index, committed_offset=offset, committed_leader_epoch=3, committed_metadata="m"
                )
                for index, offset in offsets.items()
            ],
        )
        for name, offsets in topics.items()
    ]
    return TxnOffsetCommitRequest(**(_named(transactions) | {"group_id": group} | fields), topics=entries)


def _of_groups(groups: Mapping[str, Mapping[str, list[int]] | None], *, stable: bool) -> OffsetFetchRequest:
    entries = [
        OffsetFetchRequestGroup(
            group_id=group,
            topics=None
            if topics is None
            else [OffsetFetchRequestTopics(name=name, partition_indexes=indexes) for name, indexes in topics.items()],
        )
        for group, topics in groups.items()
    ]
    return OffsetFetchRequest(groups=entries, require_stable=stable)


@case(settings=NO_DELAY)
def topics_and_partitions(probe: Probe) -> None:
    topic, other = probe.topic(partitions=3), probe.topic("u")
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.add_offsets(group), 3)
    for version in range(4 if probe.release == "3.7.2" else 6):
        for topics, note in (
            ({topic: {0: 1, 2: 5}, other: {0: 8}}, "two topics"),
            ({topic: {0: 1, 7: 5}, "unknown": {0: 8}, other: {0: 9}}, "some unknown"),
            ({topic: {}}, "no partitions"),
            ({}, "no topics"),
            ({topic: {0: -1, 1: -5}}, "negative offsets"),
            ({"": {0: 1}}, "no name"),
            ({"__consumer_offsets": {0: 1}}, "internal"),
        ):
            probe.exchange(_commit_all(transactions, group, topics), version, note=note)
    probe.exchange(fetch_offsets(group, everything=True), 7)
    probe.exchange(fetch_offsets(group, everything=True, require_stable=True), 7)
    transactions.ended(commit=True)
    probe.exchange(fetch_offsets(group, everything=True, require_stable=True), 7)


@case(settings=NO_DELAY)
def metadata_of_offsets(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.add_offsets(group), 3)
    for text in (None, "", "x" * 4_096, "x" * 4_097, "\u00e9" * 4_096):
        request = _commit_all(transactions, group, {topic: {0: 4}})
        request.topics[0].partitions[0].committed_metadata = text
        for version in (0, 3):
            probe.exchange(request, version, note=str(text)[:5])
    transactions.ended(commit=True)
    probe.exchange(fetch_offsets(group, (topic, [0])), 7)


@case(settings=NO_DELAY)
def stable_reads_of_several_groups(probe: Probe) -> None:
    topic, other = probe.topic(partitions=3), probe.topic("u")
    pending, plain = group_of(probe), group_of(probe, "h")
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(commit(plain, (topic, {0: 3})), 8)
    probe.exchange(commit(pending, (topic, {0: 3, 2: 4})), 8)
    probe.exchange(transactions.add_offsets(pending), 3)
    probe.exchange(_commit_all(transactions, pending, {topic: {0: 7, 1: 8}, other: {0: 1}}), 3)
    for ended in (False, True):
        for stable in (False, True):
            for version in (6, 7):
                for wanted in ((topic, [0, 1, 2, 9]), (other, [0]), ("unknown", [0])):
                    request = fetch_offsets(pending, wanted, require_stable=stable)
                    probe.exchange(request, version, note=f"{stable} {ended}")
                request = fetch_offsets(pending, everything=True, require_stable=stable)
                probe.exchange(request, version, note=f"{stable} {ended}, everything")
            for version in (8,) if probe.release == "3.7.2" else (8, 9):
                for groups in (
                    {pending: None, plain: None},
                    {plain: {topic: [0, 1]}, pending: {topic: [0, 2], other: [0]}, f"{probe.name}-none": None},
                    {pending: {}, "": None},
                ):
                    probe.exchange(_of_groups(groups, stable=stable), version, note=f"{stable} {ended}")
        if not ended:
            transactions.ended(commit=False)


@case(settings=NO_DELAY)
def members_of_a_rebalance(probe: Probe) -> None:
    topic = probe.topic()
    member = stable_one(probe, group_of(probe))
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.add_offsets(member.group), 3)
    for version in (3,) if probe.release == "3.7.2" else (3, 4, 5):
        for member_id, generation, instance in (
            (member.id, member.generation, None),
            (member.id, member.generation - 1, None),
            (member.id, member.generation + 1, None),
            (member.id, -1, None),
            ("", member.generation, None),
            ("", -1, None),
            ("stranger", -1, None),
            (member.id, member.generation, "i"),
            ("", -1, "i"),
            ("stranger", member.generation + 5, "i"),
        ):
            request = txn_commit(
                member.group,
                topic,
                **_named(transactions),
                member_id=member_id,
                generation_id=generation,
                group_instance_id=instance,
            )
            probe.exchange(request, version, note=f"{bool(member_id)} {generation} {instance}")
    transactions.ended(commit=True)
    probe.exchange(fetch_offsets(member.group, (topic, [0]), require_stable=True), 7)


@case(releases=V2, settings=NO_DELAY)
def members_of_a_consumer_group(probe: Probe) -> None:
    topic = known_topic(probe)
    group = group_of(probe)
    joined: Any = probe.exchange(consumer_heartbeat(group, "m", 0, topics=[topic], rebalance_ms=10_000, owned={}), 1)
    epoch = joined.member_epoch
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.add_offsets(group), 3)
    for version in range(6):
        for member_id, generation, instance in (
            ("m", epoch, None),
            ("m", epoch - 1, None),
            ("m", epoch + 1, None),
            ("m", -1, None),
            ("m", 0, None),
            ("", epoch, None),
            ("", -1, None),
            ("stranger", epoch, None),
            ("stranger", -1, None),
            ("m", epoch, "i"),
            ("", -1, "i"),
        ):
            request = txn_commit(
                group,
                topic,
                **_named(transactions),
                member_id=member_id,
                generation_id=generation,
                group_instance_id=instance,
            )
            probe.exchange(request, version, note=f"{member_id} {generation} {instance}")
            if version < 3:
                break
    for version in (8, 9):
        for member, given in ((None, -1), ("m", epoch), ("m", epoch + 1), ("x", epoch)):
            request = fetch_offsets(group, (topic, [0]), require_stable=True, member_id=member, member_epoch=given)
            probe.exchange(request, version, note=f"{member} {given - epoch}")
    transactions.ended(commit=True)
    probe.exchange(fetch_offsets(group, (topic, [0]), require_stable=True), 8)
    probe.exchange(consumer_heartbeat(group, "m", -1), 1)


@case(settings=NO_DELAY)
def groups_added_in_each_state(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    for version in range(4 if probe.release == "3.7.2" else 5):
        for name in ("", f"{group}-none", group):
            for step in (-1, 1, 0):
                request = transactions.add_offsets(name, producer_epoch=transactions.epoch + step)
                probe.exchange(request, version, note=f"{name[-4:]} {step}")
        probe.exchange(transactions.add_offsets(group, transactional_id=""), version, note="no id")
        probe.exchange(transactions.add_offsets(group, producer_id=5), version, note="another producer")
        transactions.describe()
        transactions.ended(commit=version % 2 == 0)
    probe.exchange(txn_commit(group, topic, **_named(transactions)), 3, note="ended")


@case(releases=V2, settings=NO_DELAY)
def groups_that_offset_commits_add(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    transactions = Transactions(probe)
    transactions.begin()
    for version in (3, 4, 5, 4, 3):
        probe.exchange(_commit_all(transactions, group, {topic: {0: version}}), version)
        transactions.describe()
    for step in (-1, 1):
        fields = {"producer_epoch": transactions.epoch + step}
        for version in (3, 4, 5):
            request = _commit_all(transactions, group, {topic: {0: 1}}, **fields)
            probe.exchange(request, version, note=f"epoch {step}")
    for fields in ({"producer_id": 5}, {"transactional_id": ""}, {"transactional_id": "none"}, {"group_id": ""}):
        for version in (3, 4, 5):
            request = _commit_all(transactions, group, {topic: {0: 1}}, **fields)
            probe.exchange(request, version, note=str(list(fields)))
    transactions.take(probe.exchange(transactions.end(commit=True), 5))
    transactions.await_state("CompleteCommit")
    probe.exchange(fetch_offsets(group, (topic, [0]), require_stable=True), 8)
    for version in (3, 4):
        probe.exchange(_commit_all(transactions, group, {topic: {0: 1}}), version, note="not added")
