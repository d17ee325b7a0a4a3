"""Produce, as raw probes see it: the request around the batches."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from protocol_specs.framing import encode_request
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.uuids import METADATA_TOPIC_UUID, ZERO_UUID
from tests.differential.case import case
from tests.differential.cases.find_coordinator import GROUP, TRANSACTION, await_coordinator
from tests.differential.requests import batch, idempotent, message_set, produce, produce_all, read_back

if TYPE_CHECKING:
    from tests.differential.probe import Probe

NO_SUCH_ID = b"no such topic id"


@case()
def one_record(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    for version in range(3, 14):
        probe.exchange(produce(topic, batch(b"a"), topic_id=topic_id), version)
    read_back(probe, topic)


@case(releases=("4.3.1",))
def versions_that_are_listed_and_not_served(probe: Probe) -> None:
    topic = probe.topic()
    for version in range(3):
        probe.exchange(produce(topic, batch(b"a")), version)
    read_back(probe, topic)


@case()
def errors_in_every_version(probe: Probe) -> None:
    topic = probe.topic()
    topic_id = probe.topic_id(topic)
    for version in range(3, 14):
        probe.exchange(produce(topic, batch(b"a"), partition=3, topic_id=topic_id), version, note="unknown partition")
        probe.exchange(produce(topic, batch(b"a")[:-1] + b"x", topic_id=topic_id), version, note="wrong checksum")
        probe.exchange(produce(topic, b"", topic_id=topic_id), version, note="no batch")
        probe.exchange(produce(f"{probe.name}-none", batch(b"a"), topic_id=NO_SUCH_ID), version, note="unknown topic")


@case()
def acks_1_and_all(probe: Probe) -> None:
    topic = probe.topic()
    for acks in (1, -1):
        for version in (3, 8, 9):
            probe.exchange(produce(topic, batch(b"a", b"b"), acks=acks), version)


@case()
def acks_other_than_0_1_all(probe: Probe) -> None:
    topic = probe.topic()
    for acks in (2, -2, 32_767, -32_768):
        for version in (3, 5, 8, 9):
            probe.exchange(produce(topic, batch(b"a"), acks=acks), version)
    probe.exchange(produce_all((topic, 0, batch(b"a")), (f"{probe.name}-none", 0, batch(b"a")), acks=5), 9)
    probe.exchange(produce(topic, b"", acks=2), 9)
    read_back(probe, topic)


@case(releases=("3.7.2",))
def null_records(probe: Probe) -> None:
    topic = probe.topic()
    for version in (3, 9):
        probe.exchange(produce(topic, None), version)
    probe.exchange(produce_all((topic, 0, None), (f"{probe.name}-none", 0, None)), 9)
    probe.exchange(produce(topic, batch(b"a")), 9)


@case(releases=("4.3.1",))
def null_records_get_no_response(probe: Probe) -> None:
    topic = probe.topic()
    connection = probe.connect()
    probe.expect_silence(produce(topic, None), 9, on=connection)
    probe.expect_silence(produce(topic, batch(b"a")), 9, on=connection, note="the connection waits for ever")
    read_back(probe, topic)


@case()
def unknown_topic_and_partition(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(produce(f"{probe.name}-none", batch(b"a")), 9)
    probe.exchange(produce("", batch(b"a")), 9)
    probe.exchange(produce("a b", batch(b"a")), 9)
    for partition in (1, 7, -1, 2_147_483_647, -2_147_483_648):
        probe.exchange(produce(topic, batch(b"a"), partition=partition), 9)
    probe.exchange(produce("__cluster_metadata", batch(b"a")), 9)


@case()
def internal_topics(probe: Probe) -> None:
    await_coordinator(probe, GROUP)
    await_coordinator(probe, TRANSACTION)
    for name in ("__consumer_offsets", "__transaction_state"):
        for partition in (0, 99):
            probe.exchange(produce(name, batch(b"a"), partition=partition), 9)


@case()
def internal_topics_of_an_admin_client(probe: Probe) -> None:
    """The client id of Kafka's own admin tools may write where others may not."""
    await_coordinator(probe, GROUP)
    frame = encode_request(produce("__consumer_offsets", batch(b"a")), 9, correlation_id=1, client_id="__admin_client")
    probe.raw(frame, note="__admin_client", sized=False)


@case(releases=("4.3.1",))
def topic_ids(probe: Probe) -> None:
    topic = probe.topic()
    for each in (probe.topic_id(topic), NO_SUCH_ID, ZERO_UUID, METADATA_TOPIC_UUID):
        probe.exchange(produce(topic, batch(b"a"), topic_id=each), 13)
        probe.exchange(produce(topic, batch(b"a"), topic_id=each, partition=4), 13)
    probe.exchange(produce(topic, b"", topic_id=NO_SUCH_ID), 13)


