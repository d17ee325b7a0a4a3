"""The topics that a client uses, the state known of them, and when to request it again.

Mirrors Metadata and ProducerMetadata (KIP-526 idle topics, KIP-580 back-off, KIP-899 re-bootstrap, KIP-951 leaders).
Callers add topics and read the snapshot from their own threads; the network thread alone updates it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Final

from broker_client.core.network.cluster import NO_LEADER_EPOCH, Cluster, Node, TopicMetadata
from broker_client.records import PartitionInfo, TopicPartition
from protocol_specs.error_codes import ErrorCode, ErrorFamily
from protocol_specs.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from broker_client.errors import ProducerError
    from sim_runtime.backoff import ExponentialBackoff

__all__ = ["LeaderIdAndEpoch", "Metadata", "PendingUpdate"]

_NO_LEADER: Final = -1
NEVER_EXPIRES_MS: Final = 1 << 62
_RELIABLE_EPOCHS_FROM_VERSION: Final = 9  # KAFKA-9212: brokers before 2.4 could return stale epochs


@dataclass(slots=True, kw_only=True, frozen=True)
class LeaderIdAndEpoch:
    """A partition's new leader in a produce response (KIP-951)."""

    leader_id: int
    leader_epoch: int


@dataclass(slots=True, kw_only=True, frozen=True)
class PendingUpdate:
    """A Metadata request to send, and whether its response is a full or a partial update."""

    request: MetadataRequest
    request_version: int
    partial: bool


