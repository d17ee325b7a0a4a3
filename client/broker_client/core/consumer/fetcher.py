"""Fetch requests and what they brought. Mirrors Fetcher and FetchCollector, without fetch sessions (KIP-227).

Each leader gets one request at a time, for all of its partitions that can be fetched; a response waits here until it
is collected. Partitions that were sought, paused or unassigned meanwhile are dropped then. A fetch that a broker
refuses as stale is repeated after a metadata update; newer leaders that a response names are used (KIP-951).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from broker_client.core.consumer.fetched_batches import FetchedBatch, FetchedPartition
from broker_client.core.consumer.subscription_state import FetchPosition
from broker_client.core.network.cluster import Node
from broker_client.core.network.metadata import LeaderIdAndEpoch
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.errors import BrokerError, ConfigError, ConnectionFailed, ProducerError, ProducerTimeout, error_of
from broker_client.isolation_levels import IsolationLevel
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode, ErrorFamily
from protocol_specs.errors import RecordBatchError
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from twisted.python.failure import Failure

    from broker_client.core.consumer.offset_lookups import OffsetLookups
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.network.client_core import ClientCore
    from broker_client.core.network.cluster import Cluster
    from protocol_specs.message import RecordsBuffer
    from protocol_specs.messages.fetch import PartitionData

__all__ = ["FetchOptions", "Fetcher"]

RETRY_BACKOFF_MS: Final = 100
CONSUMER_REPLICA_ID: Final = -1
_RETRIED_IN_PLACE: Final = (ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.UNKNOWN_LEADER_EPOCH)


@dataclass(slots=True, kw_only=True, frozen=True)
class FetchOptions:
    """The settings of fetches, under Kafka's names and with its defaults, but for auto.offset.reset=earliest.

    With `check_crcs` every batch's checksum is verified.
    """

    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    fetch_max_wait_ms: int = 500
    max_partition_fetch_bytes: int = 1_048_576
    auto_offset_reset: str = "earliest"
    isolation_level: str = "read_uncommitted"
    check_crcs: bool = True

    def __post_init__(self) -> None:
        if self.auto_offset_reset not in ("earliest", "latest", "none"):
            raise ConfigError(f"auto.offset.reset={self.auto_offset_reset!r}: expected earliest, latest or none")
        IsolationLevel.of(self.isolation_level)
        for one in fields(self):
            value = getattr(self, one.name)
            if one.type == "int" and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise ConfigError(f"{one.name.replace('_', '.')}={value!r}: expected a number from 0 on")


@dataclass(slots=True, kw_only=True)
class _Fetched:
    key: TopicPartition
    position: FetchPosition
    data: PartitionData


class Fetcher:
    """Call everything on the reactor's thread. `on_event` is called when `collect` has a result."""

    def __init__(
        self,
        core: ClientCore,
        subscriptions: SubscriptionState,
        options: FetchOptions,
        lookups: OffsetLookups,
        on_event: Callable[[], None],
    ) -> None:
        self._core = core
        self._subscriptions = subscriptions
        self._options = options
        self._isolation_level = IsolationLevel.of(options.isolation_level)
        self._lookups = lookups
        self._on_event = on_event
        self._in_flight: dict[int, None] = {}
        self._fetched: deque[_Fetched] = deque()
        self._failure: ProducerError | None = None

    def send_fetches(self, cluster: Cluster, max_wait_ms: int) -> bool:
        """Send a fetch to every leader without one in flight; return True if some partition has no known leader."""
        leaderless = False
        waiting = {fetched.key: None for fetched in self._fetched}
        by_leader: dict[int, list[tuple[TopicPartition, FetchPosition]]] = {}
        for key, position in self._subscriptions.fetchable(now_ms_of(self._core.reactor)):
            leader = cluster.leader_for(key)
            if leader is None:
                leaderless = True
            elif leader.id not in self._in_flight and key not in waiting:
                by_leader.setdefault(leader.id, []).append((key, position))
        for node_id, wanted in by_leader.items():
            self._send(cluster, node_id, wanted, max_wait_ms)
        return leaderless

    def collect(self) -> list[FetchedBatch]:
        """Return the batches that have arrived since; raises a final error of a broker once."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        batches: list[FetchedBatch] = []
        while self._fetched:
            fetched = self._fetched[0]
            state = self._subscriptions.states.get(fetched.key)
            if state is not None and not state.paused and state.position is fetched.position:
                try:
                    found = self._collect(fetched)
                except ProducerError:
                    if batches:
                        return batches  # they come first; the error is still at the head
                    self._fetched.popleft()
                    raise
                batches += found
            self._fetched.popleft()
        return batches

    # Details

    def _send(
        self, cluster: Cluster, node_id: int, wanted: Sequence[tuple[TopicPartition, FetchPosition]], max_wait_ms: int
    ) -> None:
        positions = dict(wanted)
        self._in_flight[node_id] = None

        def on_response(response: FetchResponse) -> None:
            self._take(cluster, response, positions)

        def failed(failure: Failure) -> None:
            if failure.check(ConnectionFailed, ProducerTimeout) is None:
                self._failure = producer_error(failure)
            else:
                self._back_off(positions)

        def done(_: object) -> None:
            del self._in_flight[node_id]
            self._on_event()

        request = self._core.request(
            FetchRequest,
            lambda _: self._request(cluster, wanted, max_wait_ms),
            node_id=node_id,
            timeout_ms=self._core.options.network.request_timeout_ms,
        )
        request.addCallback(on_response)
        request.addErrback(failed)
        request.addCallback(done)

    def _request(
        self, cluster: Cluster, wanted: Sequence[tuple[TopicPartition, FetchPosition]], max_wait_ms: int
    ) -> FetchRequest:
        topics: dict[str, FetchTopic] = {}
        for key, position in wanted:
            topic = topics.get(key.topic)
            if topic is None:
                topic_id = cluster.topic_id(key.topic) or ZERO_UUID
                topic = topics[key.topic] = FetchTopic(topic=key.topic, topic_id=topic_id)
            topic.partitions.append(
                FetchPartition(
                    partition=key.partition,
                    current_leader_epoch=cluster.leader_epoch_for(key),
                    fetch_offset=position.offset,
                    partition_max_bytes=self._options.max_partition_fetch_bytes,
                )
            )
        return FetchRequest(
            replica_id=CONSUMER_REPLICA_ID,
            max_wait_ms=max_wait_ms,
            min_bytes=self._options.fetch_min_bytes,
            max_bytes=self._options.fetch_max_bytes,
            isolation_level=self._isolation_level,
            topics=list(topics.values()),
        )

    def _take(
        self, cluster: Cluster, response: FetchResponse, positions: Mapping[TopicPartition, FetchPosition]
    ) -> None:
        code = ErrorCode.for_code(response.error_code)
        if code is not ErrorCode.NONE:
            if code.retriable:
                self._back_off(positions)
            else:
                self._failure = BrokerError(code, "Fetch")
            return
        names = {topic.topic_id: name for name, topic in cluster.topics.items() if topic.topic_id is not None}
        leaders: dict[TopicPartition, LeaderIdAndEpoch] = {}
        for topic in response.responses:
            name = topic.topic or names.get(topic.topic_id, "")
            for data in topic.partitions:
                key = TopicPartition(name, data.partition_index)
                if key not in positions:
                    continue
                if data.error_code and data.current_leader.leader_id >= 0:
                    leader = data.current_leader
                    leaders[key] = LeaderIdAndEpoch(leader_id=leader.leader_id, leader_epoch=leader.leader_epoch)
                if data.error_code or data.records:
                    self._fetched.append(_Fetched(key=key, position=positions[key], data=data))
        if leaders:
            nodes = [Node(one.node_id, one.host, one.port, one.rack) for one in response.node_endpoints]
            self._core.metadata.update_leaders(leaders, nodes)

    def _back_off(self, keys: Mapping[TopicPartition, FetchPosition]) -> None:
        """Fetch again later, perhaps from another leader."""
        not_before_ms = now_ms_of(self._core.reactor) + RETRY_BACKOFF_MS
        for key in keys:
            state = self._subscriptions.states.get(key)
            if state is not None:
                state.not_before_ms = not_before_ms
        self._core.metadata.request_update()

    def _collect(self, fetched: _Fetched) -> list[FetchedBatch]:
        key, position, data = fetched.key, fetched.position, fetched.data
        state = self._subscriptions.states[key]
        code = ErrorCode.for_code(data.error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            if self._lookups.default_reset is None:
                raise BrokerError(code, f"{key} at {position.offset}; auto.offset.reset would choose another")
            state.position, state.reset = None, self._lookups.default_reset
            return []
        if code is not ErrorCode.NONE:
            if code.family is ErrorFamily.INVALID_METADATA or code in _RETRIED_IN_PLACE or code.retriable:
                self._back_off({key: position})
                return []
            raise error_of(code, f"Fetch of {key}", topic=key.topic)
        partition = FetchedPartition(
            key,
            _joined(data.records),
            position.offset,
            aborted=data.aborted_transactions if self._isolation_level is IsolationLevel.READ_COMMITTED else None,
            check_crcs=self._options.check_crcs,
            partition_max_bytes=self._options.max_partition_fetch_bytes,
        )
        try:
            batches = partition.batches()
        except RecordBatchError as error:
            raise ProducerError(
                f"a batch of {key} at offset {partition.next_offset} cannot be read: {error}; seek past it to read on"
            ) from error
        if partition.next_offset != position.offset:
            state.position = FetchPosition(
                offset=partition.next_offset, offset_epoch=partition.last_epoch, leader_epoch=position.leader_epoch
            )
        return batches


def producer_error(failure: Failure) -> ProducerError:
    """The ProducerError of a failed Deferred; raises any other error."""
    failure.trap(ProducerError)
    assert isinstance(failure.value, ProducerError), "it was trapped"
    return failure.value


def _joined(records: RecordsBuffer | None) -> bytes | memoryview:
    if records is None:
        return b""
    return b"".join(records) if isinstance(records, list) else records