@case(releases=("4.3.1",))
def topic_ids_of_several_topics(probe: Probe) -> None:
    topics = [probe.topic("a"), probe.topic("b")]
    ids = {name: probe.topic_id(name) for name in topics} | {"none": NO_SUCH_ID}
    entries = [(topics[0], 0, batch(b"a")), ("none", 0, batch(b"b")), (topics[1], 0, batch(b"c"))]
    probe.exchange(produce_all(*entries, topic_ids=ids), 13)


@case()
def acks_0_is_silent_and_an_error_closes(probe: Probe) -> None:
    topic = probe.topic()
    connection = probe.connect()
    probe.expect_silence(produce(topic, batch(b"a"), acks=0), 9, on=connection, note="good")
    probe.exchange(produce(topic, batch(b"a"), partition=5, acks=0), 9, on=connection, note="bad")
    probe.exchange(produce(topic, batch(b"b")), 9, note="what stands in the log")


@case()
def acks_0_errors_of_every_kind(probe: Probe) -> None:
    topic = probe.topic()
    for records, note in (
        (b"", "no batch"),
        (batch(b"a")[:-1] + b"x", "wrong checksum"),
        (batch(b"a")[:30], "a truncated batch"),
        (batch(b"x" * 1_100_000), "too large"),
        (batch(b"a") + batch(b"b"), "two batches"),
    ):
        probe.exchange(produce(topic, records, acks=0), 9, on=probe.connect(), note=note)
    probe.exchange(produce(f"{probe.name}-none", batch(b"a"), acks=0), 9, on=probe.connect(), note="unknown topic")
    probe.expect_silence(produce(topic, batch(b"a"), acks=0, transactional_id="t"), 9, on=probe.connect(), note="an id")


@case()
def acks_0_keeps_what_is_good(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    entries = ((topic, 0, batch(b"a")), (topic, 7, batch(b"b")), (topic, 1, batch(b"c")))
    probe.exchange(produce_all(*entries, acks=0), 9, on=probe.connect())
    read_back(probe, topic, partition=0)
    read_back(probe, topic, partition=1)


@case()
def acks_0_then_1_on_a_connection(probe: Probe) -> None:
    topic = probe.topic()
    connection = probe.connect()
    for number in range(3):
        probe.quiet(produce(topic, batch(b"%d" % number)), 9)
    for number in range(3):
        frame = encode_request(produce(topic, batch(b"%d" % number), acks=0), 9, correlation_id=7, client_id="p")
        connection.send(frame)
    probe.exchange(produce(topic, batch(b"last"), acks=1), 9, on=connection)


@case()
def several_partitions_and_topics(probe: Probe) -> None:
    topics = [probe.topic("a", partitions=2), probe.topic("b")]
    data = [
        TopicProduceData(
            name=topics[0],
            partition_data=[PartitionProduceData(index=index, records=batch(b"%d" % index)) for index in (1, 0, 5)],
        ),
        TopicProduceData(name="none", partition_data=[PartitionProduceData(index=0, records=batch(b"x"))]),
        TopicProduceData(name=topics[1], partition_data=[PartitionProduceData(index=0, records=b"")]),
    ]
    for version in (3, 9):
        probe.exchange(ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=data), version)
        probe.exchange(ProduceRequest(acks=1, timeout_ms=5_000, topic_data=data), version)


@case()
def the_same_partition_twice(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    partitions = [PartitionProduceData(index=0, records=batch(value)) for value in (b"first", b"second")]
    request = ProduceRequest(acks=-1, timeout_ms=5_000)
    request.topic_data = [TopicProduceData(name=topic, partition_data=partitions)]
    probe.exchange(request, 9)
    read_back(probe, topic)
    missing = [PartitionProduceData(index=9, records=batch(value)) for value in (b"first", b"second")]
    request.topic_data = [TopicProduceData(name=topic, partition_data=missing)]
    probe.exchange(request, 9, note="unknown")


@case()
def the_same_topic_twice(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    probe.exchange(produce_all((topic, 0, batch(b"a")), (topic, 1, batch(b"b"))), 9)
    probe.exchange(produce_all((topic, 0, batch(b"c")), (topic, 0, batch(b"d"))), 9)
    read_back(probe, topic)


@case()
def nothing(probe: Probe) -> None:
    topic = probe.topic()
    for acks in (1, -1, 5):
        probe.exchange(ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=[]), 9, note="no topics")
        empty = TopicProduceData(name=topic, partition_data=[])
        probe.exchange(ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=[empty]), 9, note="no partitions")
        unknown = TopicProduceData(name=f"{probe.name}-none", partition_data=[])
        probe.exchange(
            ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=[unknown]), 9, note="no partitions, unknown"
        )


@case()
def nothing_with_acks_0(probe: Probe) -> None:
    probe.expect_silence(ProduceRequest(acks=0, timeout_ms=5_000, topic_data=[]), 9, on=probe.connect())


