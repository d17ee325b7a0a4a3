"""The fast paths of a broker, each against the path below it: the gains in docs/design/fast-paths.md.

A broker in this process receives the frames of one-record Produce requests, of OffsetCommits of one partition, or of
transactions of ten records, on a connection without a socket. Both paths serve them in turns, a slice of CPU time each;
a figure is the median over the rounds of how many times faster the whole request or transaction is with the fast path.
"""

from __future__ import annotations

import gc
import struct
import sys
from collections import deque
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

from twisted.internet.address import IPv4Address

from benchmarks.protocol_fast_paths import compared
from broker_sim.apis import add_partitions_to_txn, end_txn, offset_commit, produce, write_txn_markers
from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.events import Detail
from broker_sim.coordinators.groups.offsets import committed_offset
from broker_sim.coordinators.runtime.open_batch import OpenBatch
from broker_sim.coordinators.runtime.shard_runner import ShardRunner
from broker_sim.coordinators.transactions import transaction_metadata
from broker_sim.log import batch_validation, producer_state, replica_log
from broker_sim.log.lone_record import built_record_as_it_is
from broker_sim.network import channel
from broker_sim.rpc.plain_call import PlainCalls
from protocol_specs.codec.code_generator import decoder_for
from protocol_specs.error_codes import ErrorCode
from protocol_specs.framing import encode_request, framed
from protocol_specs.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, RequestAddPartitionsToTxnTopic
from protocol_specs.messages.end_txn import EndTxnRequest, EndTxnResponse
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol_specs.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol_specs.records.control_records import end_transaction_marker, end_transaction_marker_batch
from protocol_specs.records.record_batch import RecordBatchBuilder, read_records
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.log.append_results import PartitionAppend
    from broker_sim.log.stored_batch import StoredBatch
    from protocol_specs.message import Message
    from protocol_specs.records.control_records import EndTransactionMarker

ROUNDS: Final = 41
TOPIC: Final = "measured"
GROUP: Final = "measured"
COMMIT_VERSION: Final = 9
TRANSACTIONAL_ID: Final = "measured"
TRANSACTIONS_AHEAD: Final = 1_000
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

    def call(self, request: Any, version: int) -> Any:
        """Return the response to a request by reference."""
        calls = PlainCalls(self.cluster.brokers[1])
        return self.world.reactor.run_until(calls.call(request, version), deadline_ms=60_000)

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


class Commits(Connection):
    """The connection of a consumer that commits one partition again and again, outside of a group's generations."""

    def __init__(self) -> None:
        super().__init__()
        while self.call(FindCoordinatorRequest(key=GROUP, key_type=0), 2).error_code:
            self.world.run_for(ms=100)
        self.world.run_for(ms=100)
        self.frames = [self._commit(number) for number in range(READS * FRAMES_PER_READ)]

    def commit(self) -> None:
        """Serve all frames."""
        received = self.channel.dataReceived
        for frame in self.frames:
            received(frame)

    def _commit(self, offset: int) -> bytes:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
        request = OffsetCommitRequest(
            group_id=GROUP, topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]
        )
        return encode_request(request, COMMIT_VERSION, correlation_id=offset, client_id="rdkafka")


class Transactions(Connection):
    """The connection of a transactional producer."""

    def __init__(self) -> None:
        super().__init__()
        begin = InitProducerIdRequest(transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=60_000)
        while (found := self.call(begin, 4)).error_code:
            self.call(FindCoordinatorRequest(key=TRANSACTIONAL_ID, key_type=1), 2)
            self.world.run_for(ms=100)
        self._producer = {"producer_id": found.producer_id, "producer_epoch": found.producer_epoch}
        self._sequence = 0
        self._frames: deque[list[bytes]] = deque()

    def transaction(self) -> None:
        """Serve one transaction; its marker follows."""
        for frame in self._frames.popleft():
            self.channel.dataReceived(frame)
        self.world.run_for(ms=0)

    def clean(self) -> None:
        """Let retention delete what was stored, and make the next transactions."""
        super().clean()
        while len(self._frames) < TRANSACTIONS_AHEAD:
            self._frames.append(self._transaction())

    def _transaction(self) -> list[bytes]:
        builder = RecordBatchBuilder(**self._producer, base_sequence=self._sequence, is_transactional=True)
        for _ in range(10):
            builder.append(int(self.world.reactor.seconds() * 1000), None, bytes(100))
        self._sequence += 10
        records = PartitionProduceData(index=0, records=builder.build())
        named = {f"v3_and_below_{name}": value for name, value in self._producer.items()}
        requests = (
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=TRANSACTIONAL_ID,
                v3_and_below_topics=[RequestAddPartitionsToTxnTopic(name=TOPIC, partitions=[0])],
                **named,  # type: ignore[arg-type]
            ),
            ProduceRequest(
                transactional_id=TRANSACTIONAL_ID,
                acks=-1,
                timeout_ms=30_000,
                topic_data=[TopicProduceData(name=TOPIC, partition_data=[records])],
            ),
            EndTxnRequest(transactional_id=TRANSACTIONAL_ID, committed=True, **self._producer),
        )
        return [
            encode_request(request, version, correlation_id=1, client_id="rdkafka")
            for request, version in zip(requests, (3, VERSION, 3), strict=True)
        ]


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


