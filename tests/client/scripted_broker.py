"""A cluster that responds by script, on the simulated network: each Produce takes the next action, or is appended.

It keeps logs, validates sequences as Kafka does (five remembered batches), and records every request in order, so that
a test can check the requests of a producer. There is no replication: a partition has one log for all leaders.
"""

# ruff: noqa: ARG002, N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from twisted.internet.protocol import Protocol, ServerFactory

from broker_client.records import TopicPartition
from protocol_specs import releases
from protocol_specs.error_codes import ErrorCode
from protocol_specs.framing import FrameReader, decode_request_header, encode_response
from protocol_specs.messages.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from protocol_specs.messages.init_producer_id import InitProducerIdResponse
from protocol_specs.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol_specs.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol_specs.records.batch_peek import increment_sequence, iterate_batches
from protocol_specs.records.record_batch import read_records
from protocol_specs.registry import request_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sim_runtime.virtual_host import HostReactor
    from sim_runtime.world import World

PORT = 9092
API_VERSIONS, METADATA, INIT_PRODUCER_ID, PRODUCE = 18, 3, 22, 0
BATCHES_REMEMBERED = 5


@dataclass(slots=True, kw_only=True)
class Action:
    """The action for one Produce request in place of a successful append.

    `appends`: its batches are written; `error`: returned for each partition; `responds`: a response is sent;
    `disconnects`: the connection is closed; `delay_ms`: the response is delayed; `leader`: (id, epoch) in the response
    with the error.
    """

    appends: bool = False
    error: ErrorCode = ErrorCode.NONE
    responds: bool = True
    disconnects: bool = False
    delay_ms: float = 0
    leader: tuple[int, int] | None = None
    record_errors: Mapping[int, str] = field(default_factory=dict)
    throttle_ms: int = 0


@dataclass(slots=True, kw_only=True)
class Topic:
    name: str
    topic_id: bytes
    leaders: list[int | None]
    epochs: list[int]


@dataclass(slots=True, kw_only=True)
class SeenRequest:
    """One request that a broker received."""

    time_ms: int
    broker: int
    api_key: int
    api_version: int
    request: Any

    @property
    def batches(self) -> dict[TopicPartition, Any]:
        return {
            TopicPartition(topic.name, partition.index): next(iter(iterate_batches(partition.records)))[0]
            for topic in self.request.topic_data
            for partition in topic.partition_data
        }


class ScriptedCluster:
    """Brokers 1..n on the hosts broker-1..broker-n; the client's reactor is the host `client`."""

    def __init__(self, world: World, brokers: int = 1, release: str = "4.3.1") -> None:
        self.world = world
        self.release = releases.get(release)
        self.topics: dict[str, Topic] = {}
        self.seen: list[SeenRequest] = []
        self.script: deque[Action] = deque()
        self.default = Action(appends=True)
        self.logs: dict[TopicPartition, list[Any]] = {}
        self.producers: dict[tuple[TopicPartition, int], list[tuple[int, int, int, int]]] = {}
        self.metadata_errors: dict[str, ErrorCode] = {}
        self.next_producer_id = 1000
        self.next_producer_epoch = 0
        self.log_start_offset = -1
        self.errors_of_produce: dict[ErrorCode, None] = {}
        self.init_errors: deque[ErrorCode] = deque()
        self.max_batch_bytes: int | None = None
        # Kafka accepts any sequence of an unknown producer: the order is checked from the first success on.
        self.takes_any_first_sequence = True
        self.silent_apis: list[int] = []
        # Handlers of further APIs: (broker, request, version) -> response, None for no response.
        self.handlers: dict[int, Callable[[ScriptedBroker, Any, int], Any]] = {}
        self.finalized_features: dict[str, int] = {}
        self.finalized_features_epoch = 0
        self.client: HostReactor = world.network.host("client")
        self.brokers = {number: ScriptedBroker(self, number) for number in range(1, brokers + 1)}

    @property
    def bootstrap_servers(self) -> list[str]:
        return [f"broker-{number}:{PORT}" for number in self.brokers]

    def create(self, name: str, partitions: int = 1) -> None:
        ids = list(self.brokers)
        self.topics[name] = Topic(
            name=name,
            topic_id=bytes([len(self.topics) + 1]) * 16,
            leaders=[ids[index % len(ids)] for index in range(partitions)],
            epochs=[0] * partitions,
        )

    def move_leader(self, key: TopicPartition, broker: int | None) -> None:
        topic = self.topics[key.topic]
        topic.leaders[key.partition] = broker
        topic.epochs[key.partition] += 1

    def requests(self, api_key: int) -> list[SeenRequest]:
        return [seen for seen in self.seen if seen.api_key == api_key]

    @property
    def produced(self) -> list[SeenRequest]:
        return self.requests(PRODUCE)

    def values(self, topic: str, partition: int = 0) -> list[bytes]:
        return [record.value for record in self.logs.get(TopicPartition(topic, partition), [])]

    def remembers(self, key: TopicPartition, records: Any) -> bool:
        """True if this batch of an idempotent producer is among the last ones that were appended."""
        ((header, _),) = iterate_batches(records)
        same = header.producer_epoch, header.base_sequence, header.last_sequence
        return any(each[:3] == same for each in self.producers.get((key, header.producer_id), []))

    def append(self, key: TopicPartition, records: Any) -> tuple[ErrorCode, int]:
        """Append one batch, or return the error of ProducerStateManager."""
        log = self.logs.setdefault(key, [])
        ((header, batch),) = iterate_batches(records)
        if header.producer_id >= 0:
            seen = self.producers.setdefault((key, header.producer_id), [])
            for epoch, first, last, offset in seen:
                if (epoch, first, last) == (header.producer_epoch, header.base_sequence, header.last_sequence):
                    return ErrorCode.NONE, offset
            if seen:
                epoch, _, last, _ = seen[-1]
                expected = increment_sequence(last, 1) if epoch == header.producer_epoch else 0
                if header.producer_epoch < epoch:
                    return ErrorCode.INVALID_PRODUCER_EPOCH, -1
                if header.base_sequence != expected:
                    return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            elif header.base_sequence and not self.takes_any_first_sequence:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            seen.append((header.producer_epoch, header.base_sequence, header.last_sequence, len(log)))
            del seen[:-BATCHES_REMEMBERED]
        offset = len(log)
        log.extend(read_records(batch))
        return ErrorCode.NONE, offset


