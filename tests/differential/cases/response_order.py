"""The order in which responses list topics and partitions: that of the brokers' hash tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol_specs.messages.list_groups import ListGroupsRequest
from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.differential.case import case
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.group_requests import NO_DELAY, commit, describe_groups, fetch_offsets, group_of
from tests.differential.requests import batch, idempotent, metadata, produce_all
from tests.differential.transaction_requests import Transactions, by_topic, markers

if TYPE_CHECKING:
    from tests.differential.probe import Probe

NO_SUCH_IDS = (b"no such id......", b"another such id.", b"a third such id.")
COUNTS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 20, 30)


def keys_of(count: int, *names: str) -> list[tuple[str, int]]:
    """So many different partitions of these topics, in no order that anything has."""
    keys = [(name, partition) for name in names for partition in range(-1, 9)]
    return sorted(keys, key=lambda key: hash_of(f"{key[1]} {key[0][-4:]}"))[:count]


def hash_of(text: str) -> int:
    """Some number of a text, the same in every run."""
    return int.from_bytes(text.encode(), "big") * 2_654_435_761 % 1_000_003


def note_order(probe: Probe, topics: list[Any], partitions: str, index: str, **noted: object) -> None:
    """Write down what is listed, in the order of the wire."""
    order = [
        [getattr(topic, "name", ""), *(getattr(each, index) for each in getattr(topic, partitions))] for topic in topics
    ]
    probe.write(order=order, **noted)


def send_delete_records(probe: Probe, keys: list[tuple[str, int]], **noted: object) -> None:
    """Delete nothing from partitions, one topic entry per partition."""
    topics = [
        DeleteRecordsTopic(name=name, partitions=[DeleteRecordsPartition(partition_index=partition, offset=0)])
        for name, partition in keys
    ]
    response: Any = probe.quiet(DeleteRecordsRequest(topics=topics, timeout_ms=5_000), 2)
    note_order(probe, response.topics, "partitions", "partition_index", **noted)


@case()
def delete_records_of_partitions_that_are_not_there(probe: Probe) -> None:
    for count in COUNTS:
        send_delete_records(probe, keys_of(count, "aa", "b", "ccc", "dd", "x y"), count=count)


@case()
def delete_records_of_some_that_are_there(probe: Probe) -> None:
    topics = [probe.topic(suffix, partitions=5) for suffix in ("a", "bb", "c")]
    for count in COUNTS:
        send_delete_records(probe, keys_of(count, *topics, "aa"), count=count)


def send_list_offsets(probe: Probe, version: int, keys: list[tuple[str, int]]) -> None:
    """Request the offsets of partitions, one topic entry per partition."""
    topics = [
        ListOffsetsTopic(name=name, partitions=[ListOffsetsPartition(partition_index=partition, timestamp=-1)])
        for name, partition in keys
    ]
    response: Any = probe.quiet(ListOffsetsRequest(replica_id=-1, topics=topics), version)
    note_order(probe, response.topics, "partitions", "partition_index", count=len(keys), version=version)


@case()
def list_offsets(probe: Probe) -> None:
    topics = [probe.topic(suffix, partitions=5) for suffix in ("a", "bb", "c")]
    for count in COUNTS:
        for version in (1, 7):
            send_list_offsets(probe, version, keys_of(count, *topics, "aa"))
    send_list_offsets(probe, 7, [(topics[0], 3), ("aa", 1), (topics[0], 3), (topics[1], 0), ("aa", 0)])


def send_produce(
    probe: Probe,
    keys: list[tuple[str, int]],
    records: bytes,
    *,
    acks: int = -1,
    transactional_id: str | None = None,
) -> None:
    """Append to partitions, a topic entry each."""
    entries = ((name, partition, records) for name, partition in keys)
    response: Any = probe.quiet(produce_all(*entries, acks=acks, transactional_id=transactional_id), 9)
    note_order(probe, response.responses, "partition_responses", "index", count=len(keys), acks=acks)


@case()
def produce_to_partitions_that_are_not_there(probe: Probe) -> None:
    for count in COUNTS:
        for acks in (1, -1, 7):
            send_produce(probe, keys_of(count, "aa", "b", "ccc", "dd", "x y"), batch(b"a"), acks=acks)


@case(releases=("3.7.2",))
def produce_to_some_that_are_there(probe: Probe) -> None:
    """Later releases order them by their topics' ids."""
    topics = [probe.topic(suffix, partitions=5) for suffix in ("a", "bb", "c")]
    for count in COUNTS:
        for acks in (1, -1, 7):
            for records in (batch(b"a"), b""):
                for name in (None, ""):
                    send_produce(probe, keys_of(count, *topics, "aa"), records, acks=acks, transactional_id=name)


@case()
def produce_to_what_is_there_first(probe: Probe) -> None:
    topics = [probe.topic(suffix) for suffix in ("a", "bb")]
    for topic in topics:
        for absent in ("aa", "b"):
            for acks in (-1, 1, 7):
                send_produce(probe, [(absent, 0), (topic, 0)], batch(b"a"), acks=acks)
            send_produce(probe, [(absent, 1), (absent, 0), (topic, 0)], batch(b"a"))
            send_produce(probe, [(topic, 0), ("ccc", 0), (absent, 0)], batch(b"a"))


