"""A real broker of 3.7, which serves clients of every age: what it stores of their record sets, what it sends them."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, TypeVar

import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.framing import decode_response, encode_request
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from protocol_specs.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.down_conversion import down_convert, down_convert_for_fetch
from protocol_specs.records.offset_assignment import AssignmentRules, validate_and_assign_offsets
from protocol_specs.records.record_batch import Record
from tests.interop.java_record_sets import FORMATS, NOW_MS, before_compression, build
from tests.interop.real_kafka import real_kafka
from tests.interop.servers import create_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.message import Message

    M = TypeVar("M", bound=Message)

TOPIC = "aged"
SECONDS_MAX = 30
PRODUCE_VERSION = {0: 1, 1: 2, 2: 7}
FETCH_VERSION = {0: 1, 1: 3, 2: 11}
RECORDS = [
    Record(offset=at, timestamp=NOW_MS + 7 * at % 5, key=b"k%d" % at, value=b"some value " * 9) for at in range(12)
]


@pytest.fixture(scope="module")
def channel() -> Iterator[socket.socket]:
    """A connection to a broker with a topic of one partition for each format and codec."""
    with real_kafka("3.7.2") as kafka:
        create_topic(kafka.bootstrap_servers, TOPIC, len(FORMATS))
        host, port = kafka.bootstrap_servers.split(":")
        with socket.create_connection((host, int(port)), SECONDS_MAX) as connected:
            yield connected


def call(channel: socket.socket, request: Message, version: int, response: type[M]) -> M:
    channel.sendall(encode_request(request, version, correlation_id=1, client_id="old"))
    stream = channel.makefile("rb")
    size = int.from_bytes(stream.read(4), "big")
    return decode_response(response, version, stream.read(size))[1]


def produce(channel: socket.socket, partition: int, magic: int, data: bytes) -> None:
    request = ProduceRequest(
        acks=1,
        timeout_ms=SECONDS_MAX * 1000,
        topic_data=[TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=partition, records=data)])],
    )
    responded = call(channel, request, PRODUCE_VERSION[magic], ProduceResponse)
    [stored] = responded.responses[0].partition_responses
    assert (stored.error_code, stored.base_offset) == (0, 0)


def fetch(channel: socket.socket, partition: int, magic: int) -> tuple[int, bytes]:
    request = FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        topics=[
            FetchTopic(
                topic=TOPIC,
                partitions=[FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)],
            )
        ],
    )
    [found] = call(channel, request, FETCH_VERSION[magic], FetchResponse).responses[0].partitions
    return found.error_code, bytes(found.records or b"")


@pytest.mark.parametrize("partition", range(len(FORMATS)), ids=[f"magic {m} {c.type_name}" for m, c in FORMATS])
def test_a_broker_stores_and_sends_what_is_made_of_it_here(channel: socket.socket, partition: int) -> None:
    magic, codec = FORMATS[partition]
    produced = build(RECORDS, magic, codec)
    produce(channel, partition, magic, produced)
    code, stored = fetch(channel, partition, 2)
    rules = AssignmentRules(now_ms=NOW_MS, partition_leader_epoch=0)
    assigned = validate_and_assign_offsets(produced, offset=0, rules=rules)
    assert (code, before_compression(stored)) == (0, before_compression(assigned.records))
    for to_magic in (0, 1):
        code, sent = fetch(channel, partition, to_magic)
        if codec is CompressionCodec.ZSTD:
            assert (code, sent) == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, b"")
            continue
        converted = down_convert(stored, to_magic=to_magic, first_offset=0).records
        assert (code, before_compression(sent)) == (0, before_compression(converted))
        if codec is CompressionCodec.NONE:
            assert sent == down_convert_for_fetch(stored, to_magic=to_magic, first_offset=0)