class ScriptedBroker(ServerFactory):
    noisy = False

    def __init__(self, cluster: ScriptedCluster, number: int) -> None:
        self.cluster = cluster
        self.number = number
        self.host = cluster.world.network.host(f"broker-{number}")
        self.connections: list[Connection] = []
        self.start()

    def start(self) -> None:
        self.host.listenTCP(PORT, self)

    def crash(self) -> None:
        self.host.crash()
        self.connections.clear()

    def buildProtocol(self, addr: Any) -> Connection:
        return Connection(self)


class Connection(Protocol):
    """Responds in order: a delayed response delays those behind it."""

    def __init__(self, broker: ScriptedBroker) -> None:
        self.broker = broker
        self.cluster = broker.cluster
        self.reader = FrameReader(limit_bytes=100_000_000, option="test")
        self.free_at_us = 0
        self.hangs = False

    def connectionMade(self) -> None:
        self.broker.connections.append(self)

    def connectionLost(self, reason: Any = None) -> None:
        if self in self.broker.connections:
            self.broker.connections.remove(self)

    def dataReceived(self, data: bytes) -> None:
        for frame in self.reader.receive(data):
            if not self.hangs:
                self.handle(frame)

    def handle(self, frame: bytes) -> None:
        cluster = self.cluster
        header, position = decode_request_header(frame)
        key, version = header.request_api_key, header.request_api_version
        if key != API_VERSIONS and version not in cluster.release.api_versions[key]:
            self.transport.abortConnection()
            return
        if key == API_VERSIONS and version not in cluster.release.api_versions[key]:
            self.respond(header.correlation_id, self.versions(ErrorCode.UNSUPPORTED_VERSION), 0)
            return
        request = request_type(key).decode_from(version, frame, position)[0]
        now_ms = cluster.world.reactor.now_us // 1000
        cluster.seen.append(
            SeenRequest(time_ms=now_ms, broker=self.broker.number, api_key=key, api_version=version, request=request)
        )
        if key in cluster.silent_apis:
            return
        if key in cluster.handlers:
            response = cluster.handlers[key](self.broker, request, version)
            if response is None:
                self.hangs = True
            else:
                self.respond(header.correlation_id, response, version)
        elif key == API_VERSIONS:
            self.respond(header.correlation_id, self.versions(), version)
        elif key == METADATA:
            self.respond(header.correlation_id, self.metadata(request), version)
        elif key == INIT_PRODUCER_ID:
            self.respond(header.correlation_id, self.init_producer_id(), version)
        elif key == PRODUCE:
            self.produce(header.correlation_id, request, version)
        else:
            raise AssertionError(f"no script for api {key}")

    def respond(self, correlation_id: int, response: Any, version: int, delay_ms: float = 0) -> None:
        data = encode_response(response, version, correlation_id=correlation_id)
        reactor = self.cluster.world.reactor
        at_us = max(self.free_at_us, reactor.now_us + int(delay_ms * 1000))
        self.free_at_us = at_us
        if at_us == reactor.now_us:
            self.transport.write(data)
        else:
            reactor.call_at_us(at_us, self.transport.write, data)

    def versions(self, error: ErrorCode = ErrorCode.NONE) -> ApiVersionsResponse:
        return ApiVersionsResponse(
            error_code=error,
            api_keys=[
                ApiVersion(api_key=key, min_version=versions.lowest, max_version=versions.highest)
                for key, versions in self.cluster.release.api_versions.items()
            ],
            finalized_features=[
                FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
                for name, level in self.cluster.finalized_features.items()
            ],
            finalized_features_epoch=self.cluster.finalized_features_epoch,
        )

    def metadata(self, request: Any) -> MetadataResponse:
        cluster = self.cluster
        requested = list(cluster.topics) if request.topics is None else [topic.name for topic in request.topics]
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=number, host=f"broker-{number}", port=PORT) for number in cluster.brokers
            ],
            cluster_id="scripted",
            controller_id=1,
            topics=[self.topic_metadata(name) for name in requested],
        )

    def topic_metadata(self, name: str) -> MetadataResponseTopic:
        cluster = self.cluster
        error = cluster.metadata_errors.get(name)
        topic = cluster.topics.get(name)
        if error is not None or topic is None:
            code = error or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return MetadataResponseTopic(error_code=code, name=name)
        return MetadataResponseTopic(
            error_code=0,
            name=name,
            topic_id=topic.topic_id,
            partitions=[
                MetadataResponsePartition(
                    error_code=ErrorCode.LEADER_NOT_AVAILABLE if leader is None else 0,
                    partition_index=index,
                    leader_id=-1 if leader is None else leader,
                    leader_epoch=topic.epochs[index],
                    replica_nodes=list(cluster.brokers),
                    isr_nodes=list(cluster.brokers),
                )
                for index, leader in enumerate(topic.leaders)
            ],
        )

    def init_producer_id(self) -> InitProducerIdResponse:
        cluster = self.cluster
        if cluster.init_errors:
            return InitProducerIdResponse(error_code=cluster.init_errors.popleft())
        cluster.next_producer_id += 1
        epoch, cluster.next_producer_epoch = cluster.next_producer_epoch, 0
        return InitProducerIdResponse(producer_id=cluster.next_producer_id - 1, producer_epoch=epoch)

    def produce(self, correlation_id: int, request: Any, version: int) -> None:
        cluster = self.cluster
        action = cluster.script.popleft() if cluster.script else cluster.default
        topics = []
        for topic in request.topic_data:
            if not topic.name:
                topic.name = next(one.name for one in cluster.topics.values() if one.topic_id == topic.topic_id)
            partitions = [self.produce_partition(topic.name, partition, action) for partition in topic.partition_data]
            topics.append(
                TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=partitions)
            )
        if action.disconnects:
            self.hangs = True
            self.transport.loseConnection()
        elif not action.responds:
            # Requests of a connection are served one at a time: later ones are never read.
            self.hangs = True
        elif request.acks != 0:
            response = ProduceResponse(responses=topics, throttle_time_ms=action.throttle_ms)
            if action.leader is not None and version >= 10:
                number = action.leader[0]
                response.node_endpoints.append(NodeEndpoint(node_id=number, host=f"broker-{number}", port=PORT))
            self.respond(correlation_id, response, version, action.delay_ms)
        elif any(partition.error_code for topic in topics for partition in topic.partition_responses):
            # With acks=0 a closed connection is the only sign of an error, as with Kafka.
            self.hangs = True
            self.transport.loseConnection()

    def produce_partition(self, topic: str, partition: Any, action: Action) -> PartitionProduceResponse:
        cluster = self.cluster
        key = TopicPartition(topic, partition.index)
        code, offset = action.error, -1
        if cluster.topics[topic].leaders[partition.index] != self.broker.number and code is ErrorCode.NONE:
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif cluster.max_batch_bytes is not None and len(partition.records) > cluster.max_batch_bytes:
            code = ErrorCode.MESSAGE_TOO_LARGE
        elif action.appends or (code is ErrorCode.INVALID_RECORD and cluster.remembers(key, partition.records)):
            # A batch that was valid once is valid when it is repeated.
            appended, offset = cluster.append(key, bytes(partition.records))
            code = code if action.appends and code else appended
        cluster.errors_of_produce[code] = None
        response = PartitionProduceResponse(
            index=partition.index,
            error_code=code,
            base_offset=offset,
            log_start_offset=cluster.log_start_offset,
            record_errors=[
                BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=text)
                for index, text in action.record_errors.items()
            ],
        )
        if action.leader is not None:
            response.current_leader = LeaderIdAndEpoch(leader_id=action.leader[0], leader_epoch=action.leader[1])
        return response