@case()
def produce_that_is_refused_as_a_whole(probe: Probe) -> None:
    records = batch(b"t", producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True)
    for count in COUNTS:
        send_produce(probe, keys_of(count, "aa", "b", "ccc", "dd", "x y"), records)


@case(releases=("3.7.2",))
def produce_in_transactions(probe: Probe) -> None:
    """The coordinator verifies the batches that have no transaction yet: those of partition 4 are never added."""
    topics = [probe.topic(suffix, partitions=5) for suffix in ("a", "bb", "c")]
    transactions = Transactions(probe)
    transactions.begin()
    probe.quiet(transactions.add(*((topic, partition) for topic in topics for partition in range(4))), 3)
    for name in ("aa", topics[0], topics[1]):
        for count in COUNTS:
            records = idempotent(transactions.producer_id, transactions.epoch, 0, is_transactional=True)
            keys = keys_of(count, *topics, name)
            send_produce(probe, keys, records, transactional_id=transactions.id)


def send_markers(probe: Probe, *entries: tuple[int, int, bool, dict[str, list[int]], int]) -> None:
    """Write markers and note where their results are listed."""
    response: Any = probe.quiet(markers(*entries), 1)
    for each in response.markers:
        producer = [entry[0] for entry in entries].index(each.producer_id)
        note_order(probe, each.topics, "partitions", "partition_index", place=producer)


@case()
def markers_of_producers(probe: Probe) -> None:
    topic = probe.topic()
    for count in COUNTS:
        ids = [hash_of(str(number)) << number for number in range(count)]
        send_markers(probe, *((producer_id, 0, True, {topic: [0]}, 0) for producer_id in ids))


@case(releases=("3.7.2",))
def markers_of_partitions(probe: Probe) -> None:
    """Later releases order them by their topics' ids."""
    topics = [probe.topic(suffix, partitions=9) for suffix in ("a", "bb", "c", "zz")]
    for number, count in enumerate(COUNTS):
        for names in (topics, [*topics, "aa"]):
            named = by_topic(keys_of(count, *names))
            send_markers(probe, (number, 0, True, named, 0))
            send_markers(probe, *((number, epoch, True, named, 0) for epoch in (1, 2)))


@case(releases=("4.3.1",))
def produce_by_ids_that_are_not_there(probe: Probe) -> None:
    names = ("a", "b", "c")
    ids = dict(zip(names, NO_SUCH_IDS, strict=True))
    for count in COUNTS:
        keys = keys_of(count, *names)
        request = produce_all(*((name, partition, batch(b"a")) for name, partition in keys), topic_ids=ids)
        response: Any = probe.quiet(request, 13)
        listed = [
            [topic.topic_id.decode(), *(each.index for each in topic.partition_responses)]
            for topic in response.responses
        ]
        probe.write(order=listed, count=count)


@case()
def metadata_of_topics_that_are_to_be_made(probe: Probe) -> None:
    there = probe.topic()
    for count in COUNTS[:8]:
        names = [f"{probe.name}-{count}-{hash_of(str(number))}" for number in range(count)]
        mixed = [*names[: count // 2], "x y", there, *names[count // 2 :], "a/b", "z?"]
        response: Any = probe.quiet(metadata(*mixed, create=True), 9)
        probe.write(order=[topic.name for topic in response.topics], count=count)


@case(settings=(*NO_DELAY, ("offsets.topic.num.partitions", "50")))
def groups_of_fifty_partitions(probe: Probe) -> None:
    """The cluster is the case's own: the order depends on all groups that were there before."""
    topics = [probe.topic(suffix, partitions=12) for suffix in ("a", "bb", "c.c", "D", "e-e", "_f")]
    group_of(probe)
    groups = [f"{probe.name}-{number * 7 % 40}{'z' * (number % 4)}" for number in range(40)]
    for number, group in enumerate(groups):
        chosen = topics[number % 6 :] if number % 2 else topics[: number % 6 + 1]
        offsets = [(topic, dict.fromkeys(range(number % 11 + 2), number)) for topic in chosen]
        probe.quiet(commit(group, *offsets), 8)
        if number % 8 == 7:
            _note_groups(probe)
    probe.exchange(describe_groups(*groups[5:30:2], "", groups[5], "unknown"), 5)
    probe.exchange(DeleteGroupsRequest(groups_names=[*groups[3:28:3], "unknown", "", groups[3]]), 2)
    _note_groups(probe)
    for group in groups[1::3]:
        for topic in topics[::2]:
            probe.quiet(offset_delete(group, (topic, list(range(8)))), 0)
        probe.quiet(commit(group, (topics[0], {3: 1, 1: 1, 2: 1})), 8)
        found: Any = probe.quiet(fetch_offsets(group, everything=True), 7)
        note_order(probe, found.topics, "partitions", "partition_index", group=group)
    for group in groups[:3]:
        probe.quiet(commit(group, (topics[5], {3: 1, 1: 1, 2: 1})), 8)
    _note_groups(probe)


def _note_groups(probe: Probe) -> None:
    listed: Any = probe.quiet(ListGroupsRequest(), 4)
    probe.write(order=[group.group_id for group in listed.groups])
