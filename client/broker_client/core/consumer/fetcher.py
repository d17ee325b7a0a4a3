"""Fetch requests and their responses. Mirrors AbstractFetch, without fetch sessions (KIP-227).

Each leader gets one request at a time, for all of its partitions that can be fetched and have nothing buffered. Newer
leaders that a response names are used (KIP-951).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from broker_client.core.network.cluster import Node
from broker_client.core.network.metadata import LeaderIdAndEpoch
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.errors import BrokerError, ConfigError, ConnectionFailed, ProducerError, ProducerTimeout
from broker_client.isolation_levels import IsolationLevel
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from twisted.python.failure import Failure

    from broker_client.core.consumer.fetch_buffer import FetchBuffer
    from broker_client.core.consumer.subscription_state import FetchPosition, SubscriptionState
    from broker_client.core.network.client_core import ClientCore
    from broker_client.core.network.cluster import Cluster

__all__ = ["FetchOptions", "Fetcher"]

RETRY_BACKOFF_MS: Final = 100
CONSUMER_REPLICA_ID: Final = -1


@dataclass(slots=True, kw_only=True, frozen=True)
class FetchOptions:
    """The settings of fetches, under Kafka's names and with its defaults, but for auto.offset.reset=earliest.

    `max_poll_records` limits one poll, not a fetch. With `check_crcs` every batch's checksum is verified.
    """

    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    fetch_max_wait_ms: int = 500
    max_partition_fetch_bytes: int = 1_048_576
    max_poll_records: int = 500
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


class Fetcher:
    """Call everything on the reactor's thread. `on_event` is called when a request has ended."""

    def __init__(
        self,
        core: ClientCore,
        subscriptions: SubscriptionState,
        options: FetchOptions,
        buffer: FetchBuffer,
        on_event: Callable[[], None],
    ) -> None:
        self._core = core
        self._subscriptions = subscriptions
        self._options = options
        self._isolation_level = IsolationLevel.of(options.isolation_level)
        self._buffer = buffer
        self._on_event = on_event
        self._in_flight: dict[int, None] = {}
        self._failure: ProducerError | None = None

    def send_fetches(self, cluster: Cluster, max_wait_ms: int) -> bool:
        """Send a fetch to every leader without one in flight; return True if some partition has no known leader."""
        leaderless = False
        waiting = self._buffer.partitions()
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

    def raise_failure(self) -> None:
        """Raise the final error of a Fetch request, once."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

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
                    self._buffer.add(key, positions[key], data)
        if leaders:
            nodes = [Node(one.node_id, one.host, one.port, one.rack) for one in response.node_endpoints]
            self._core.metadata.update_leaders(leaders, nodes)

    def _back_off(self, keys: Iterable[TopicPartition]) -> None:
        """Fetch again later, perhaps from another leader."""
        self._subscriptions.back_off(keys, now_ms_of(self._core.reactor) + RETRY_BACKOFF_MS)
        self._core.metadata.request_update()


def producer_error(failure: Failure) -> ProducerError:
    """The ProducerError of a failed Deferred; raises any other error."""
    failure.trap(ProducerError)
    assert isinstance(failure.value, ProducerError), "it was trapped"
    return failure.value
