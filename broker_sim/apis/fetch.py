"""Fetch (api key 1): read record batches, as a consumer or as a follower. Mirrors KafkaApis.handleFetchRequest.

Versions: 4.3 serves 4 to 18, 3.7 serves 0 to 16. v0 and v1 get message sets of magic 0, v2 and v3 of magic 1.
- v4: isolation level and aborted transactions. v5: log start offset. v7: sessions (KIP-227). v9: leader epochs fence.
- v11: any replica serves consumers (KIP-392). v12: diverging epochs (KIP-595). v13: topic ids. v15: replica state.
- v16: the current leader beside NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951).
- The same partition twice: one result, at the first one's place, from the last one's offset.
- An error partition has -1 for its offsets and empty, not null, records.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.fetch_conversion import CONVERTED_HIGHEST, convert
from broker_sim.apis.fetch_limits import has_negative_limit, read_with_negative_limits
from broker_sim.apis.fetch_sessions import InvalidSession, SessionKey, session_key
from broker_sim.apis.fetch_throttling import throttled_response
from broker_sim.apis.leader_endpoints import LeaderEndpoints
from broker_sim.quotas.replication_quotas import throttled_size
from broker_sim.replication.fetch_results import partition_data, refused_partition
from broker_sim.replication.requests import FetchIsolation, FetchParams, PartitionFetch
from broker_sim.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import ConversionFailedWhileSending, RecordBatchError
from protocol_specs.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    NodeEndpoint,
    PartitionData,
)
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from broker_sim.apis.fetch_sessions import FetchContext
    from broker_sim.apis.handler_result import HandlerResult, NoResponse
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.replication.requests import PartitionFetchResult as Result
    from protocol_specs.message import Message
    from protocol_specs.messages.fetch import FetchPartition, FetchRequest

__all__ = ["Fetch", "error_response", "handle"]

HARD_MAX_BYTES_HIGHEST: Final = 2
STORAGE_ERROR_UNKNOWN_HIGHEST: Final = 5
RACKS_LOWEST: Final = 11
TOPIC_IDS_LOWEST: Final = 13
REPLICA_STATE_LOWEST: Final = 15
FUTURE_LOCAL_REPLICA_ID: Final = -3
READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1


class Fetch:
    """One request in progress: its session, the partitions to read, and those refused already."""

    __slots__ = ("context", "interesting", "keys", "refused", "replica_id", "request", "session", "version")

    def __init__(self, request: FetchRequest, context: RequestContext) -> None:
        self.request = request
        self.context = context
        self.version = context.api_version
        self.replica_id = (
            request.replica_id if self.version < REPLICA_STATE_LOWEST else request.replica_state.replica_id
        )
        self.session = self._open_session()
        self.interesting: list[PartitionFetch] = []
        self.keys: list[SessionKey] = []
        self.refused: dict[SessionKey, PartitionData] = {}

    def sort(self) -> None:
        """Split the session's partitions into those to read and those that do not exist here."""
        image = self.context.broker.metadata_cache.image
        by_id = self.version >= TOPIC_IDS_LOWEST
        faulty = self.context.injected_errors
        missing: dict[SessionKey, PartitionData] = {}
        names = self.session.names
        checks = self.context.access is not None
        for key, wanted in self.session.partitions.items():
            topic = image.topics_by_id.get(key.topic_id) if by_id else image.topics.get(key.topic)
            if topic is None and key in names:
                topic = image.topics.get(names[key])  # another of the same name, whose id does not fit, or none
            elif topic is not None and by_id:
                names[key] = topic.name
            if topic is None and by_id and key not in names:
                # A follower's partitions are refused in their order; for others Kafka looks for the ids first.
                refused = missing if self.replica_id >= 0 else self.refused
                refused[key] = refused_partition(key.partition, ErrorCode.UNKNOWN_TOPIC_ID)
            elif checks and not self._may_read(key.topic or names[key]):
                missing[key] = refused_partition(key.partition, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            elif topic is None or not 0 <= key.partition < len(topic.partitions):
                missing[key] = refused_partition(key.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            elif faulty is not None and (topic.name, key.partition) in faulty:
                missing[key] = refused_partition(key.partition, faulty[topic.name, key.partition])
            else:
                self.keys.append(key)
                self.interesting.append(
                    PartitionFetch(
                        topic_partition=TopicPartition(topic.name, key.partition),
                        topic_id=key.topic_id if by_id else None,
                        fetch_offset=wanted.fetch_offset,
                        max_bytes=wanted.partition_max_bytes,
                        log_start_offset=wanted.log_start_offset,
                        current_leader_epoch=max(-1, wanted.current_leader_epoch),
                        last_fetched_epoch=max(-1, wanted.last_fetched_epoch),
                    )
                )

        self.refused |= missing

    def _may_read(self, topic: str) -> bool:
        """Return True if the consumer may read the topic, or the follower is a node of the cluster."""
        if self.replica_id >= 0:
            return self.context.may(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
        return self.context.may(AclOperation.READ, ResourceType.TOPIC, topic)

    def read(self) -> list[Result] | Deferred[list[Result]] | None:
        """Read from the ReplicaManager; None for an isolation level that does not exist."""
        if not self.interesting:
            return []
        request = self.request
        is_consumer = self._is_consumer
        if request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
            return None
        if not is_consumer:
            isolation = FetchIsolation.LOG_END
        elif request.isolation_level == READ_COMMITTED:
            isolation = FetchIsolation.TXN_COMMITTED
        else:
            isolation = FetchIsolation.HIGH_WATERMARK
        max_bytes = min(request.max_bytes, self.context.broker.config.fetch_max_bytes)
        if is_consumer and self.context.broker.quotas.active:
            max_bytes = self.context.broker.quotas.fetch_max_bytes(self.context, max_bytes)
        params = FetchParams(
            replica_id=self.replica_id,
            replica_epoch=request.replica_state.replica_epoch,
            max_wait_ms=request.max_wait_ms,
            min_bytes=min(request.min_bytes, max_bytes),
            max_bytes=max_bytes,
            isolation=isolation,
            hard_max_bytes=self.version <= HARD_MAX_BYTES_HIGHEST,
            fetch_only_leader=self.replica_id >= 0 or (is_consumer and self.version < RACKS_LOWEST),
        )
        replica_manager = self.context.broker.replica_manager
        if replica_manager.replica_selector is not None and self.replica_id < 0 and self.version >= RACKS_LOWEST:
            params = replace(params, rack_id=request.rack_id)
        if has_negative_limit(params, self.interesting):
            return read_with_negative_limits(replica_manager, params, self.interesting)
        return replica_manager.fetch(params=params, partitions=self.interesting)

    @property
    def _has_aborted_list(self) -> bool:
        return self.request.isolation_level == READ_COMMITTED and self._is_consumer

    @property
    def _is_consumer(self) -> bool:
        return self.replica_id < 0 and self.replica_id != FUTURE_LOCAL_REPLICA_ID

    def build_response(self, results: list[Result]) -> Message | NoResponse:
        """Build the response and update the session by it."""
        leaders = LeaderEndpoints(self.context)
        updates = {key: self._shape(result, leaders) for key, result in zip(self.keys, results, strict=True)}
        updates.update(self.refused)
        if self.replica_id < 0:
            topic_stats = self.context.broker.replica_manager.topic_stats
            for result in results:
                if result.batches:
                    topic_stats.sent(result.topic_partition.topic, result.size_in_bytes)
        if self.replica_id < 0 and self.context.broker.quotas.active:
            throttled = throttled_response(self.context, self.session, updates)
            if throttled is not None:
                return throttled
        try:
            error_code, session_id, named = self.session.session_response(
                updates, uses_topic_ids=self.version >= TOPIC_IDS_LOWEST, now_ms=self.context.broker.now_ms()
            )
        except InvalidSession:
            return error_response(self.request, self.context, ErrorCode.UNKNOWN_SERVER_ERROR)
        if self.version >= TOPIC_IDS_LOWEST and any(key.topic_id == ZERO_UUID for key in list(named)[:-1]):
            # Kafka compares the name of each topic with the one before; an unknown zero id has none to compare with.
            return error_response(self.request, self.context, ErrorCode.UNKNOWN_SERVER_ERROR)
        if self.version <= CONVERTED_HIGHEST:
            try:
                self._convert(named)
            except ConversionFailedWhileSending as error:
                return self.context.disconnect(f"a Fetch response cannot be sent: {error}")
            except RecordBatchError:
                return error_response(self.request, self.context, ErrorCode.UNKNOWN_SERVER_ERROR)
        if self.replica_id >= 0:
            self._count_replication(results, named)
        response = FetchResponse(error_code=error_code, session_id=session_id, responses=_by_topic(named))
        if leaders.nodes and (self.replica_id < 0 or self.context.behaviour.fetch_endpoints_for_followers):
            response.node_endpoints = [
                NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
                for node in leaders.listed()
            ]
        return response

    def _count_replication(self, results: list[Result], named: dict[SessionKey, PartitionData]) -> None:
        quota = self.context.broker.replica_manager.replication_quotas.leader
        if quota.active:
            pairs = zip(self.keys, results, strict=True)
            sent = [(result.topic_partition, key.topic_id, named[key]) for key, result in pairs if key in named]
            quota.record(throttled_size(self.version, sent, quota))

    def _convert(self, named: dict[SessionKey, PartitionData]) -> None:
        """Give an old client its own format. Mirrors maybeConvertFetchedData."""
        partitions = self.context.broker.replica_manager.partitions
        for key, data in named.items():
            hosted = partitions.get(TopicPartition(key.topic, key.partition))
            if hosted is not None:
                convert(
                    data,
                    version=self.version,
                    config=hosted.log.config,
                    first_offset=self.session.partitions[key].fetch_offset,
                    from_follower=self.replica_id >= 0,
                    behaviour=self.context.behaviour,
                )

    def _open_session(self) -> FetchContext:
        request, version = self.request, self.version
        partitions: dict[SessionKey, FetchPartition] = {}
        for topic in request.topics:
            for partition in topic.partitions:
                partitions[session_key(topic.topic_id, topic.topic, partition.partition, version)] = partition
        forgotten = [
            session_key(topic.topic_id, topic.topic, partition, version)
            for topic in request.forgotten_topics_data
            for partition in topic.partitions
        ]
        broker = self.context.broker
        return broker.apis.fetch_sessions.context_of(
            session_id=request.session_id,
            epoch=request.session_epoch,
            version=version,
            partitions=partitions,
            forgotten=forgotten,
            from_follower=self.replica_id >= 0,
            now_ms=broker.now_ms(),
        )

    def _shape(self, result: Result, leaders: LeaderEndpoints) -> PartitionData:
        batches = result.batches
        error_code = result.error_code
        if error_code is ErrorCode.KAFKA_STORAGE_ERROR and self.version <= STORAGE_ERROR_UNKNOWN_HIGHEST:
            error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        shaped = partition_data(
            result,
            self.version,
            leaders.of,
            [batch.data for batch in batches] if batches else b"",
        )
        shaped.error_code = error_code
        if self._has_aborted_list and _was_read(result):
            shaped.aborted_transactions = [
                AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
                for each in result.aborted_transactions
            ]
        return shaped


def handle(request: FetchRequest, context: RequestContext) -> HandlerResult:
    """Read the session's partitions; respond when there is enough data, or when the request's wait is over."""
    if context.replica_id >= 0:
        # A follower, over a link: its session is of another kind, which keeps what it fetches by reference.
        return context.broker.replica_manager.roles.replica_fetch(request, context.replica_id)
    try:
        fetch = Fetch(request, context)
    except InvalidSession:
        return error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
    fetch.sort()
    results = fetch.read()
    if results is None:
        return error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
    if isinstance(results, Deferred):
        response: Deferred[Message | NoResponse] = results.addCallback(fetch.build_response)
        return response
    return fetch.build_response(results)


def error_response(request: FetchRequest, context: RequestContext, error_code: ErrorCode) -> Message:
    """One error at the top, and before v13 also for each partition. Mirrors FetchRequest.getErrorResponse."""
    response = FetchResponse(error_code=error_code, session_id=request.session_id)
    if context.api_version < TOPIC_IDS_LOWEST:
        records = None if context.behaviour.fetch_error_records_null else b""
        response.responses = [
            FetchableTopicResponse(
                topic=topic.topic,
                partitions=[refused_partition(item.partition, error_code, records) for item in topic.partitions],
            )
            for topic in request.topics
        ]
    return response


def _was_read(result: Result) -> bool:
    """Return True if the log was read, even without data; an omitted first batch counts as not read."""
    return not (
        result.error_code
        or result.first_batch_left_out
        or result.preferred_read_replica >= 0
        or result.diverging_epoch is not None
    )


def _by_topic(named: dict[SessionKey, PartitionData]) -> list[FetchableTopicResponse]:
    """Group adjacent partitions of one topic; the order of the partitions stays."""
    topics: list[FetchableTopicResponse] = []
    last: tuple[bytes, str] | None = None
    for key, data in named.items():
        topic = (key.topic_id, key.topic)
        if topic != last:
            topics.append(FetchableTopicResponse(topic=key.topic, topic_id=key.topic_id))
            last = topic
        topics[-1].partitions.append(data)
    return topics


def partitions_of(request: FetchRequest, context: RequestContext) -> list[tuple[str, int]]:
    """Return the partitions that a request names, without those that its session adds."""
    if context.api_version < TOPIC_IDS_LOWEST:
        return [(topic.topic, item.partition) for topic in request.topics for item in topic.partitions]
    by_id = context.broker.metadata_cache.image.topics_by_id
    return [
        (by_id[topic.topic_id].name, item.partition)
        for topic in request.topics
        if topic.topic_id in by_id
        for item in topic.partitions
    ]


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response, partitions=partitions_of)
