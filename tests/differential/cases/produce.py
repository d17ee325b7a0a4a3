"""Produce, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder
from tests.differential.case import case

if TYPE_CHECKING:
    from tests.differential.probe import Probe

TIME_MS = 1_700_000_000_000


def batch(*values: bytes, key: bytes | None = b"k") -> bytes:
    """One uncompressed batch with these values, all at TIME_MS."""
    builder = RecordBatchBuilder()
    for value in values:
        builder.append(TIME_MS, key, value, ())
    return builder.build()


def produce(topic: str, records: bytes | None, *, partition: int = 0, acks: int = -1) -> ProduceRequest:
    """A Produce of one record set to one partition."""
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=records)])
    return ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=[data])


@case()
def one_record(probe: Probe) -> None:
    topic = probe.topic()
    for version in range(3, 11):
        probe.ask(produce(topic, batch(b"a")), version)


@case()
def acks_other_than_0_1_all(probe: Probe) -> None:
    topic = probe.topic()
    for acks in (2, -2, 32_767):
        probe.ask(produce(topic, batch(b"a"), acks=acks), 9)


@case()
def null_records(probe: Probe) -> None:
    topic = probe.topic()
    probe.expect_silence(produce(topic, None), 9, on=probe.connect())


@case()
def unknown_topic_and_partition(probe: Probe) -> None:
    topic = probe.topic()
    probe.ask(produce(f"{probe.name}-none", batch(b"a")), 9)
    probe.ask(produce(topic, batch(b"a"), partition=7), 9)
    probe.ask(produce(topic, batch(b"a"), partition=-1), 9)


@case()
def acks_0_is_silent_and_an_error_closes(probe: Probe) -> None:
    topic = probe.topic()
    connection = probe.connect()
    probe.expect_silence(produce(topic, batch(b"a"), acks=0), 9, on=connection, note="good")
    probe.expect_silence(produce(topic, batch(b"a"), partition=5, acks=0), 9, on=connection, note="bad")
    probe.ask(produce(topic, batch(b"b")), 9, note="what stands in the log")