@case()
def timeouts(probe: Probe) -> None:
    topic = probe.topic()
    for timeout_ms in (0, -1, 2_147_483_647, -2_147_483_648):
        for acks in (1, -1):
            probe.exchange(
                produce(topic, batch(b"a"), timeout_ms=timeout_ms, acks=acks), 9, note=f"{timeout_ms} {acks}"
            )


@case()
def min_insync_replicas_above_the_replica_count(probe: Probe) -> None:
    topic = probe.topic(min_insync_replicas="2")
    for acks in (1, -1):
        probe.exchange(produce(topic, batch(b"a"), acks=acks), 9)
    read_back(probe, topic)


@case()
def transactional_ids_around_plain_batches(probe: Probe) -> None:
    topic = probe.topic()
    for transactional_id in ("t", ""):
        probe.exchange(produce(topic, batch(b"a"), transactional_id=transactional_id), 9, note=repr(transactional_id))
    probe.exchange(produce(topic, idempotent(4_000, 0, 0), transactional_id="t"), 9, note="idempotent")
    read_back(probe, topic)


@case()
def transactional_batches_without_an_id(probe: Probe) -> None:
    topic = probe.topic()
    transactional = idempotent(4_100, 0, 0, is_transactional=True)
    for version in (3, 7, 9):
        probe.exchange(produce(topic, transactional), version)
    probe.exchange(produce(topic, batch(b"a", is_transactional=True)), 9, note="no producer id")
    probe.exchange(produce_all((topic, 0, transactional), (f"{probe.name}-none", 0, batch(b"a"))), 9)
    read_back(probe, topic)


@case()
def an_id_that_is_not_in_a_transaction(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(produce(topic, batch(b"a")), 9)
    probe.exchange(produce(topic, batch(b"b")), 9, note="after others")


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    topic = probe.topic()
    name = struct.pack(">h", len(topic)) + topic.encode()
    good = batch(b"a")
    head = b"\xff\xff\xff\xff\0\0\x13\x88"
    sized = struct.pack(">i", len(good)) + good
    for version, body, note in (
        (3, b"", "empty"),
        (3, head, "no topics"),
        (3, head + b"\xff\xff\xff\xff", "null topics"),
        (3, head + b"\x7f\xff\xff\xff", "2**31-1 topics"),
        (3, head + b"\0\0\0\1\xff\xff\0\0\0\0", "null topic"),
        (3, head + b"\0\0\0\1" + name + b"\xff\xff\xff\xff", "null partitions"),
        (3, head + b"\0\0\0\1" + name + b"\0\0\0\1\0\0\0\0", "no records"),
        (3, head + b"\0\0\0\1" + name + b"\0\0\0\1\0\0\0\0" + sized[:-1], "a byte is missing"),
        (3, head + b"\0\0\0\1" + name + b"\0\0\0\1\0\0\0\0" + sized + b"more", "more bytes"),
        (3, head + b"\0\0\0\1" + name + b"\0\0\0\1\0\0\0\0\x7f\xff\xff\xff" + good, "records of 2 GiB"),
        (9, b"\0\xff\xff\0\0\x13\x88\0\0", "null topics"),
        (9, b"\0\xff\xff\0\0\x13\x88\1\0", "no topics"),
        (9, b"\0\xff\xff\0\0\x13\x88\1", "no tags"),
        (9, b"\0\xff\xff\0\0\x13\x88\2\2t\0\0\0", "null partitions"),
        (9, b"\0\xff\xff\0\0\x13\x88\2\2t\2\0\0\0\0\xff\xff\xff\xff\x0f\0\0\0", "records of 4 GiB"),
    ):
        probe.raw_body(0, version, body, note=note)
    read_back(probe, topic)


@case()
def records_of_negative_length(probe: Probe) -> None:
    """-2 is no length: a plain field of it closes the connection or counts as null."""
    head = b"\xff\xff\0\1\0\0\x13\x88"
    topic = probe.topic()
    name = struct.pack(">h", len(topic)) + topic.encode()
    body = head + b"\0\0\0\1" + name + b"\0\0\0\1\0\0\0\0\xff\xff\xff\xfe"
    probe.raw_body(0, 3, body, note="-2", seconds=1)


@case(releases=("3.7.2",))
def versions_of_old_formats(probe: Probe) -> None:
    topic = probe.topic()
    for version in range(3):
        probe.exchange(produce(topic, batch(b"a")), version, note="magic 2")
    read_back(probe, topic)


@case(releases=("3.7.2",))
def old_formats(probe: Probe) -> None:
    topic = probe.topic()
    for version in range(3):
        for magic in (0, 1):
            probe.exchange(produce(topic, message_set(magic)), version, note=f"magic {magic}")
    read_back(probe, topic)