def none(*_: object) -> None:
    """Stand for a fast path that no request takes."""


def refused(*_: object) -> bool:
    """Stand for one that returns False for every request."""
    return False


def by_codec(connection: Connection, request: type[Message]) -> Any:
    """Return the patch that has the codec decode every request of a type."""
    routes = connection.channel.processor._routes  # noqa: SLF001
    served = [(key, route) for key, route in routes.items() if key >> 16 == request.API_KEY]
    if not served:
        raise LookupError(f"{request.NAME}: the connection has no route of it before it has served one: serve one")
    [(key, route)] = served
    return patch.dict(routes, {key: replace(route, decode=decoder_for(request, route.version))})


def run(rounds: int) -> None:
    """Print one line per fast path: microseconds per request with and without it, and their ratio."""
    connection = Connection()
    connection.produce()
    slow_paths: dict[str, list[Any]] = {
        "decoder of repeated heads": [by_codec(connection, ProduceRequest)],
        "only partition": [patch.object(produce, "only_partition", none)],
        "prepared response": [patch.object(produce, "success_response", responded)],
        "lone record": [patch.object(replica_log, "lone_record_as_it_is", none)],
        "batch stored as it is": [
            patch.object(replica_log, "lone_record_as_it_is", none),
            patch.object(batch_validation, "stored_as_it_is", none),
        ],
    }
    gc.disable()
    for name, patches in slow_paths.items():
        _compare(name, connection.produce, patches, rounds, connection.clean, READS * FRAMES_PER_READ)
    commits = Commits()
    commits.commit()
    built_slowly = [
        patch.object(ShardRunner, "_append_alone", none),
        patch.object(OpenBatch, "build", lambda batch: batch._filled_builder().build()),  # noqa: SLF001
        patch.object(write_txn_markers, "lone_marker_batch", end_transaction_marker_batch),
    ]
    read_at_once = [patch.object(replica_log, "built_record_as_it_is", built_with_bytes)]
    applied_slowly = [patch.object(offset_commit, "_apply", refused)]
    slow_paths = {
        "decoder of repeated heads": [by_codec(commits, OffsetCommitRequest)],
        "only commit": [patch.object(offset_commit, "only_commit", none)],
        "lone batch": [*applied_slowly, *built_slowly],
        "applied commit": applied_slowly,
        "packed value": [*applied_slowly, patch.object(committed_offset, "WITH_TOPIC_ID", -1)],
        "built batch": read_at_once,
    }
    for name, patches in slow_paths.items():
        _compare(f"commit, {name}", commits.commit, patches, rounds, commits.clean, READS * FRAMES_PER_READ)
    transactions = Transactions()
    transactions.clean()
    slow_paths = {
        "lone batch": built_slowly,
        "only partition": [patch.object(produce, "only_partition", none)],
        "marker of a batch": [patch.object(producer_state, "marker_of_batch", marker_of_record)],
        "packed record": [patch.object(transaction_metadata, "PACKED_VERSION", -1)],
        "built batch": read_at_once,
        "repeated responses": [
            patch.object(add_partitions_to_txn, "success_frame", encoded_addition),
            patch.object(end_txn, "success_frame", encoded_end),
        ],
    }
    for name, patches in slow_paths.items():
        _compare(f"transaction, {name}", transactions.transaction, patches, rounds, transactions.clean, 1)


def built_with_bytes(*arguments: Any) -> StoredBatch | None:
    """Make the bytes of a coordinator's batch when it is appended."""
    batch = built_record_as_it_is(*arguments)
    if batch is not None:
        batch.data  # noqa: B018 - the first read makes them
    return batch


def encoded_addition(_correlation_id: int, _version: int, topic: str, partition: int) -> Message:
    """Make the response to an AddPartitionsToTxn as a message."""
    return add_partitions_to_txn.single_response([(topic, [(partition, ErrorCode.NONE)])])


def encoded_end(_correlation_id: int, _version: int) -> EndTxnResponse:
    """Make the response to an EndTxn as a message."""
    return EndTxnResponse()


def marker_of_record(batch: bytes) -> EndTransactionMarker:
    """Return the marker of a batch as that of its first record."""
    return end_transaction_marker(read_records(batch)[0])


def _compare(
    name: str, call: Callable[[], None], patches: list[Any], rounds: int, clean: Callable[[], None], count: int
) -> None:
    def slow() -> ExitStack:
        stack = ExitStack()
        for each in patches:
            stack.enter_context(each)
        return stack

    fast_s, slow_s, ratio, error = compared(call, call, slow, rounds, clean)
    columns = [f"{seconds / count * 1e6:.2f} us" for seconds in (fast_s, slow_s)]
    print(f"{name:<32}{columns[0]:>10}{columns[1]:>10}  {ratio:.2f} +- {error:.2f}")


if __name__ == "__main__":
    run(ROUNDS)