class Metadata:
    """The topic set with its expiry (`metadata.max.idle.ms`), the snapshot, and the times of its refresh."""

    __slots__ = (
        "_all_topics",
        "_attempts",
        "_backoff",
        "_backoff_ms",
        "_bootstrap",
        "_by_subscription",
        "_closed",
        "_equivalent_responses",
        "_expire_ms",
        "_fatal",
        "_idle_ms",
        "_last_refresh_ms",
        "_last_seen_epochs",
        "_last_successful_refresh_ms",
        "_lock",
        "_needs_full_update",
        "_needs_partial_update",
        "_new_topics",
        "_request_version",
        "_topic_errors",
        "_topics",
        "_update_version",
        "_waiters",
        "allow_auto_topic_creation",
        "cluster",
    )

    def __init__(
        self,
        *,
        bootstrap: Sequence[tuple[str, int]],
        refresh_backoff: ExponentialBackoff,
        expire_ms: int,
        idle_ms: int,
        all_topics: bool = False,
        by_subscription: bool = False,
        allow_auto_topic_creation: bool = True,
    ) -> None:
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self._all_topics = all_topics
        self._by_subscription = by_subscription
        self._backoff = refresh_backoff
        self._backoff_ms = 0
        self._expire_ms = expire_ms
        self._idle_ms = idle_ms
        self._bootstrap = tuple(bootstrap)
        self._lock = Lock()
        self.cluster = Cluster.bootstrap(self._bootstrap)  # the newest snapshot, for any thread to read
        self._update_version = 1  # the bootstrap cluster is the first version
        self._request_version = 0
        self._last_refresh_ms = 0
        self._last_successful_refresh_ms = 0
        self._attempts = 0
        self._equivalent_responses = 0
        self._needs_full_update = True
        self._needs_partial_update = False
        self._topics: dict[str, int] = {}
        self._new_topics: dict[str, None] = {}
        self._topic_errors: Mapping[str, ErrorCode] = {}
        self._last_seen_epochs: dict[TopicPartition, int] = {}
        self._waiters: list[Callable[[], object]] = []
        self._fatal: ProducerError | None = None
        self._closed = False

    # For callers; from any thread.

    @property
    def update_version(self) -> int:
        """Incremented by every response and by every bootstrap."""
        return self._update_version

    @property
    def last_successful_update_ms(self) -> int:
        """When a response last brought a snapshot; 0 before the first."""
        return self._last_successful_refresh_ms

    @property
    def closed(self) -> bool:
        """True if the client is closed: nothing will be updated any more."""
        return self._closed

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of the next full update."""
        return tuple(self._topics)

    def add(self, topic: str, now_ms: int) -> None:
        """Keep `topic` for another `metadata.max.idle.ms`; a new one requests a partial update."""
        with self._lock:
            known = topic in self._topics
            self._topics[topic] = max(now_ms + self._idle_ms, self._topics.get(topic, 0))
            if not known:
                self._new_topics[topic] = None
                self._request_update_for_new_topics()

    def keep_only(self, topics: Iterable[str], *, all_topics: bool) -> None:
        """Replace the topics by those of a subscription, which do not expire; a new one requests an update.

        Mirrors ConsumerMetadata, which has full updates only.
        """
        with self._lock:
            wanted = dict.fromkeys(topics, NEVER_EXPIRES_MS)
            new = [topic for topic in wanted if topic not in self._topics]
            self._topics = wanted
            self._new_topics = {topic: None for topic in self._new_topics if topic in wanted}
            if (new and not self._all_topics) or (all_topics and not self._all_topics):
                self._new_topics.update(dict.fromkeys(new))
                self._request_update_for_new_topics()
            self._all_topics = all_topics

    @property
    def update_requested(self) -> bool:
        """True if an update was requested and has not come yet."""
        return self._needs_full_update or self._needs_partial_update

    def request_update(self) -> int:
        """Request a full update; return the version that the update will exceed."""
        with self._lock:
            self._needs_full_update = True
            return self._update_version

    def request_update_for_new_topics(self) -> None:
        """Request an update without back-off: the subscription has changed."""
        with self._lock:
            self._request_update_for_new_topics()

    def request_update_for_topic(self, topic: str) -> int:
        """Request an update with `topic`: partial while it is new."""
        with self._lock:
            if topic in self._new_topics:
                self._request_update_for_new_topics()
            else:
                self._needs_full_update = True
            return self._update_version

    def on_change(self, notify: Callable[[], object]) -> None:
        """Call once at the next update, fatal error or close; at once when closed already."""
        with self._lock:
            if not self._closed:
                self._waiters.append(notify)
                return
        notify()

    def forget(self, notify: Callable[[], object]) -> None:
        """Take back what `on_change` registered."""
        with self._lock:
            if notify in self._waiters:
                self._waiters.remove(notify)

    def topic_error(self, topic: str) -> ErrorCode:
        """The error of `topic` in the newest response."""
        return self._topic_errors.get(topic, ErrorCode.NONE)

    def take_fatal_error(self) -> ProducerError | None:
        """Return the error that no update will heal, once."""
        with self._lock:
            fatal, self._fatal = self._fatal, None
            return fatal

    # For the network thread.

    def time_to_next_update_ms(self, now_ms: int) -> int:
        """How long until an update is due, back-off included; 0 when it is."""
        with self._lock:
            due_ms = self._last_refresh_ms + self._backoff_ms
            if not (self._needs_full_update or self._needs_partial_update):
                expiry_ms = self._last_successful_refresh_ms + self._expire_ms
                due_ms = max(due_ms, expiry_ms)
            return due_ms - now_ms if due_ms > now_ms else 0

    def time_to_allow_update_ms(self, now_ms: int) -> int:
        """How long until an update may be sent if one is requested: the rest of the back-off."""
        with self._lock:
            return max(self._last_refresh_ms + self._backoff_ms - now_ms, 0)

    def new_update(self, now_ms: int) -> PendingUpdate:
        """The request to send now: for new topics alone unless a full update is due."""
        with self._lock:
            if self._last_successful_refresh_ms + self._expire_ms <= now_ms:
                self._equivalent_responses = 0  # a periodic update is no sign of missing progress
            full = self._needs_full_update or self._last_successful_refresh_ms + self._expire_ms <= now_ms
            partial = not full and bool(self._new_topics) and not self._by_subscription
            names = self._new_topics if partial else self._topics
            everything = self._all_topics and not partial
            return PendingUpdate(
                request=MetadataRequest(
                    topics=None if everything else [MetadataRequestTopic(name=name) for name in names],
                    allow_auto_topic_creation=self.allow_auto_topic_creation,
                ),
                request_version=self._request_version,
                partial=partial,
            )

    def update(self, response: MetadataResponse, *, version: int, pending: PendingUpdate, now_ms: int) -> None:
        """Apply a response and wake every waiter."""
        with self._lock:
            self._needs_partial_update = pending.request_version < self._request_version
            self._last_refresh_ms = now_ms
            self._attempts = 0
            self._update_version += 1
            if not pending.partial:
                self._needs_full_update = False
                self._last_successful_refresh_ms = now_ms
            self._equivalent_responses += 1
            self._topic_errors = {
                topic.name: ErrorCode(topic.error_code)
                for topic in response.topics
                if topic.error_code and topic.name is not None
            }
            self.cluster = self._snapshot_of(response, version, pending.partial, now_ms)
            self._forget_epochs_of_dropped_topics()
            self._draw_backoff()
            for topic in response.topics:
                if topic.name is not None:
                    self._new_topics.pop(topic.name, None)
            waiters = self._take_waiters()
        _call_all(waiters)

    def failed_update(self, now_ms: int) -> None:
        """An update did not come: back off."""
        with self._lock:
            self._last_refresh_ms = now_ms
            self._attempts += 1
            self._equivalent_responses = 0
            self._draw_backoff()

    def fatal_error(self, error: ProducerError) -> None:
        """Record an error that no update will heal, and wake every waiter."""
        with self._lock:
            self._fatal = error
            waiters = self._take_waiters()
        _call_all(waiters)

    def rebootstrap(self) -> None:
        """Start over from the configured addresses (KIP-899)."""
        with self._lock:
            self._needs_full_update = True
            self._update_version += 1
            self.cluster = Cluster.bootstrap(self._bootstrap)

    def update_leaders(
        self, leaders: Mapping[TopicPartition, LeaderIdAndEpoch], nodes: Sequence[Node]
    ) -> tuple[TopicPartition, ...]:
        """Apply newer leaders from a response (KIP-951); return the partitions that changed."""
        with self._lock:
            merged = {**self.cluster.nodes, **{node.id: node for node in nodes}}
            updated = []
            for key, leader in leaders.items():
                known = self.cluster.partition(key)
                if known is None or leader.leader_id not in merged:
                    continue
                if leader.leader_epoch <= max(known.leader_epoch, self._last_seen_epochs.get(key, -1)):
                    continue
                self._last_seen_epochs[key] = leader.leader_epoch
                updated.append(replace(known, leader=leader.leader_id, leader_epoch=leader.leader_epoch))
            if updated:
                self.cluster = self.cluster.with_leaders(merged, updated)
            return tuple(TopicPartition(one.topic, one.partition) for one in updated)

    def close(self) -> None:
        """Nothing will be updated any more: wake everyone."""
        with self._lock:
            self._closed = True
            waiters = self._take_waiters()
        _call_all(waiters)

    # Under the lock.

    def _take_waiters(self) -> list[Callable[[], object]]:
        waiters, self._waiters = self._waiters, []
        return waiters

    def _request_update_for_new_topics(self) -> None:
        self._last_refresh_ms = 0  # no back-off: request at once
        self._needs_partial_update = True
        self._equivalent_responses = 0
        self._request_version += 1

    def _draw_backoff(self) -> None:
        rounds = max(self._attempts, self._equivalent_responses)
        self._backoff_ms = self._backoff.backoff_ms(max(rounds - 1, 0))

    def _retain(self, topic: str, now_ms: int) -> bool:
        if self._all_topics:
            return True
        expires_ms = self._topics.get(topic)
        if expires_ms is None:
            return False
        if topic in self._new_topics or expires_ms > now_ms:
            return True
        del self._topics[topic]
        return False

    def _snapshot_of(self, response: MetadataResponse, version: int, partial: bool, now_ms: int) -> Cluster:  # noqa: FBT001
        topics: dict[str, TopicMetadata] = {}
        invalid, unauthorized = [], []
        named = {topic.name for topic in response.topics}
        for topic in response.topics:
            if topic.name is None or not self._retain(topic.name, now_ms):
                continue
            code = ErrorCode(topic.error_code)
            if code is ErrorCode.NONE:
                topics[topic.name] = self._topic_of(topic, version)
            elif code.family is ErrorFamily.INVALID_METADATA:
                self._needs_full_update = True
            elif code is ErrorCode.INVALID_TOPIC_EXCEPTION:
                invalid.append(topic.name)
            elif code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                unauthorized.append(topic.name)
        newer = Cluster(
            nodes={
                broker.node_id: Node(broker.node_id, broker.host, broker.port, broker.rack)
                for broker in response.brokers
            },
            topics=topics,
            cluster_id=response.cluster_id,
            controller_id=response.controller_id,
            invalid_topics=frozenset(invalid),
            unauthorized_topics=frozenset(unauthorized),
        )
        if not partial:
            return newer
        return self.cluster.merged_with(newer, keep=lambda name: name not in named and self._retain(name, now_ms))

    def _topic_of(self, topic: MetadataResponseTopic, version: int) -> TopicMetadata:
        assert topic.name is not None
        topic_id = topic.topic_id if topic.topic_id != ZERO_UUID else None
        recreated = topic_id is not None and topic_id != self.cluster.topic_id(topic.name)
        partitions = []
        for partition in sorted(topic.partitions, key=lambda one: one.partition_index):
            newest = self._newest_of(topic.name, partition, version, recreated=recreated)
            if newest is not None:
                partitions.append(newest)
            if ErrorCode(partition.error_code).family is ErrorFamily.INVALID_METADATA:
                self._needs_full_update = True
        return TopicMetadata(name=topic.name, topic_id=topic_id, partitions=tuple(partitions))

    def _newest_of(
        self, topic: str, partition: MetadataResponsePartition, version: int, *, recreated: bool
    ) -> PartitionInfo | None:
        """The partition of the response, or what is known already if that is of a newer leader epoch.

        None after a rebootstrap, which keeps the epochs alone. Mirrors updateLatestMetadata.
        """
        key = TopicPartition(topic, partition.partition_index)
        epoch = partition.leader_epoch if version >= _RELIABLE_EPOCHS_FROM_VERSION else NO_LEADER_EPOCH
        updated = PartitionInfo(
            topic=topic,
            partition=partition.partition_index,
            leader=partition.leader_id if partition.leader_id != _NO_LEADER else None,
            leader_epoch=epoch,
            replicas=tuple(partition.replica_nodes),
            in_sync_replicas=tuple(partition.isr_nodes),
            offline_replicas=tuple(partition.offline_replicas),
        )
        if epoch == NO_LEADER_EPOCH:
            self._last_seen_epochs.pop(key, None)
            self._equivalent_responses = 0
            return updated
        seen = self._last_seen_epochs.get(key)
        if seen is not None and not recreated and epoch < seen:
            return self.cluster.partition(key)
        if seen is None or recreated or epoch > seen:
            self._equivalent_responses = 0
        self._last_seen_epochs[key] = epoch
        return updated

    def _forget_epochs_of_dropped_topics(self) -> None:
        if self._all_topics:
            return
        for key in [key for key in self._last_seen_epochs if key.topic not in self._topics]:
            del self._last_seen_epochs[key]


def _call_all(waiters: list[Callable[[], object]]) -> None:
    for notify in waiters:
        notify()
