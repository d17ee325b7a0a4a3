"""The cluster of a producer's script, on simulated hosts or on 127.0.0.1.

It keeps one log per partition, independent of the leader, checks sequences as ProducerStateManager does, responds in
the order of the requests of a connection, and records every request.
"""

# ruff: noqa: ARG002, N802
# The names are those of Twisted's interfaces, and the handlers of all APIs have one signature.

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol, ServerFactory

from protocol_specs import releases
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.framing import FrameReader, decode_request_header, encode_response
from protocol_specs.messages.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
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
from protocol_specs.registry import request_type
from tests.client.producer_script import Response
from tests.client.script_coordinator import ScriptCoordinator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.client.producer_script import Script

# A broker without a plug-in for clients' metrics does not offer these.
TELEMETRY = (71, 72)
BATCHES_REMEMBERED = 5
FRAME_BYTES_MAX = 100_000_000
WAIT_SECONDS_MAX = 30.0
GOES_WELL = Response(appends=True)


@dataclass(slots=True, kw_only=True)
class Request:
    """One request that a broker received; connections are counted from 1 per broker."""

    at_ms: int
    broker: int
    connection: int
    api: str
    version: int
    body: Any


@dataclass(slots=True)
class Place:
    """The address of a broker; port 0 becomes a free one."""

    reactor: Any
    host: str
    port: int
    interface: str = ""


class Waits:
    """Waits for conditions that are checked again after each event."""

    def __init__(self, reactor: Any) -> None:
        self.reactor = reactor
        self._waiting: dict[Deferred[None], Callable[[], bool]] = {}

    def until(self, what: str, condition: Callable[[], bool]) -> Deferred[None]:
        waiting: Deferred[None] = Deferred()
        self._waiting[waiting] = condition
        late = self.reactor.callLater(WAIT_SECONDS_MAX, self._give_up, waiting, what)
        waiting.addBoth(lambda result: (late.cancel() if late.active() else None, result)[1])
        self.look()
        return waiting

    def look(self) -> None:
        for waiting, condition in list(self._waiting.items()):
            if condition() and self._waiting.pop(waiting, None) is not None:
                waiting.callback(None)

    def _give_up(self, waiting: Deferred[None], what: str) -> None:
        del self._waiting[waiting]
        waiting.errback(TimeoutError(f"waited {WAIT_SECONDS_MAX} s for {what}"))


class ScriptCluster:
    def __init__(self, script: Script, places: Mapping[int, Place], waits: Waits) -> None:
        self.script = script
        self.places = places
        self.waits = waits
        self.seen: list[Request] = []
        self.counts: dict[str, int] = {}
        self.fired = [0] * len(script.responses)
        self.release = releases.get(script.release)
        self.leaders = {name: list(leaders) for name, leaders in script.topics.items()}
        self.epochs = {name: [0] * len(leaders) for name, leaders in script.topics.items()}
        self.ids = {name: bytes([number]) * 16 for number, name in enumerate(script.topics, 1)}
        self.ends: dict[str, int] = {}
        self.producers: dict[tuple[str, int], list[tuple[int, int, int, int]]] = {}
        self.features = dict(script.features)
        self.features_epoch = 0
        self.coordinator = ScriptCoordinator(places)
        self.brokers = {number: ScriptBroker(self, number) for number in places}

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.stop()

    def count(self, api: str) -> int:
        return self.counts.get(api, 0)

    def response_to(self, api: str) -> Response:
        number = self.counts[api]
        for index, scripted in enumerate(self.script.responses):
            if scripted.api == api and scripted.nth <= number < scripted.nth + scripted.times:
                self.fired[index] += 1
                return scripted
        return GOES_WELL

    def never_fired(self) -> list[Response]:
        return [scripted for scripted, fired in zip(self.script.responses, self.fired, strict=True) if not fired]

    def move_leader(self, partition: str, broker: int | None) -> None:
        topic, _, index = partition.rpartition("-")
        self.leaders[topic][int(index)] = broker
        self.epochs[topic][int(index)] += 1

    def finalize(self, feature: str, level: int) -> None:
        self.features[feature] = level
        self.features_epoch += 1

    def topic_name(self, name: str, topic_id: bytes) -> str:
        return name or next(known for known, its_id in self.ids.items() if its_id == topic_id)

    def append(self, key: str, records: bytes) -> tuple[ErrorCode, int]:
        """Append one batch, or return the error of ProducerStateManager."""
        ((header, _),) = iterate_batches(records)
        end = self.ends.setdefault(key, 0)
        if header.producer_id >= 0:
            seen = self.producers.setdefault((key, header.producer_id), [])
            for epoch, first, last, offset in seen:
                if (epoch, first, last) == (header.producer_epoch, header.base_sequence, header.last_sequence):
                    return ErrorCode.NONE, offset
            if seen:
                epoch, _, last, _ = seen[-1]
                if header.producer_epoch < epoch:
                    return ErrorCode.INVALID_PRODUCER_EPOCH, -1
                if header.base_sequence != (increment_sequence(last, 1) if epoch == header.producer_epoch else 0):
                    return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            seen.append((header.producer_epoch, header.base_sequence, header.last_sequence, end))
            del seen[:-BATCHES_REMEMBERED]
        self.ends[key] = end + header.records_count
        return ErrorCode.NONE, end


