"""The generated codec beside those of kafka-python (generated Python) and kio (Python writers, Rust readers).

Each peer gets a message made of its own classes before the clock runs. The three take turns, a slice of time each, so
that a busy machine slows all of them; a figure is the median over the rounds of how many times faster ours was.
"""

from __future__ import annotations

import io
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from kio.serial import entity_reader, entity_writer

from benchmarks import record_batches
from benchmarks.result import Result, table
from protocol_specs.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol_specs.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.against import kafka_python_peer, kio_peer

if TYPE_CHECKING:
    from protocol_specs.message import Message

KAFKA_PYTHON_TARGET: Final = 2.0
KIO_ENCODE_TARGET: Final = 5.0
KIO_DECODE_TARGET: Final = 0.5
SLICE_SECONDS: Final = 0.005

Call = Callable[[], Any]


def produce_request() -> Message:
    """One topic, 15 partitions, a batch of 1 KiB for each."""
    partitions = [PartitionProduceData(index=index, records=bytes(1024)) for index in range(15)]
    return ProduceRequest(
        acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name="orders", partition_data=partitions)]
    )


def fetch_response() -> Message:
    """One topic, 15 partitions, a batch of 1 KiB from each."""
    partitions = [
        PartitionData(
            partition_index=index,
            high_watermark=1_000_000 + index,
            last_stable_offset=1_000_000 + index,
            log_start_offset=0,
            aborted_transactions=[],
            records=bytes(1024),
        )
        for index in range(15)
    ]
    return FetchResponse(
        session_id=77, responses=[FetchableTopicResponse(topic_id=bytes(range(16)), partitions=partitions)]
    )


def metadata_response() -> Message:
    """3 brokers, 100 topics of 3 partitions, all replicas in sync."""
    brokers = [MetadataResponseBroker(node_id=node, host=f"broker-{node}.example", port=9092) for node in (1, 2, 3)]
    partitions = [
        MetadataResponsePartition(
            partition_index=index, leader_id=index + 1, leader_epoch=5, replica_nodes=[1, 2, 3], isr_nodes=[1, 2, 3]
        )
        for index in range(3)
    ]
    topics = [
        MetadataResponseTopic(name=f"topic-{number:04}", topic_id=number.to_bytes(16, "big"), partitions=partitions)
        for number in range(1, 101)
    ]
    return MetadataResponse(brokers=brokers, cluster_id="4L6g3nShT-eMCtK--X86sw", controller_id=1, topics=topics)


MESSAGES: Final = (
    ("Produce v9 request", produce_request, 9),
    ("Fetch v13 response", fetch_response, 13),
    ("Metadata v12 response", metadata_response, 12),
)


def run(rounds: int) -> list[Result]:
    """Measure every message in both directions against both peers, then record batches."""
    results = []
    for name, make, version in MESSAGES:
        message = make()
        data = message.encode(version)
        encoders, decoders = _encoders(message, version), _decoders(type(message), version, data)
        assert len({bytes(encode()) for encode in encoders}) == 1, f"{name}: the codecs disagree"
        results += _results(f"encode {name}", encoders, KIO_ENCODE_TARGET, rounds)
        results += _results(f"decode {name}", decoders, KIO_DECODE_TARGET, rounds)
    return results + record_batches.run(rounds)


def _encoders(message: Message, version: int) -> tuple[Call, Call, Call]:
    theirs, kio = kafka_python_peer.to_peer(message, version), kio_peer.to_peer(message, version)
    write = entity_writer(type(kio))

    def kio_encode() -> bytes:
        buffer = io.BytesIO()
        write(buffer, kio)
        return buffer.getvalue()

    return lambda: message.encode(version), lambda: theirs.encode(version), kio_encode


def _decoders(cls: type[Message], version: int, data: bytes) -> tuple[Call, Call, Call]:
    theirs = kafka_python_peer.peer_class(cls, version)
    read = entity_reader(kio_peer.peer_class(cls, version))
    return lambda: cls.decode(version, data), lambda: theirs.decode(data, version), lambda: read(data, 0)


def _results(name: str, calls: tuple[Call, Call, Call], kio_target: float, rounds: int) -> list[Result]:
    repeats = [_repeats(call) for call in calls]
    seconds = [[_seconds(call, count) for call, count in zip(calls, repeats, strict=True)] for _ in range(rounds)]
    ours, *others = (statistics.median(column) for column in zip(*seconds, strict=True))
    results = []
    for column, (peer, target) in enumerate((("kafka-python", KAFKA_PYTHON_TARGET), ("kio", kio_target)), 1):
        results.append(
            Result(
                name=f"{name}, beside {peer}",
                ours=f"{ours * 1e6:.1f} us",
                other=f"{others[column - 1] * 1e6:.1f} us",
                figure=statistics.median(row[column] / row[0] for row in seconds),
                target=target,
                at_least=True,
                unit="x",
            )
        )
    return results


def _repeats(call: Call) -> int:
    call()
    return max(1, int(SLICE_SECONDS / _seconds(call, 3)))


def _seconds(call: Call, count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - started) / count


if __name__ == "__main__":
    print(table(run(rounds=61)))
