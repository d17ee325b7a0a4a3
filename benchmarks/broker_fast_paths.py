"""The fast paths of a broker, each against the path below it: the gains in docs/design/fast-paths.md.

A broker in this process receives the frames of one-record Produce requests on a connection without a socket. Both paths
serve the same frames in turns, a slice of CPU time each; a figure is the median over the rounds of how many times
faster the whole request is with the fast path.
"""

from __future__ import annotations

import gc
import struct
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

from twisted.internet.address import IPv4Address

from benchmarks.protocol_fast_paths import compared
from broker_sim.apis import produce
from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.events import Detail
from broker_sim.log import replica_log
from broker_sim.network import channel
from protocol_specs.codec.code_generator import decoder_for
from protocol_specs.framing import framed
from protocol_specs.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol_specs.records.record_batch import RecordBatchBuilder
from sim_runtime.world import World

if TYPE_CHECKING:
    from broker_sim.log.append_results import PartitionAppend

ROUNDS: Final = 41
TOPIC: Final = "measured"
VERSION: Final = 9
FRAMES_PER_READ: Final = 8
READS: Final = 25
CONFIG: Final = {"log.retention.bytes": str(2 << 20), "log.segment.bytes": str(1 << 20)}
"""Little is kept: a log that grows would measure the machine's memory."""


class SilentTransport:
    """Takes what a channel does to a transport."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


class Sink:
    """A response writer that is always ready."""

    def write(self, data: bytes) -> bool:  # noqa: ARG002
        """Lose the bytes."""
        return True


class Connection:
    """One connection to the only broker of a cluster on virtual time."""

    def __init__(self) -> None:
        self.world = World(1)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            brokers=1,
            topics=[TopicSpec(name=TOPIC, partitions=1, replication_factor=1)],
            config={**CONFIG, "log.retention.check.interval.ms": "10", "log.initial.task.delay.ms": "10"},
            journal_detail=Detail.CLUSTER,
            broker_reactor=lambda broker_id: self.world.network.host(f"broker{broker_id}"),
        )
        self.cluster.start()
        self.world.run_for(ms=100)
        with patch.object(channel, "writer_for", lambda *_: Sink()):
            server = self.cluster.broker(1).socket_server
            assert server is not None
            made = server.acceptor.buildProtocol(IPv4Address("TCP", "127.0.0.1", 1))
            assert made is not None
            made.makeConnection(SilentTransport())
        self.channel: Any = made
        self.reads = [self._read(number) for number in range(READS)]

    def _read(self, number: int) -> bytes:
        frames = []
        for index in range(FRAMES_PER_READ):
            builder = RecordBatchBuilder()
            builder.append(int(self.world.reactor.seconds() * 1000), None, bytes(100))
            partition = PartitionProduceData(index=0, records=builder.build())
            request = ProduceRequest(
                acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=TOPIC, partition_data=[partition])]
            )
            header = struct.pack(">hhih", 0, VERSION, number * FRAMES_PER_READ + index, 7) + b"rdkafka\0"
            frames.append(framed(header + request.encode(VERSION)))
        return b"".join(frames)

    def produce(self) -> None:
        """Serve all frames."""
        received = self.channel.dataReceived
        for data in self.reads:
            received(data)

    def clean(self) -> None:
        """Let retention delete what was stored."""
        self.world.run_for(ms=100)


def responded(_correlation_id: int, _version: int, topic: TopicProduceData, result: PartitionAppend) -> ProduceResponse:
    """Make the response to a Produce as a message."""
    one = PartitionProduceResponse(
        index=topic.partition_data[0].index,
        base_offset=result.base_offset,
        log_append_time_ms=result.log_append_time_ms,
        log_start_offset=result.log_start_offset,
    )
    responses = [TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=[one])]
    return ProduceResponse(responses=responses)


def run(rounds: int) -> None:
    """Print one line per fast path: microseconds per request with and without it, and their ratio."""
    connection = Connection()
    route = connection.channel.processor._routes  # noqa: SLF001
    connection.produce()
    [key] = [each for each in route if each >> 16 == 0]
    codec = route[key]
    by_codec = type(codec)(codec.key, codec.api_key, codec.version, codec.tagged, decoder_for(ProduceRequest, VERSION))
    none = lambda *_: None  # noqa: E731
    slow_paths: dict[str, list[Any]] = {
        "decoder of repeated heads": [patch.dict(route, {key: by_codec})],
        "only partition": [patch.object(produce, "only_partition", none)],
        "prepared response": [patch.object(produce, "success_response", responded)],
        "lone record": [patch.object(replica_log, "lone_record_as_it_is", none)],
        "batch stored as it is": [
            patch.object(replica_log, "lone_record_as_it_is", none),
            patch.object(replica_log, "stored_as_it_is", none),
        ],
    }
    gc.disable()
    count = READS * FRAMES_PER_READ
    for name, patches in slow_paths.items():

        def slow() -> ExitStack:
            stack = ExitStack()
            for each in patches:  # noqa: B023
                stack.enter_context(each)
            return stack

        fast_s, slow_s, ratio, error = compared(connection.produce, connection.produce, slow, rounds, connection.clean)
        columns = [f"{seconds / count * 1e6:.2f} us" for seconds in (fast_s, slow_s)]
        print(f"{name:<28}{columns[0]:>10}{columns[1]:>10}  {ratio:.2f} +- {error:.2f}")


if __name__ == "__main__":
    run(ROUNDS)