class ScriptBroker(ServerFactory):
    noisy = False

    def __init__(self, cluster: ScriptCluster, number: int) -> None:
        self.cluster = cluster
        self.number = number
        self.place = cluster.places[number]
        self.accepted = 0
        self.connections: list[Connection] = []
        self.listener: Any = None
        self.listen()

    def listen(self) -> None:
        place = self.place
        self.listener = place.reactor.listenTCP(place.port, self, interface=place.interface)
        place.port = self.listener.getHost().port

    def stop(self) -> None:
        if self.listener is not None:
            self.listener.stopListening()
            self.listener = None
        self.disconnect()

    def disconnect(self) -> None:
        for connection in list(self.connections):
            connection.end()

    def buildProtocol(self, addr: Any) -> Connection:
        self.accepted += 1
        return Connection(self, self.accepted)


@dataclass(slots=True)
class Reply:
    """A response in the queue of its connection; a `ready` one waits only for those before it."""

    data: bytes = b""
    ready: bool = False
    closes: bool = False


class Connection(Protocol):
    def __init__(self, broker: ScriptBroker, number: int) -> None:
        self.broker = broker
        self.cluster = broker.cluster
        self.number = number
        self.reader = FrameReader(limit_bytes=FRAME_BYTES_MAX, option="test")
        self.replies: list[Reply] = []
        self.hangs = False

    def connectionMade(self) -> None:
        self.broker.connections.append(self)

    def connectionLost(self, reason: Any = None) -> None:
        self.replies.clear()
        if self in self.broker.connections:
            self.broker.connections.remove(self)

    def end(self) -> None:
        self.hangs = True
        self.transport.loseConnection()

    def dataReceived(self, data: bytes) -> None:
        for frame in self.reader.receive(data):
            self.handle(frame)

    def handle(self, frame: bytes) -> None:
        cluster = self.cluster
        header, position = decode_request_header(frame)
        key, version = header.request_api_key, header.request_api_version
        if version not in cluster.release.api_versions[key]:
            assert key == ApiKey.API_VERSIONS, f"{ApiKey.of(key).api_name} v{version} was not offered"
            self.reply(Response(), self.versions(ErrorCode.UNSUPPORTED_VERSION), 0, header.correlation_id)
            return
        body = request_type(key).decode_from(version, frame, position)[0]
        api = ApiKey.of(key).api_name
        cluster.counts[api] = cluster.count(api) + 1
        request = Request(
            at_ms=int(self.broker.place.reactor.seconds() * 1000),
            broker=self.broker.number,
            connection=self.number,
            api=api,
            version=version,
            body=body,
        )
        cluster.seen.append(request)
        if not self.hangs:
            scripted = cluster.response_to(api)
            if api in _HANDLERS:
                response = getattr(self, _HANDLERS[api])(request, scripted)
            else:
                response = cluster.coordinator.respond(request, scripted)
            if scripted.lost:
                self.hangs = True
            elif response is not None or scripted.disconnects:
                self.reply(scripted, response, version, header.correlation_id)
        cluster.waits.look()

    def reply(self, scripted: Response, response: Any, version: int, correlation_id: int) -> None:
        reply = Reply(closes=scripted.disconnects)
        if not scripted.disconnects:
            if scripted.throttle_ms:
                response.throttle_time_ms = scripted.throttle_ms
            reply.data = encode_response(response, version, correlation_id=correlation_id)
        self.replies.append(reply)
        if scripted.disconnects:
            self.hangs = True
        if scripted.after is not None:
            api, count = scripted.after
            waiting = self.cluster.waits.until(f"{api} {count}", lambda: self.cluster.count(api) >= count)
            waiting.addCallback(lambda _: self.delay(reply, scripted.delay_ms))
        else:
            self.delay(reply, scripted.delay_ms)

    def delay(self, reply: Reply, delay_ms: int) -> None:
        if delay_ms:
            self.broker.place.reactor.callLater(delay_ms / 1000, self.make_ready, reply)
        else:
            self.make_ready(reply)

    def make_ready(self, reply: Reply) -> None:
        reply.ready = True
        while self.replies and self.replies[0].ready:
            first = self.replies.pop(0)
            if first.closes:
                self.end()
                return
            self.transport.write(first.data)

    # The responses per API

    def versions(self, error: ErrorCode = ErrorCode.NONE) -> ApiVersionsResponse:
        offered = self.cluster.release.api_versions.items()
        return ApiVersionsResponse(
            error_code=error,
            api_keys=[
                ApiVersion(api_key=key, min_version=versions.lowest, max_version=versions.highest)
                for key, versions in offered
                if key not in TELEMETRY
            ],
            finalized_features=[
                FinalizedFeatureKey(name=name, min_version_level=0, max_version_level=level)
                for name, level in self.cluster.features.items()
            ],
            finalized_features_epoch=self.cluster.features_epoch if self.cluster.features else -1,
        )

    def api_versions(self, request: Request, scripted: Response) -> ApiVersionsResponse:
        return self.versions(scripted.error)

    def metadata(self, request: Request, scripted: Response) -> MetadataResponse:
        cluster = self.cluster
        requested = cluster.leaders if request.body.topics is None else [topic.name for topic in request.body.topics]
        of_all = scripted.error is ErrorCode.REBOOTSTRAP_REQUIRED
        return MetadataResponse(
            error_code=scripted.error if of_all else ErrorCode.NONE,
            brokers=[
                MetadataResponseBroker(node_id=number, host=place.host, port=place.port)
                for number, place in cluster.places.items()
            ],
            cluster_id="scripted",
            controller_id=1,
            topics=[self.topic_metadata(name, ErrorCode.NONE if of_all else scripted.error) for name in requested],
        )

    def topic_metadata(self, name: str, error: ErrorCode) -> MetadataResponseTopic:
        cluster = self.cluster
        if error or name not in cluster.leaders:
            return MetadataResponseTopic(error_code=error or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=name)
        return MetadataResponseTopic(
            name=name,
            topic_id=cluster.ids[name],
            partitions=[
                MetadataResponsePartition(
                    error_code=ErrorCode.LEADER_NOT_AVAILABLE if leader is None else ErrorCode.NONE,
                    partition_index=index,
                    leader_id=-1 if leader is None else leader,
                    leader_epoch=cluster.epochs[name][index],
                    replica_nodes=list(cluster.places),
                    isr_nodes=list(cluster.places),
                )
                for index, leader in enumerate(cluster.leaders[name])
            ],
        )

    def produce(self, request: Request, scripted: Response) -> ProduceResponse | None:
        cluster = self.cluster
        response = ProduceResponse()
        hinted: dict[int, None] = {}
        for topic in request.body.topic_data:
            topic.name = cluster.topic_name(topic.name, topic.topic_id)
            partitions = [self.produce_partition(topic.name, each, scripted, hinted) for each in topic.partition_data]
            response.responses.append(
                TopicProduceResponse(name=topic.name, topic_id=cluster.ids[topic.name], partition_responses=partitions)
            )
        if request.body.acks == 0:
            return None
        if request.version >= 10:
            response.node_endpoints = [
                NodeEndpoint(node_id=number, host=cluster.places[number].host, port=cluster.places[number].port)
                for number in hinted
            ]
        return response

    def produce_partition(
        self, topic: str, partition: Any, scripted: Response, hinted: dict[int, None]
    ) -> PartitionProduceResponse:
        cluster = self.cluster
        key = f"{topic}-{partition.index}"
        records = bytes(partition.records)
        leader = cluster.leaders[topic][partition.index]
        hint = scripted.leader
        code, offset = ErrorCode.NONE, -1
        affected = not scripted.partitions or key in scripted.partitions
        if scripted.error and affected:
            code = scripted.error
        elif leader != self.broker.number:
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            if cluster.script.leader_hints and leader is not None:
                hint = (leader, cluster.epochs[topic][partition.index])
        elif cluster.script.max_batch_bytes is not None and len(records) > cluster.script.max_batch_bytes:
            code = ErrorCode.MESSAGE_TOO_LARGE
        if (not code and not (scripted.lost or scripted.disconnects)) or scripted.appends:
            appended, offset = cluster.append(key, records)
            code = code or appended
        response = PartitionProduceResponse(index=partition.index, error_code=code, base_offset=-1 if code else offset)
        response.log_start_offset = scripted.log_start_offset if scripted.log_start_offset >= 0 else -1
        if scripted:
            response.record_errors = [
                BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=text)
                for index, text in scripted.record_errors.items()
            ]
        if hint is not None and code:
            response.current_leader = LeaderIdAndEpoch(leader_id=hint[0], leader_epoch=hint[1])
            hinted[hint[0]] = None
        return response


_HANDLERS = {
    "ApiVersions": "api_versions",
    "Metadata": "metadata",
    "Produce": "produce",
}
