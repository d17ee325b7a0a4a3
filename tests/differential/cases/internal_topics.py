"""The internal topics of coordinators, as raw probes see them: their metadata, configurations and records."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.internal_partitions import partition_for
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from protocol_specs.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from tests.differential.case import case
from tests.differential.cases.describe_configs import describe
from tests.differential.cases.group_coordinator import txn_commit
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.config_requests import TOPIC
from tests.differential.group_records import await_tombstone, find_records, write_batches, write_records
from tests.differential.group_requests import (
    NO_DELAY,
    OFFSETS_TOPIC,
    Member,
    await_state,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    heartbeat,
    leave,
    list_own_groups,
    offering,
    stable_one,
    stable_pair,
)
from tests.differential.probe import attempts
from tests.differential.requests import batch, fetch, list_offsets, metadata, produce, wanted
from tests.differential.transaction_requests import Transactions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

CHECKED_OFTEN: Final = (
    *NO_DELAY,
    ("offsets.retention.check.interval.ms", "200"),
    ("offsets.retention.minutes", "1"),
)
"""Offsets that expire soon."""


@case(settings=NO_DELAY)
def the_offsets_topic_is_described(probe: Probe) -> None:
    group_of(probe)
    for version in (0, 1, 5, 8, 12):
        probe.exchange(metadata(OFFSETS_TOPIC), version)
    names = ["cleanup.policy", "segment.bytes", "compression.type", "min.insync.replicas", "retention.ms"]
    probe.exchange(describe((TOPIC, OFFSETS_TOPIC, names)), 4)
    if probe.release == "4.3.1":
        probe.exchange(DescribeTopicPartitionsRequest(topics=[TopicRequest(name=OFFSETS_TOPIC)]), 0)


@case(settings=NO_DELAY)
def the_offsets_topic_is_written_and_made_again(probe: Probe) -> None:
    group_of(probe)
    probe.exchange(produce(OFFSETS_TOPIC, batch(b"x"), partition=9), 9, note="no such partition")
    probe.exchange(produce(OFFSETS_TOPIC, batch(b"x")), 9)
    probe.exchange(produce(OFFSETS_TOPIC, batch(b"x"), acks=1), 7)
    probe.exchange(produce("__share_group_state", batch(b"x"), partition=77), 9, note="internal from 4.0 on")
    topic = CreatableTopic(name=OFFSETS_TOPIC, num_partitions=1, replication_factor=1)
    probe.exchange(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 5)
    probe.exchange(list_offsets(OFFSETS_TOPIC, -2), 5)
    probe.exchange(fetch(OFFSETS_TOPIC, wanted(0, partition=7)), 12, note="no such partition")


@case(settings=NO_DELAY)
def records_of_one_member(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    group = group_of(probe)
    member = Member(probe, group)
    member.join()
    write_records(probe, OFFSETS_TOPIC, group, note="joined")
    member.sync({member.id: b"assignment"})
    write_records(probe, OFFSETS_TOPIC, group, note="synced")
    member.commit((topic, {0: 3, 1: 4}), metadata_text="about it", leader_epoch=7)
    member.join(note="again")
    member.sync({member.id: b"another assignment"})
    member.leave()
    write_records(probe, OFFSETS_TOPIC, group, note="left")
    probe.exchange(offset_delete(group, (topic, [0])), 0)
    probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
    write_records(probe, OFFSETS_TOPIC, group, note="deleted")


@case(settings=NO_DELAY)
def batches_of_one_member(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    group = group_of(probe)
    member = stable_one(probe, group)
    member.commit((topic, {0: 3, 1: 4}), metadata_text="about it")
    probe.exchange(commit(group, (topic, {0: 4}), retention_ms=-1, generation=1, member_id=member.id), 4)
    member.leave()
    write_batches(probe, OFFSETS_TOPIC, group, note="left")
    probe.exchange(offset_delete(group, (topic, [0])), 0)
    probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
    write_batches(probe, OFFSETS_TOPIC, group, note="deleted")


@case(settings=NO_DELAY)
def batches_of_many_offsets(probe: Probe) -> None:
    topics = [probe.topic(suffix, partitions=count) for suffix, count in (("t", 8), ("u", 5), ("w", 2))]
    group = group_of(probe)
    first, second, third = topics
    some = ((first, {0: 1, 5: 2, 3: 3, 1: 1}), (second, {4: 3, 0: 1}), (third, {1: 1}), (first, {7: 1}))
    probe.exchange(commit(group, *some), 8)
    probe.exchange(commit(group, (third, {1: 1, 0: 1}), ("nope", {5: 1, 0: 1, 3: 1}), (second, {3: 3, 9: 1, 1: 5})), 8)
    probe.exchange(offset_delete(group, (second, [4, 0]), (first, [7, 6, 5, 1]), (third, [1]), ("nope", [0])), 0)
    probe.exchange(offset_delete(group, (second, [1, 2]), (first, [3])), 0)
    probe.exchange(commit(group, (first, {0: 1, 5: 2, 3: 3, 1: 1}), (second, {4: 3, 0: 1})), 8)
    probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
    write_batches(probe, OFFSETS_TOPIC, group)


@case(settings=NO_DELAY)
def batches_of_groups_that_are_deleted(probe: Probe) -> None:
    topic, other = probe.topic(partitions=2), probe.topic("u")
    groups = _groups_of_one_partition(probe, 4)
    for group in groups:
        probe.exchange(commit(group, (topic, {1: 1, 0: 1}), (other, {0: 1})), 8)
    member = stable_one(probe, groups[3])
    member.leave()
    requested = [groups[2], groups[0], f"{probe.name}-none", groups[3], groups[1], groups[0]]
    probe.exchange(DeleteGroupsRequest(groups_names=requested), 2)
    write_batches(probe, OFFSETS_TOPIC, probe.name)


@case(settings=(*NO_DELAY, ("delete.topic.enable", "true")))
def batches_of_topics_that_are_deleted(probe: Probe) -> None:
    topic, other = probe.topic(partitions=6), probe.topic("u", partitions=2)
    groups = _groups_of_one_partition(probe, 4)
    for group in groups:
        probe.exchange(commit(group, (topic, {1: 1, 0: 1, 5: 1, 3: 1}), (other, {1: 1, 0: 1})), 8)
    member = stable_one(probe, groups[3])
    member.leave()
    for name, left in ((topic, 1), (other, 0)):
        probe.quiet(DeleteTopicsRequest(topic_names=[name], timeout_ms=5_000), 5)
        _await_offsets(probe, groups, left)
        write_batches(probe, OFFSETS_TOPIC, probe.name, note=f"{left} topics are left")
        list_own_groups(probe, 4)


@case(settings=(*NO_DELAY, ("delete.topic.enable", "true")))
def groups_without_offsets_when_a_topic_is_deleted(probe: Probe) -> None:
    topic = probe.topic()
    watched, empty, pending, live = (group_of(probe, suffix) for suffix in ("watched", "empty", "pending", "live"))
    probe.exchange(commit(watched, (topic, {0: 1})), 8)
    stable_one(probe, empty).leave()
    waiting = Member(probe, pending)
    waiting.learn_id()
    member = stable_one(probe, live)
    probe.quiet(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5_000), 5)
    _await_offsets(probe, [watched], 0)
    list_own_groups(probe, 4)
    waiting.join()
    member.heartbeat()
    write_batches(probe, OFFSETS_TOPIC, empty)


@case(settings=(*NO_DELAY, ("offsets.topic.num.partitions", "5")))
def the_offsets_topic_has_another_number_of_partitions(probe: Probe) -> None:
    """Groups are spread over the number of partitions with which the coordinator started."""
    described_before = describe_groups(*(f"{probe.name}-{number}" for number in range(6)))
    probe.exchange(described_before, 5, note="without the topic")
    topic = probe.topic()
    made = CreatableTopic(name=OFFSETS_TOPIC, num_partitions=2, replication_factor=1)
    probe.quiet(CreateTopicsRequest(topics=[made], timeout_ms=5_000), 5)
    probe.await_topic(OFFSETS_TOPIC, 2)
    groups = [_group_of_partition(probe, partition, 5) for partition in range(5)]
    await_loaded(probe, groups[0])
    await_loaded(probe, groups[1])
    _use_all(probe, groups, topic)
    grown = CreatePartitionsTopic(name=OFFSETS_TOPIC, count=4, assignments=None)
    probe.exchange(CreatePartitionsRequest(topics=[grown], timeout_ms=5_000), 2)
    probe.await_topic(OFFSETS_TOPIC, 4)
    await_loaded(probe, groups[2])
    await_loaded(probe, groups[3])
    _use_all(probe, groups, topic)


def _use_all(probe: Probe, groups: list[str], topic: str) -> None:
    probe.exchange(FindCoordinatorRequest(coordinator_keys=groups), 4)
    for group in groups:
        probe.exchange(commit(group, (topic, {0: 1})), 8)
        probe.exchange(fetch_offsets(group, (topic, [0])), 7)
        probe.exchange(describe_groups(group), 5)
        probe.exchange(heartbeat(group, 1, "m"), 4)


def _group_of_partition(probe: Probe, partition: int, partitions: int) -> str:
    names = (f"{probe.name}-{number}" for number in count())
    return next(name for name in names if partition_for(name, partitions) == partition)


def await_loaded(probe: Probe, group: str) -> None:
    """Wait until the coordinator of a group has loaded its partition."""
    for _ in attempts(f"the coordinator of {group} to be loaded"):
        loaded: Any = probe.quiet(fetch_offsets(group), 7)
        if loaded.error_code == 0:
            return


def _groups_of_one_partition(probe: Probe, count: int) -> list[str]:
    described: Any = probe.quiet(metadata(OFFSETS_TOPIC), 12) if group_of(probe) else None
    partitions = len(described.topics[0].partitions)
    names = [f"{probe.name}-{number}" for number in range(count * partitions * 4)]
    return [name for name in names if partition_for(name, partitions) == 0][:count]


def _await_offsets(probe: Probe, groups: list[str], topics: int) -> None:
    """Wait until so many topics are left of the offsets of each group."""
    for group in groups:
        for _ in attempts(f"the offsets of {group} to be gone"):
            found: Any = probe.quiet(fetch_offsets(group, everything=True), 7)
            if len(found.topics) == topics:
                break


@case(settings=NO_DELAY)
def records_of_two_members(probe: Probe) -> None:
    group = group_of(probe)
    first, second = stable_pair(probe, group, protocols=offering("range", "roundrobin"))
    probe.exchange(leave(group, (second.id, None)), 5)
    first.join()
    first.sync({first.id: b"all"})
    probe.exchange(leave(group, (first.id, None)), 5)
    described: Any = await_state(probe, group, "Empty")
    probe.write(note="state", response=described.group_state)


@case(settings=NO_DELAY)
def records_of_a_static_member(probe: Probe) -> None:
    group = group_of(probe)
    member = stable_one(probe, group, instance="i")
    member.id = ""
    member.join(note="another process")
    member.sync({})
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=NO_DELAY)
def records_of_commits(probe: Probe) -> None:
    topic = probe.topic()
    ids = {topic: probe.topic_id(topic)}
    group = group_of(probe)
    for version in range(2, 11):
        request = commit(group, (topic, {0: version}), metadata_text=f"v{version}", leader_epoch=version, ids=ids)
        probe.exchange(request, version)
    for retention_ms in (0, 1_000_000, -2):
        probe.exchange(commit(group, (topic, {0: 20}), retention_ms=retention_ms), 4)
    probe.exchange(commit(group, (topic, {0: 21}), metadata_text=None), 8)
    for text in ("", "ä"):
        probe.exchange(commit(group, (topic, {0: 21}), metadata_text=text), 8)
    write_records(probe, OFFSETS_TOPIC, group)
    probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
    write_records(probe, OFFSETS_TOPIC, group, note="deleted")


@case(settings=NO_DELAY)
def records_of_a_topic_that_is_deleted(probe: Probe) -> None:
    topic, other = probe.topic(partitions=2), probe.topic("u")
    group = group_of(probe)
    probe.exchange(commit(group, (topic, {0: 1, 1: 2}), (other, {0: 3})), 8)
    probe.quiet(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5_000), 5)
    for _ in attempts("its offsets to be gone"):
        found: Any = probe.quiet(fetch_offsets(group, everything=True), 7)
        if len(found.topics) == 1:
            break
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=CHECKED_OFTEN)
def offsets_that_expire(probe: Probe) -> None:
    topic = probe.topic()
    group, members = group_of(probe), group_of(probe, "members")
    prepared = _create_lasting_group(probe, group, topic)
    probe.exchange(commit(group, (topic, {0: 1}), retention_ms=300), 4, note="with a retention")
    _create_lasting_group(probe, members, topic)
    probe.exchange(commit(members, (topic, {0: 1})), 4, note="without a retention")
    member = stable_one(probe, members)
    member.commit((topic, {0: 2}), version=4)
    for _ in attempts("the offset to expire"):
        found: Any = probe.quiet(fetch_offsets(group, (topic, [0])), 5)
        if found.topics[0].partitions[0].committed_offset < 0:
            break
    probe.exchange(fetch_offsets(group, (topic, [0])), 5)
    await_tombstone(probe, OFFSETS_TOPIC, group)
    write_records(probe, OFFSETS_TOPIC, group, skipped=prepared)
    probe.exchange(fetch_offsets(members, (topic, [0])), 5, note="of a member, without a retention")


@case(settings=CHECKED_OFTEN)
def offsets_that_expire_while_others_are_pending(probe: Probe) -> None:
    """An open transaction has an offset of partition 0: up to 3.9 the committed offset expires all the same.

    From 4.0 on it expires when the transaction has ended, whose offset is the older one.
    """
    topic, group = probe.topic(partitions=2), group_of(probe)
    _create_lasting_group(probe, group, topic)
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.add_offsets(group), 3)
    named = {"producer_id": transactions.producer_id, "producer_epoch": transactions.epoch}
    probe.exchange(txn_commit(group, topic, transactional_id=transactions.id, **named), 3, note="pending")
    probe.exchange(commit(group, (topic, {0: 8, 1: 8}), retention_ms=1), 4)
    for _ in attempts("an offset to expire"):
        found: Any = probe.quiet(fetch_offsets(group, (topic, [1])), 5)
        if found.topics[0].partitions[0].committed_offset < 0:
            break
    probe.exchange(fetch_offsets(group, everything=True), 7, note="expired")
    probe.exchange(describe_groups(group), 5)
    transactions.ended(commit=True)
    for _ in attempts("the offset to be stable, and not the one that expires"):
        found = probe.quiet(fetch_offsets(group, (topic, [0]), require_stable=True), 7)
        if found.topics[0].partitions[0].error_code == 0 and found.topics[0].partitions[0].committed_offset != 8:
            break
    probe.exchange(fetch_offsets(group, everything=True), 7, note="committed")


def _create_lasting_group(probe: Probe, group: str, topic: str) -> int:
    """Commit an offset until the group has it; return the number of records.

    Up to 3.9 a check of expired offsets may remove a group without members between its creation and its first commit.
    Without an offset it would also remove one between the two requests of a new member.
    """
    for _ in attempts(f"{group} to have an offset"):
        probe.quiet(commit(group, (topic, {0: 0})), 4)
        found: Any = probe.quiet(fetch_offsets(group, (topic, [0])), 5)
        if found.topics[0].partitions[0].committed_offset == 0:
            break
    return len(find_records(probe, OFFSETS_TOPIC, group))
