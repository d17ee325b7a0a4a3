"""Configurations of the internal topics, and what coordinators respond when their records do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol_specs.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.differential.case import case
from tests.differential.cases.find_coordinator import GROUP, SHARE, TRANSACTION, await_coordinator
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.config_requests import DELETE, SET, TOPIC, await_value, incremental, legacy, unchanged_after
from tests.differential.group_records import write_records
from tests.differential.group_requests import (
    OFFSETS_TOPIC,
    Member,
    commit,
    fetch_offsets,
    group_of,
    list_own_groups,
    stable_one,
)
from tests.differential.modern_requests import consumer_heartbeat
from tests.differential.requests import batch, fetch, list_offsets, metadata, produce, wanted
from tests.differential.share_requests import SHARE as SHARE_SETTINGS
from tests.differential.transaction_requests import STATE_TOPIC, Transactions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

OWN_CLUSTER: Final = (*SHARE_SETTINGS, ("offsets.retention.minutes", "9999"))
TOPICS: Final = (OFFSETS_TOPIC, STATE_TOPIC, "__share_group_state")


def _await_topics(probe: Probe) -> tuple[str, ...]:
    await_coordinator(probe, GROUP)
    await_coordinator(probe, TRANSACTION)
    if probe.release == "3.7.2":
        return TOPICS[:2]
    await_coordinator(probe, SHARE, key="g:AAAAAAAAAAAAAAAAAAAAAQ:0")
    return TOPICS


@case(settings=OWN_CLUSTER)
def every_configuration(probe: Probe) -> None:
    for topic in _await_topics(probe):
        resource = DescribeConfigsResource(resource_type=TOPIC, resource_name=topic, configuration_keys=None)
        for version in (1, 4):
            request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
            probe.exchange(request, version, note=topic)
        probe.exchange(metadata(topic), 12)
        for stamp in (-1, -2, -3, 0):
            for version in (1, 5, 7):
                probe.exchange(list_offsets(topic, stamp, partition=9), version, note=f"{stamp}")


@case(settings=OWN_CLUSTER)
def changes_that_are_validated(probe: Probe) -> None:
    for topic in _await_topics(probe):
        for name, value in (
            ("cleanup.policy", "delete"),
            ("cleanup.policy", "compact,delete"),
            ("cleanup.policy", ""),
            ("cleanup.policy", "x"),
            ("min.insync.replicas", "5"),
            ("min.insync.replicas", "0"),
            ("max.message.bytes", "-1"),
            ("segment.bytes", "1"),
            ("retention.ms", "-2"),
            ("compression.type", "gzip"),
            ("message.format.version", "0.9.0"),
            ("message.timestamp.type", "LogAppendTime"),
            ("unclean.leader.election.enable", "true"),
            ("remote.storage.enable", "true"),
            ("no.such", "1"),
        ):
            for operation in (SET, DELETE):
                request = incremental((TOPIC, topic, [(name, operation, value)]), validate_only=True)
                probe.exchange(request, 1, note=f"{topic} {name}={value} {operation}")
            request = legacy((TOPIC, topic, [(name, value)]), validate_only=True)
            probe.exchange(request, 2, note=f"{topic} {name}={value}")


@case(settings=OWN_CLUSTER)
def topics_that_are_made_and_cut(probe: Probe) -> None:
    topics = _await_topics(probe)
    for name in (*topics, "__cluster_metadata"):
        made = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        probe.exchange(CreateTopicsRequest(topics=[made], timeout_ms=5_000, validate_only=True), 7)
    for name in topics:
        for offset in (-1, 0, 5):
            partition = DeleteRecordsPartition(partition_index=0, offset=offset)
            cut = DeleteRecordsTopic(name=name, partitions=[partition])
            probe.exchange(DeleteRecordsRequest(topics=[cut], timeout_ms=5_000), 2, note=f"{name} {offset}")
        for acks in (1, -1):
            for transactional_id in (None, "t"):
                request = produce(name, batch(b"x"), acks=acks, transactional_id=transactional_id)
                probe.exchange(request, 9, note=f"{name} {acks} {transactional_id}")
        for version in (4, 11, 12):
            probe.exchange(fetch(name, wanted(0, partition=8)), version, note=name)
            probe.exchange(fetch(name, wanted(1 << 40)), version, note=name)


@case(settings=OWN_CLUSTER)
def records_of_groups_that_are_too_large(probe: Probe) -> None:
    topic = probe.topic(partitions=9)
    group, other = group_of(probe), group_of(probe, "h")
    member = stable_one(probe, group)
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.add_offsets(other), 3)
    with unchanged_after(probe, TOPIC, OFFSETS_TOPIC, "max.message.bytes"):
        for limit in ("100", "300"):
            probe.exchange(incremental((TOPIC, OFFSETS_TOPIC, [("max.message.bytes", SET, limit)])), 1)
            await_value(probe, TOPIC, OFFSETS_TOPIC, "max.message.bytes", limit)
            for version in (1, 2, 8, 9):
                for name in (group, other):
                    fields = {"generation": member.generation, "member_id": member.id} if name == group else {}
                    for offsets, text in (({0: 1}, ""), (dict.fromkeys(range(9), 1), ""), ({0: 1}, "x" * 500)):
                        request = commit(name, (topic, offsets), metadata_text=text, **fields)
                        probe.exchange(request, version, note=f"{name[-1]} {len(offsets)} {len(text)}")
            request = txn_commit(
                other,
                topic,
                transactional_id=transactions.id,
                producer_id=transactions.producer_id,
                producer_epoch=transactions.epoch,
            )
            probe.exchange(request, 3)
            probe.exchange(offset_delete(other, (topic, list(range(9)))), 0)
            member.join(note="again")
            member.sync({member.id: b"x" * 1_000}, note="large")
            member.heartbeat()
            member.join(note="again")
            member.sync({member.id: b"x"}, note="small")
            member.heartbeat()
            newcomer = Member(probe, group_of(probe, f"new{limit}"))
            newcomer.join()
            newcomer.sync({newcomer.id: b"x" * 1_000})
            newcomer.heartbeat()
            newcomer.leave()
            probe.exchange(DeleteGroupsRequest(groups_names=[other]), 2)
            probe.exchange(fetch_offsets(other, everything=True, require_stable=True), 7)
            probe.exchange(fetch_offsets(group, everything=True, require_stable=True), 7)
            list_own_groups(probe, 4)
            if probe.release == "4.3.1":
                request = consumer_heartbeat(f"{group}-c", "m", 0, topics=[topic], owned={}, rebalance_ms=1_000)
                probe.exchange(request, 1)
    member.commit((topic, {0: 5}))
    transactions.ended(commit=True)
    probe.exchange(fetch_offsets(other, everything=True, require_stable=True), 7)


@case(
    settings=OWN_CLUSTER,
    accepted={"4.3.1": "what a removal that is not written gives back is listed twice until the next record"},
)
def tombstones_that_are_too_large(probe: Probe) -> None:
    topic = probe.topic(partitions=9)
    simple, small, empty = group_of(probe), group_of(probe, "small"), group_of(probe, "empty")
    stable, pair = stable_one(probe, group_of(probe, "stable")), stable_one(probe, group_of(probe, "two"), instance="i")
    stable.commit((topic, dict.fromkeys(range(9), 1)))
    for group, count in ((simple, 9), (small, 1), (empty, 2)):
        probe.exchange(commit(group, (topic, dict.fromkeys(range(count), 1))), 8)
    stable_one(probe, empty).leave()
    with unchanged_after(probe, TOPIC, OFFSETS_TOPIC, "max.message.bytes"):
        probe.exchange(incremental((TOPIC, OFFSETS_TOPIC, [("max.message.bytes", SET, "120")])), 1)
        await_value(probe, TOPIC, OFFSETS_TOPIC, "max.message.bytes", "120")
        for group in (simple, small, empty, stable.group):
            probe.exchange(offset_delete(group, (topic, [0, 1])), 0, note=group[-3:])
            probe.exchange(offset_delete(group, (topic, list(range(9)))), 0, note=group[-3:])
            probe.exchange(fetch_offsets(group, everything=True), 7, note=group[-3:])
        for group in (simple, small, empty):
            probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2, note=group[-3:])
            probe.exchange(fetch_offsets(group, everything=True), 7, note=group[-3:])
        list_own_groups(probe, 4)
        pair.id = ""
        pair.join(note="another process")
        pair.sync({pair.id: b"x"})
        pair.heartbeat()
        stable.leave()
        stable.heartbeat()
        pair.leave()
        list_own_groups(probe, 4)
    for group in (simple, small, empty, stable.group):
        probe.exchange(fetch_offsets(group, everything=True), 7, note=group[-3:])
    list_own_groups(probe, 4)
    write_records(probe, OFFSETS_TOPIC, probe.name)


@case(settings=OWN_CLUSTER)
def records_of_transactions_that_are_too_large(probe: Probe) -> None:
    topic = probe.topic(partitions=30)
    transactions, other = Transactions(probe), Transactions(probe, "other")
    transactions.begin()
    with unchanged_after(probe, TOPIC, STATE_TOPIC, "max.message.bytes"):
        probe.exchange(incremental((TOPIC, STATE_TOPIC, [("max.message.bytes", SET, "300")])), 1)
        await_value(probe, TOPIC, STATE_TOPIC, "max.message.bytes", "300")
        probe.exchange(transactions.add((topic, 0)), 3)
        transactions.describe()
        for version in (0, 3):
            probe.exchange(transactions.add(*((topic, index) for index in range(30))), version, note="too many")
            transactions.describe()
        probe.exchange(transactions.add_offsets("x"), 3)
        transactions.describe()
        probe.exchange(transactions.end(commit=True), 3)
        transactions.await_state("CompleteCommit")
        probe.exchange(incremental((TOPIC, STATE_TOPIC, [("max.message.bytes", SET, "60")])), 1)
        await_value(probe, TOPIC, STATE_TOPIC, "max.message.bytes", "60")
        for version in (0, 2, 3, 4):
            probe.exchange(other.init(), version)
            other.describe()
            probe.exchange(transactions.init(), version)
            transactions.describe()
        probe.exchange(transactions.add((topic, 0)), 3)
        probe.exchange(transactions.end(commit=True), 3)
        transactions.describe()
    probe.exchange(transactions.init(), 3)
    probe.exchange(other.init(), 3)
    transactions.describe()
    other.describe()
