"""Fetch requests and their responses, in sessions. Mirrors AbstractFetch (KIP-227, KIP-392).

Each leader gets one request at a time, for all of its partitions that can be fetched and have nothing buffered. Newer
leaders that a response names are used (KIP-951).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.consumer.fetch_sessions import FetchSession, FetchTarget
from broker_client.core.consumer.offset_resets import offset_reset_of
from broker_client.core.metrics.fetch_metrics import ResponseMetrics
from broker_client.core.network.cluster import Node
from broker_client.core.network.metadata import LeaderIdAndEpoch
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.errors import BrokerError, ConfigError, ConnectionFailed, ProducerError, ProducerTimeout
from broker_client.isolation_levels import IsolationLevel
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from broker_client.core.consumer.fetch_buffer import FetchBuffer
    from broker_client.core.consumer.fetch_sessions import SessionRequest
    from broker_client.core.consumer.subscription_state import FetchPosition, SubscriptionState
    from broker_client.core.metrics.consumer_metrics import ConsumerMetrics
    from broker_client.core.network.client_core import ClientCore
    from broker_client.core.network.cluster import Cluster

__all__ = ["FetchOptions", "Fetcher"]

CONSUMER_REPLICA_ID: Final = -1
TOPIC_NAMES_UP_TO: Final = 12


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
    client_rack: str = ""
    check_crcs: bool = True

    def __post_init__(self) -> None:
        offset_reset_of(self.auto_offset_reset)
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
        metrics: ConsumerMetrics,
    ) -> None:
        self._core = core
        self._subscriptions = subscriptions
        self._options = options
        self._isolation_level = IsolationLevel.of(options.isolation_level)
        self._buffer = buffer
        self._on_event = on_event
        self._metrics = metrics
        self._in_flight: dict[int, None] = {}
        self._sessions: dict[int, FetchSession] = {}
        self._failure: ProducerError | None = None

    def send_fetches(self, cluster: Cluster, *, at_once: bool) -> bool:
        """Send a fetch to every node without one in flight; return True if some partition has no known leader.

        A node that leads a buffered partition gets none, so that its session keeps that partition.
        """
        self._metrics.fetches.assigned(self._subscriptions.states)
        leaderless = False
        busy = {*self._in_flight, *self._nodes_of_buffered(cluster)}
        by_node: dict[int, dict[TopicPartition, FetchPosition]] = {}
        for key, position in self._subscriptions.fetchable(now_ms_of(self._core.reactor)):
            node_id = self._node_for(key, cluster)
            if node_id is None:
                leaderless = True
            elif node_id not in busy:
                by_node.setdefault(node_id, {})[key] = position
        for node_id, wanted in by_node.items():
            self._send(cluster, node_id, wanted, at_once=at_once)
        return leaderless

    def close_sessions(self) -> list[Deferred[Any]]:
        """End the sessions of all nodes; return the responses."""
        self._core.run_now()  # it notices that a fetch that was sent at once has left: then its node is ready again
        closing = []
        for node_id, session in self._sessions.items():
            if session.is_open and self._core.client.is_ready(node_id, now_ms_of(self._core.reactor)):
                request = self._message(session.closing_request(), {})
                closing.append(self._core.request(FetchRequest, lambda _, request=request: request, node_id=node_id))  # type: ignore[misc]
        self._sessions.clear()
        return closing

    def raise_failure(self) -> None:
        """Raise the final error of a Fetch request, once."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    # Details

    def _node_for(self, key: TopicPartition, cluster: Cluster) -> int | None:
        """The replica that the leader has named for this client's rack (KIP-392), else the leader."""
        preferred = self._subscriptions.states[key].preferred_replica
        if preferred is not None and preferred in cluster.nodes:
            return preferred
        leader = cluster.leader_for(key)
        return None if leader is None else leader.id

    def _nodes_of_buffered(self, cluster: Cluster) -> list[int]:
        states = self._subscriptions.states
        keys = [key for key in self._buffer.partitions() if key in states and not states[key].paused]
        return [node_id for key in keys if (node_id := self._node_for(key, cluster)) is not None]

    def _send(
        self, cluster: Cluster, node_id: int, positions: Mapping[TopicPartition, FetchPosition], *, at_once: bool
    ) -> None:
        self._in_flight[node_id] = None
        session = self._sessions.setdefault(node_id, FetchSession())
        targets = {
            key: FetchTarget(
                topic_id=cluster.topic_id(key.topic) or ZERO_UUID,
                offset=position.offset,
                leader_epoch=cluster.leader_epoch_for(key),
            )
            for key, position in positions.items()
        }
        all_have_ids = all(one.topic_id != ZERO_UUID for one in targets.values())

        began_ms = now_ms_of(self._core.reactor)

        def on_response(response: FetchResponse) -> None:
            self._metrics.fetched(node_id, now_ms_of(self._core.reactor) - began_ms)
            code = ErrorCode.for_code(response.error_code)
            if code is ErrorCode.NONE:
                session.succeeded(response.session_id)
                self._take(cluster, response, positions)
                return
            session.refused(code)
            if code.retriable:
                self._back_off(positions)
            else:
                self._failure = BrokerError(code, "Fetch")

        def failed(failure: Failure) -> None:
            session.failed()
            if failure.check(ConnectionFailed, ProducerTimeout) is None:
                self._failure = producer_error(failure)
            else:
                self._back_off(positions)

        def done(_: object) -> None:
            self._in_flight.pop(node_id, None)
            self._on_event()

        request = self._core.request(
            FetchRequest,
            lambda _: self._message(session.request(targets), targets),
            node_id=node_id,
            timeout_ms=self._core.options.network.request_timeout_ms,
            highest_version=None if all_have_ids else TOPIC_NAMES_UP_TO,
            at_once=at_once,
        )
        request.addCallback(on_response)
        request.addErrback(failed)
        request.addCallback(done)

    def _message(self, wanted: SessionRequest, targets: Mapping[TopicPartition, FetchTarget]) -> FetchRequest:
        options = self._options
        topics: dict[tuple[str, bytes], FetchTopic] = {}
        for key in targets:
            target = wanted.targets.get(key)
            if target is None:
                continue
            place = (key.topic, target.topic_id)
            topic = topics.setdefault(place, FetchTopic(topic=key.topic, topic_id=target.topic_id))
            topic.partitions.append(
                FetchPartition(
                    partition=key.partition,
                    current_leader_epoch=target.leader_epoch,
                    fetch_offset=target.offset,
                    partition_max_bytes=options.max_partition_fetch_bytes,
                )
            )
        forgotten: dict[tuple[str, bytes], ForgottenTopic] = {}
        for key, topic_id in wanted.forgotten.items():
            place = (key.topic, topic_id)
            left = forgotten.setdefault(place, ForgottenTopic(topic=key.topic, topic_id=topic_id))
            left.partitions.append(key.partition)
        return FetchRequest(
            replica_id=CONSUMER_REPLICA_ID,
            max_wait_ms=options.fetch_max_wait_ms,
            min_bytes=options.fetch_min_bytes,
            max_bytes=options.fetch_max_bytes,
            isolation_level=self._isolation_level,
            session_id=wanted.session_id,
            session_epoch=wanted.epoch,
            topics=list(topics.values()),
            forgotten_topics_data=list(forgotten.values()),
            rack_id=options.client_rack,
        )

    def _take(
        self, cluster: Cluster, response: FetchResponse, positions: Mapping[TopicPartition, FetchPosition]
    ) -> None:
        names = {topic.topic_id: name for name, topic in cluster.topics.items() if topic.topic_id is not None}
        leaders: dict[TopicPartition, LeaderIdAndEpoch] = {}
        found = [
            (TopicPartition(topic.topic or names.get(topic.topic_id, ""), data.partition_index), data)
            for topic in response.responses
            for data in topic.partitions
        ]
        counted = ResponseMetrics(self._metrics.fetches, [key for key, _ in found])
        for key, data in found:
            if key not in positions:
                counted.read(key, 0, 0)
                continue
            if data.preferred_read_replica >= 0:
                self._subscriptions.prefer(key, data.preferred_read_replica)
                counted.read(key, 0, 0)
                continue
            if data.error_code and data.current_leader.leader_id >= 0:
                leader = data.current_leader
                leaders[key] = LeaderIdAndEpoch(leader_id=leader.leader_id, leader_epoch=leader.leader_epoch)
            self._buffer.add(key, positions[key], data, counted)
        if leaders:
            nodes = [Node(one.node_id, one.host, one.port, one.rack) for one in response.node_endpoints]
            self._core.metadata.update_leaders(leaders, nodes)

    def _back_off(self, keys: Iterable[TopicPartition]) -> None:
        """Fetch again later, perhaps from another leader."""
        self._subscriptions.back_off(keys, now_ms_of(self._core.reactor) + self._core.options.retry_backoff_ms)
        self._core.metadata.request_update()


def producer_error(failure: Failure) -> ProducerError:
    """The ProducerError of a failed Deferred; raises any other error."""
    failure.trap(ProducerError)
    assert isinstance(failure.value, ProducerError), "it was trapped"
    return failure.value
