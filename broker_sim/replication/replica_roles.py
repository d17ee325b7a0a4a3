"""The roles of this broker by its metadata: hosted partitions, fetchers, sessions of followers.

Mirrors ReplicaManager.applyDelta with ReplicaFetcherManager, and serves the Fetch requests of other brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_sim.log.log_directories import LogDirectoryOffline
from broker_sim.metadata.metadata_image import NO_LEADER
from broker_sim.replication.partition import Partition
from broker_sim.replication.replica_fetch_session import ReplicaFetchSession
from broker_sim.replication.replica_fetcher import ReplicaFetcher
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import FetchResponse
from sim_runtime.repeating_call import RepeatingCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.links.late_response import LateResponse
    from broker_sim.log.replica_storage import ReplicaStorage
    from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration, TopicImage
    from broker_sim.replication.replica_manager import ReplicaManager
    from protocol_specs.messages.fetch import FetchRequest


class LeadershipListener(Protocol):
    """Follows the leaderships of the broker. Mirrors BrokerMetadataPublisher.updateCoordinator."""

    def elected(self, topic_partition: TopicPartition, leader_epoch: int) -> None:
        """The broker leads the partition, by new metadata; an epoch may come repeatedly."""

    def resigned(self, topic_partition: TopicPartition) -> None:
        """The broker does not lead the partition any more, or does not host it."""


class ReplicaRoles:
    """Owns the manager's `partitions`: no other class adds or removes one."""

    def __init__(self, manager: ReplicaManager, storage: ReplicaStorage) -> None:
        self._manager = manager
        self._storage = storage
        self.fetchers: dict[int, ReplicaFetcher] = {}
        self._sessions: dict[int, ReplicaFetchSession] = {}
        self._sessions_made = 0
        self.leadership_listeners: list[LeadershipListener] = []
        # Half of the lag, so that a follower leaves the ISR after at most one and a half of it, as in Kafka.
        self._isr_expiration = RepeatingCall(
            manager.reactor, max(manager.replica_lag_time_max_ms / 2, 1), self._shrink_isrs
        )

    def start(self) -> None:
        """Begin to check periodically for followers that lag."""
        self._isr_expiration.start()

    def stop(self) -> None:
        """Stop the fetchers, the sessions and the checks."""
        self._isr_expiration.stop()
        for fetcher in self.fetchers.values():
            fetcher.stop()
        for session in self._sessions.values():
            session.close()
        self.fetchers.clear()
        self._sessions.clear()

    # Metadata.

    def apply_image(self, old: MetadataImage, new: MetadataImage) -> None:
        """Bring partitions and fetchers from one image to the next; identical objects are skipped."""
        for name, topic in old.topics.items():
            replacement = new.topics.get(name)
            if replacement is topic:
                continue
            if replacement is None or replacement.topic_id != topic.topic_id:
                if topic.configs:
                    self._manager.replication_quotas.topic_changed(name, {})
                for index in range(len(topic.partitions)):
                    self.drop(TopicPartition(name, index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for name, topic in new.topics.items():
            known = old.topics.get(name)
            if known is not topic:
                self._apply_topic(known if known is not None and known.topic_id == topic.topic_id else None, topic)

    def _apply_topic(self, old: TopicImage | None, new: TopicImage) -> None:
        manager = self._manager
        if new.configs if old is None else old.configs != new.configs:
            manager.replication_quotas.topic_changed(new.name, new.configs)
        if old is not None and old.configs != new.configs:
            for index in range(len(new.partitions)):
                self._storage.change_config(TopicPartition(new.name, index), new.configs)
        for index, registration in enumerate(new.partitions):
            if old is not None and index < len(old.partitions) and old.partitions[index] is registration:
                continue
            topic_partition = TopicPartition(new.name, index)
            if manager.broker_id not in registration.replicas:
                self.drop(topic_partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
                continue
            partition = manager.partitions.get(topic_partition)
            try:
                partition = partition or self.host(topic_partition, new.topic_id, new.configs)
            except LogDirectoryOffline:
                manager.offline[topic_partition] = None
                continue
            self.take_role(partition, registration, fetch_from=registration.leader)

    def host(self, topic_partition: TopicPartition, topic_id: bytes, configs: Mapping[str, str]) -> Partition:
        """Host a partition, with its existing log or a new one; it has no role yet."""
        manager = self._manager
        log = self._storage.get_or_create(topic_partition, topic_id, configs, manager.now_ms())
        partition = manager.config.part_types.of(Partition)(topic_partition, topic_id, log, manager)
        manager.partitions[topic_partition] = partition
        return partition

    def take_role(self, partition: Partition, registration: PartitionRegistration, *, fetch_from: int) -> None:
        """Lead or follow; `fetch_from` is NO_LEADER while the leader is not known to be alive."""
        if registration.leader == self._manager.broker_id:
            partition.make_leader(registration)
            self.stop_fetching(partition.topic_partition)
            for listener in self.leadership_listeners:
                listener.elected(partition.topic_partition, registration.leader_epoch)
            return
        if not partition.make_follower(registration):
            return
        self._resigned(partition.topic_partition)
        self.stop_fetching(partition.topic_partition)
        if fetch_from != NO_LEADER:
            self._fetcher(fetch_from).add(partition)

    def take_offline(self, topic_partition: TopicPartition) -> None:
        """Stop hosting a partition whose log directory has failed. Mirrors markPartitionOffline."""
        self.stop_fetching(topic_partition)
        partition = self._manager.partitions.pop(topic_partition)
        self._manager.offline[topic_partition] = None
        partition.leader_id = NO_LEADER
        partition.role_changed(ErrorCode.KAFKA_STORAGE_ERROR)
        self._resigned(topic_partition)

    def drop(self, topic_partition: TopicPartition, error: ErrorCode) -> None:
        """Stop hosting the partition and delete its log; operations that wait for it end with `error`."""
        self._manager.offline.pop(topic_partition, None)
        self.stop_fetching(topic_partition)
        partition = self._manager.partitions.pop(topic_partition, None)
        if partition is not None:
            partition.leader_id = NO_LEADER
            partition.role_changed(error)
            self._resigned(topic_partition)
        self._storage.delete(topic_partition)

    def _resigned(self, topic_partition: TopicPartition) -> None:
        for listener in self.leadership_listeners:
            listener.resigned(topic_partition)

    # Following.

    @property
    def sessions(self) -> list[ReplicaFetchSession]:
        """The sessions of the brokers that replicate from here."""
        return list(self._sessions.values())

    def _fetcher(self, leader_id: int) -> ReplicaFetcher:
        fetcher = self.fetchers.get(leader_id)
        if fetcher is None:
            fetcher_type = self._manager.config.part_types.of(ReplicaFetcher)
            fetcher = self.fetchers[leader_id] = fetcher_type(host=self._manager, leader_id=leader_id)
        return fetcher

    def stop_fetching(self, topic_partition: TopicPartition) -> None:
        """Remove the partition from its fetcher."""
        for fetcher in self.fetchers.values():
            fetcher.remove(topic_partition)

    # Leading.

    def replica_fetch(self, request: FetchRequest, follower_id: int) -> FetchResponse | LateResponse:
        """Serve a follower's Fetch. Session epoch 0 begins a new session (KIP-227), and ends the one before."""
        session = self._sessions.get(follower_id)
        if request.session_epoch == 0:
            parked = None if session is None else session.close()
            self._sessions_made += 1
            session = ReplicaFetchSession(host=self._manager, follower_id=follower_id, session_id=self._sessions_made)
            self._sessions[follower_id] = session
            response = session.fetch(request)
            if parked is not None:
                # A Fetch that was delayed on its way begins a session for which its follower does not wait: in Kafka it
                # would get its response at the end of its wait, from the cache that has both sessions.
                ended = FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
                self._manager.reactor.callLater(request.max_wait_ms / 1000, parked.respond, ended)
            return response
        if session is None or session.session_id != request.session_id:
            return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        return session.fetch(request)

    def session_partitions(self, follower_id: int) -> Iterable[tuple[str, int]]:
        """Return the partitions that a follower fetches in its session, of which a Fetch names the changed ones."""
        session = self._sessions.get(follower_id)
        return () if session is None else session.partitions

    def follower_gone(self, follower_id: int) -> None:
        """Close the follower's session: its connection was reset."""
        session = self._sessions.pop(follower_id, None)
        if session is not None:
            session.close()

    def _shrink_isrs(self) -> None:
        for partition in list(self._manager.partitions.values()):
            partition.maybe_shrink_isr()
