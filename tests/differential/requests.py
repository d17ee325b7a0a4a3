"""Requests and record batches as cases need them: right in everything but what the case bends."""

from __future__ import annotations

import struct
import time
from binascii import crc32
from typing import TYPE_CHECKING, Any

from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder, encode_record_body, seal_batch
from protocol_specs.records.varints import encode_varint
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from protocol_specs.message import Message
    from protocol_specs.records.compression import CompressionCodec
    from tests.differential.probe import Probe

TIME_MS = 1_700_000_000_000
FAR_FUTURE_MS = 4_000_000_000_000


def await_next_millisecond() -> None:
    """Let what a broker of this machine notes next have a later time than what it has noted."""
    began = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == began:
        pass


def batch(*values: bytes | None, key: bytes | None = b"k", time_ms: int = TIME_MS, **options: Any) -> bytes:
    """One batch with these values, all at `time_ms`; options are the builder's."""
    builder = RecordBatchBuilder(**options)
    for value in values:
        builder.append(time_ms, key, value, ())
    return builder.build()


def timed(*times_ms: int, codec: CompressionCodec | None = None) -> bytes:
    """One batch with a record for each time."""
    builder = RecordBatchBuilder() if codec is None else RecordBatchBuilder(codec=codec)
    for number, time_ms in enumerate(times_ms):
        builder.append(time_ms, b"k", b"%d" % number, ())
    return builder.build()


def record(
    offset_delta: int = 0,
    *,
    time_delta: int = 0,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    headers: Iterable[tuple[str, bytes | None]] = (),
    attributes: int = 0,
) -> bytes:
    """One record with its length, of any deltas."""
    body = encode_record_body(time_delta, offset_delta, key, value, headers, attributes=attributes)
    return encode_varint(len(body)) + body


def sealed(payload: bytes, *, count: int, **fields: int) -> bytes:
    """A batch around any bytes with a right checksum; `fields` are header fields that differ from the usual."""
    usual = {
        "base_offset": 0,
        "partition_leader_epoch": -1,
        "attributes": 0,
        "last_offset_delta": count - 1,
        "base_timestamp": TIME_MS,
        "max_timestamp": TIME_MS,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
    }
    return seal_batch(payload, records_count=count, **(usual | fields))


def idempotent(producer_id: int, epoch: int, sequence: int, *values: bytes, **options: Any) -> bytes:
    """One batch of an idempotent producer."""
    return batch(*(values or (b"v",)), producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, **options)


def message_set(magic: int) -> bytes:
    """One message of an old format, magic 0 or 1."""
    times = b"" if magic == 0 else struct.pack(">q", TIME_MS)
    message = bytes((magic, 0)) + times + struct.pack(">i1si1s", 1, b"k", 1, b"v")
    return struct.pack(">qiI", 0, 4 + len(message), crc32(message)) + message


def patched(data: bytes, position: int, form: str, value: int) -> bytes:
    """The bytes with a number written over them, checksum or not."""
    size = struct.calcsize(form)
    return data[:position] + struct.pack(form, value) + data[position + size :]


def produce(
    topic: str,
    records: bytes | None,
    *,
    partition: int = 0,
    acks: int = -1,
    topic_id: bytes = ZERO_UUID,
    transactional_id: str | None = None,
    timeout_ms: int = 5_000,
) -> ProduceRequest:
    """A Produce of one record set to one partition."""
    return produce_all(
        (topic, partition, records),
        acks=acks,
        topic_ids={topic: topic_id},
        transactional_id=transactional_id,
        timeout_ms=timeout_ms,
    )


def produce_all(
    *entries: tuple[str, int, bytes | None],
    acks: int = -1,
    topic_ids: dict[str, bytes] | None = None,
    transactional_id: str | None = None,
    timeout_ms: int = 5_000,
) -> ProduceRequest:
    """A Produce of an entry for each record set, in this order, a topic entry each."""
    data = [
        TopicProduceData(
            name=topic,
            topic_id=(topic_ids or {}).get(topic, ZERO_UUID),
            partition_data=[PartitionProduceData(index=partition, records=records)],
        )
        for topic, partition, records in entries
    ]
    return ProduceRequest(acks=acks, timeout_ms=timeout_ms, transactional_id=transactional_id, topic_data=data)


def fill(probe: Probe, topic: str, *record_sets: bytes, partition: int = 0) -> None:
    """Append record sets one by one, without writing it down."""
    for records in record_sets:
        response: Any = probe.quiet(produce(topic, records, partition=partition), 9)
        assert response.responses[0].partition_responses[0].error_code == 0, response


def wanted(
    offset: int = 0, *, partition: int = 0, max_bytes: int = 1 << 20, leader_epoch: int = -1, **fields: Any
) -> FetchPartition:
    """One partition of a Fetch."""
    return FetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=max_bytes,
        current_leader_epoch=leader_epoch,
        **fields,
    )


def fetch(
    topic: str | None,
    *partitions: FetchPartition,
    topic_id: bytes = ZERO_UUID,
    max_wait_ms: int = 0,
    min_bytes: int = 0,
    forgotten: Sequence[ForgottenTopic] = (),
    **fields: Any,
) -> FetchRequest:
    """A Fetch of one topic (of none: `topic=None`), by default without a session and without waiting."""
    topics = [] if topic is None else [FetchTopic(topic=topic, topic_id=topic_id, partitions=list(partitions))]
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        topics=topics,
        forgotten_topics_data=list(forgotten),
        **fields,
    )


def read_back(probe: Probe, topic: str, offset: int = 0, *, partition: int = 0, note: str = "the log") -> None:
    """Write down what stands in a partition's log from an offset on."""
    probe.exchange(fetch(topic, wanted(offset, partition=partition)), 12, note=note)


def list_offsets(
    topic: str, *timestamps: int, partition: int = 0, leader_epoch: int = -1, max_num_offsets: int = 1, **fields: Any
) -> ListOffsetsRequest:
    """A ListOffsets of one partition."""
    partitions = [
        ListOffsetsPartition(
            partition_index=partition,
            timestamp=timestamp,
            current_leader_epoch=leader_epoch,
            max_num_offsets=max_num_offsets,
        )
        for timestamp in timestamps
    ]
    return ListOffsetsRequest(
        **({"replica_id": -1} | fields), topics=[ListOffsetsTopic(name=topic, partitions=partitions)]
    )


def metadata(*names: str | None, ids: Sequence[bytes] = (), create: bool = False, **fields: Any) -> MetadataRequest:
    """A Metadata of topics by name, then of topics by id."""
    topics = [MetadataRequestTopic(name=name) for name in names]
    topics += [MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in ids]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create, **fields)


def all_versions(message: type[Message]) -> range:
    """Every version that was ever declared; what a release does not serve closes the connection."""
    return range(message.VERSIONS.lowest, message.VERSIONS.highest + 1)
