"""A follower's side of replication: one fetcher per leader. Mirrors ReplicaFetcherThread.

One Fetch is outstanding; it names only the partitions whose fetch state has changed (KIP-227). It carries the epoch
of the last record that the follower has (KIP-595): a leader whose log disagrees responds with the end of that epoch in
its own log, and the follower truncates and fetches again. A partition that is new to the fetcher does not wait for a
parked Fetch: the next request overtakes it, and the leader responds to the parked one at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from broker_sim.links.node_links import LinkFailure
from broker_sim.log.append_results import UNKNOWN_OFFSET
from broker_sim.log.stored_batch import DamagedBatch
from broker_sim.replication.follower_truncation import offset_truncation_state, truncation_offset
from broker_sim.replication.follower_versions import LEADER_EPOCHS_LOWEST, TRUNCATION_ON_FETCH_LOWEST
from broker_sim.replication.replica_fetch_session import StoredRecords
from broker_sim.replication.requests import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, NO_EPOCH
from protocol_specs.error_codes import ErrorCode
from protocol_specs.message import factory
from protocol_specs.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol_specs.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.links.node_links import NodeLinks
    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.quotas.replication_quotas import ReplicationQuotas
    from broker_sim.replication.follower_versions import FollowerVersions
    from broker_sim.replication.partition import Partition
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.messages.fetch import FetchResponse, PartitionData
    from protocol_specs.messages.list_offsets import ListOffsetsResponse
    from protocol_specs.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse
    from sim_runtime.interfaces import IReactor

NO_REPLICA: Final = -1
REPLICA_STATE_LOWEST: Final = 15
_REQUESTS_MAX: Final = 2
"""The parked Fetch, and the one that overtakes it."""
_NOT_DIVERGING: Final = EpochEndOffset.shared_default()
_BY_ID: Final = ReplicaState.shared_default()
"""The replica state of a version that has the replica id alone."""
_new_request: Final = factory(
    FetchRequest,
    "replica_id",
    "replica_state",
    "max_wait_ms",
    "min_bytes",
    "max_bytes",
    "session_id",
    "session_epoch",
    "topics",
    "forgotten_topics_data",
)
_new_topic: Final = factory(FetchTopic, "topic", "topic_id", "partitions")
_new_partition: Final = factory(
    FetchPartition,
    "partition",
    "current_leader_epoch",
    "fetch_offset",
    "last_fetched_epoch",
    "log_start_offset",
    "partition_max_bytes",
)


class FetcherHost(Protocol):
    """The parts of the follower's broker that a fetcher uses."""

    broker_id: int
    broker_epoch: int
    config: BrokerConfig
    follower_versions: FollowerVersions
    links: NodeLinks
    reactor: IReactor
    replication_quotas: ReplicationQuotas


class _FetchState:
    """One partition that is being fetched in one leader epoch."""

    __slots__ = (
        "delay",
        "ignored_up_to",
        "leader_epoch",
        "leader_high_watermark",
        "partition",
        "requested_number",
        "requested_offset",
        "requested_offset_before",
        "resetting",
        "sent_log_start_offset",
        "session_topic_id",
        "truncated",
    )

    def __init__(self, partition: Partition, ignored_up_to: int) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.ignored_up_to = ignored_up_to
        self.delay: IDelayedCall | None = None
        self.resetting = False
        self.session_topic_id: bytes | None = None
        """The topic id under which the fetch session has the partition; None while it does not have it."""
        self.truncated = True
        self.sent_log_start_offset = UNKNOWN_OFFSET
        self.leader_high_watermark: int | None = None
        self.requested_number = 0
        self.requested_offset = self.requested_offset_before = UNKNOWN_OFFSET

    @property
    def is_in_sync(self) -> bool:
        """True if the log reaches the leader's high watermark. Mirrors PartitionFetchState.isReplicaInSync."""
        high_watermark = self.leader_high_watermark
        return high_watermark is not None and high_watermark <= self.partition.log.log_end_offset

    def may_skip_a_gap(self, number: int, base_offset: int) -> bool:
        """Return True if response `number` may begin beyond the log's end: where the leader's compaction made a gap.

        Then the request was for the log's end. The response to a Fetch that was overtaken may also repeat bytes, or
        leave some out: those are not appended.
        """
        end = self.partition.log.log_end_offset
        requested = self.requested_offset if number >= self.requested_number else self.requested_offset_before
        return base_offset > end == requested


class ReplicaFetcher:
    """Fetches from one leader all partitions that follow it."""

    def __init__(self, *, host: FetcherHost, leader_id: int) -> None:
        self._host = host
        self.leader_id = leader_id
        self._states: dict[tuple[str, int], _FetchState] = {}
        self._changed: dict[_FetchState, None] = {}
        self._forgotten: dict[TopicPartition, bytes] = {}
        self._throttled: dict[_FetchState, None] = {}
        self._throttle_timer: IDelayedCall | None = None
        self._replica_state = _BY_ID
        self._session_id = 0
        self._session_epoch = 0
        self._requests_sent = 0
        self._outstanding = 0
        self._first_valid_number = 0
        """Responses to earlier requests belong to a session that is gone."""
        self._timer: IDelayedCall | None = None
        self._stopped = False

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions that are fetched here."""
        return [state.partition.topic_partition for state in self._states.values()]

    def add(self, partition: Partition) -> None:
        """Fetch the partition from its log's end, in its current leader epoch."""
        topic_partition = partition.topic_partition
        self.remove(topic_partition)
        state = self._states[topic_partition] = _FetchState(partition, self._requests_sent)
        # Messages of magic 0 and 1 have no leader epoch that a Fetch could name.
        has_epoch = partition.log.epochs.latest_epoch is not None
        state.truncated = has_epoch and self._host.follower_versions.truncates_on_fetch
        if not state.truncated:
            self._truncate_first(topic_partition, state)
        else:
            self._changed[state] = None
            self._schedule(0)

    def remove(self, topic_partition: TopicPartition) -> None:
        """Stop fetching the partition; responses in flight are ignored for it."""
        state = self._states.pop(topic_partition, None)
        if state is None:
            return
        if state.delay is not None and state.delay.active():
            state.delay.cancel()
        self._changed.pop(state, None)
        self._throttled.pop(state, None)
        if state.session_topic_id is not None:
            self._forgotten[topic_partition] = state.session_topic_id
            self._schedule(0)

    def stop(self) -> None:
        """Stop fetching, and cancel the timers."""
        self._stopped = True
        for topic_partition in self.partitions:
            self.remove(topic_partition)
        for timer in (self._timer, self._throttle_timer):
            if timer is not None and timer.active():
                timer.cancel()

    # Requests.

    def _schedule(self, delay_ms: float) -> None:
        if not self._stopped and self._timer is None:
            self._timer = self._host.reactor.callLater(delay_ms / 1000, self._timer_due)

    def _timer_due(self) -> None:
        self._timer = None
        self._send()

    def _send(self) -> None:
        if self._stopped or self._timer is not None:
            return
        host = self._host
        if self._throttled or host.replication_quotas.follower.active:
            self._exclude_throttled()
        if self._changed or self._forgotten:
            if self._outstanding >= _REQUESTS_MAX:
                return
        elif self._outstanding or len(self._throttled) == len(self._states):
            return
        config = host.config
        broker_id = host.broker_id
        version = host.follower_versions.fetch
        self._requests_sent = number = self._requests_sent + 1
        replica_id, replica_state = broker_id, _BY_ID
        if version >= REPLICA_STATE_LOWEST:
            replica_id, replica_state = NO_REPLICA, self._replica_state
            if replica_state.replica_epoch != host.broker_epoch or replica_state is _BY_ID:
                replica_state = ReplicaState(replica_id=broker_id, replica_epoch=host.broker_epoch)
                self._replica_state = replica_state
        request = _new_request(
            replica_id,
            replica_state,
            config.replica_fetch_wait_max_ms,
            config.replica_fetch_min_bytes,
            config.replica_fetch_response_max_bytes,
            self._session_id,
            self._session_epoch,
            self._fetch_topics(config.replica_fetch_max_bytes, version, number),
            self._forgotten_topics() if self._forgotten else [],
        )
        self._session_epoch += 1
        self._outstanding += 1
        host.links.call(broker_id, self.leader_id, request, self._responded, self._failed, version, number)

    def _exclude_throttled(self) -> None:
        """Leave out throttled partitions that are not in sync while the quota is exceeded.

        Mirrors RemoteLeaderEndPoint.buildFetch.
        """
        quota = self._host.replication_quotas.follower
        exceeded = quota.active and quota.is_exceeded
        self._changed = {**self._throttled, **self._changed}
        self._throttled = {}
        for state in list(self._changed):
            topic_partition = state.partition.topic_partition
            if exceeded and not state.is_in_sync and quota.is_throttled(topic_partition):
                del self._changed[state]
                self._throttled[state] = None
                if state.session_topic_id is not None:
                    self._forgotten[topic_partition] = state.session_topic_id
                    state.session_topic_id = None
        if self._throttled and self._throttle_timer is None:
            # Kafka checks the quota with each Fetch, or after its back-off when it has no partition to fetch.
            config = self._host.config
            wait_ms = (
                config.replica_fetch_wait_max_ms if self._has_session_partitions else config.replica_fetch_backoff_ms
            )
            self._throttle_timer = self._host.reactor.callLater(wait_ms / 1000, self._retry_throttled)

    def _retry_throttled(self) -> None:
        self._throttle_timer = None
        self._send()

    @property
    def _has_session_partitions(self) -> bool:
        return any(state.session_topic_id is not None for state in self._states.values())

    def _fetch_topics(self, max_bytes: int, version: int, number: int) -> list[FetchTopic]:
        topics: dict[str, FetchTopic] = {}
        for state in self._changed:
            partition = state.partition
            name, index = partition.topic_partition
            log = partition.log
            state.requested_offset_before, state.requested_offset = state.requested_offset, log.log_end_offset
            state.requested_number = number
            state.sent_log_start_offset = log.log_start_offset
            state.session_topic_id = partition.topic_id
            epoch = log.epochs.latest_epoch if version >= TRUNCATION_ON_FETCH_LOWEST else None
            fetch = _new_partition(
                index,
                partition.leader_epoch if version >= LEADER_EPOCHS_LOWEST else NO_EPOCH,
                log.log_end_offset,
                NO_EPOCH if epoch is None else epoch,
                log.log_start_offset,
                max_bytes,
            )
            topic = topics.get(name)
            if topic is None:
                topics[name] = _new_topic(name, partition.topic_id, [fetch])
            else:
                topic.partitions.append(fetch)
        self._changed = {}
        return list(topics.values())

    def _named_epoch(self, state: _FetchState) -> int:
        return state.partition.leader_epoch if self._host.follower_versions.names_leader_epochs else NO_EPOCH

    def _forgotten_topics(self) -> list[ForgottenTopic]:
        topics: dict[str, ForgottenTopic] = {}
        for (name, index), topic_id in self._forgotten.items():
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = ForgottenTopic(topic=name, topic_id=topic_id, partitions=[])
            topic.partitions.append(index)
        self._forgotten = {}
        return list(topics.values())

    def _start_over(self) -> None:
        """Begin a new session: the next Fetch names every partition."""
        self._first_valid_number = self._requests_sent + 1
        self._outstanding = 0
        self._session_id = 0
        self._session_epoch = 0
        self._forgotten = {}
        self._throttled = {}
        for state in self._states.values():
            state.session_topic_id = None
        self._changed = dict.fromkeys(
            state for state in self._states.values() if state.delay is None and not state.resetting
        )

    # Responses.

    def _failed(self, _failure: Exception, number: int) -> None:
        if number >= self._first_valid_number and not self._stopped:
            self._start_over()
            if self._timer is not None and self._timer.active():
                self._timer.cancel()
                self._timer = None
            self._schedule(self._host.config.replica_fetch_backoff_ms)

    def _responded(self, response: FetchResponse, number: int) -> None:
        if number < self._first_valid_number or self._stopped:
            return
        self._outstanding -= 1
        if response.error_code:
            self._start_over()
            self._send()
            return
        self._session_id = response.session_id
        states = self._states
        for topic in response.responses:
            name = topic.topic
            for data in topic.partitions:
                state = states.get((name, data.partition_index))
                if state is not None:
                    if data.error_code:
                        state.session_topic_id = None
                    if number > state.ignored_up_to:
                        self._take(state, data, number)
        self._send()

    def _take(self, state: _FetchState, data: PartitionData, number: int) -> None:
        partition = state.partition
        if data.error_code:
            self._partition_error(partition.topic_partition, state, ErrorCode(data.error_code))
            return
        log = partition.log
        diverging = data.diverging_epoch
        if diverging is not _NOT_DIVERGING and (diverging.epoch >= 0 or diverging.end_offset >= 0):
            offset = truncation_offset(log, diverging.epoch, diverging.end_offset)
            partition.truncate_to(offset, f"epoch {diverging.epoch} ends at {diverging.end_offset}")
            self._go_on(state)
            return
        batches = _batches(data)
        if batches:
            if any(type(batch) is DamagedBatch for batch in batches):
                self._refuse_damaged(partition.topic_partition, state)
                return
            self._changed[state] = None
            base_offset = batches[0].base_offset
            if (
                base_offset != log.log_end_offset
                and not state.may_skip_a_gap(number, base_offset)
                and not partition.start_within(batches[0])
            ):
                return  # the next Fetch requests it again
            quota = self._host.replication_quotas.follower
            if quota.active and quota.is_throttled(partition.topic_partition):
                quota.record(sum(batch.size for batch in batches))
        partition.append_as_follower(batches, data.high_watermark, data.log_start_offset)
        if batches and log.offline:
            self.remove(partition.topic_partition)
            return
        state.leader_high_watermark = data.high_watermark
        if log.log_start_offset != state.sent_log_start_offset:
            self._changed[state] = None

    def _go_on(self, state: _FetchState) -> None:
        """Fetch from the new end of the log with the next request; a log in a failed directory is fetched no more.

        Mirrors markPartitionFailed on a KafkaStorageException: its end does not move, so the same response follows.
        """
        if state.partition.log.offline:
            self.remove(state.partition.topic_partition)
        else:
            self._changed[state] = None

    def _refuse_damaged(self, topic_partition: TopicPartition, state: _FetchState) -> None:
        """Let the partition wait and fetch again. Mirrors AbstractFetcherThread on a CorruptRecordException."""
        if state.session_topic_id is not None:
            self._forgotten[topic_partition] = state.session_topic_id
            state.session_topic_id = None
        if state.delay is None:
            self._delay(topic_partition, state)

    def _partition_error(self, topic_partition: TopicPartition, state: _FetchState, error: ErrorCode) -> None:
        if error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._reset_offset(topic_partition, state)
        elif error is ErrorCode.FENCED_LEADER_EPOCH and state.leader_epoch == state.partition.leader_epoch:
            # The next metadata names the leader; until then no Fetch can succeed.
            del self._states[topic_partition]
            self._changed.pop(state, None)
            self._throttled.pop(state, None)
        else:
            self._delay(topic_partition, state)

    def _delay(self, topic_partition: TopicPartition, state: _FetchState) -> None:
        def again() -> None:
            state.delay = None
            if self._states.get(topic_partition) is not state:
                return
            if not state.truncated:
                self._truncate_first(topic_partition, state)
                return
            self._changed[state] = None
            self._send()

        state.delay = self._host.reactor.callLater(self._host.config.replica_fetch_backoff_ms / 1000, again)

    # An offset that the leader does not have.

    def _reset_offset(self, topic_partition: TopicPartition, state: _FetchState) -> None:
        """Truncate to the leader's log end, or restart at its log start. Mirrors fetchOffsetAndTruncate."""
        state.resetting = True
        self._list_offset(topic_partition, state, LATEST_TIMESTAMP)

    def _list_offset(self, topic_partition: TopicPartition, state: _FetchState, timestamp: int) -> None:
        partition = ListOffsetsPartition(
            partition_index=topic_partition.partition,
            current_leader_epoch=self._named_epoch(state),
            timestamp=timestamp,
            max_num_offsets=1,
        )
        request = ListOffsetsRequest(
            replica_id=self._host.broker_id,
            topics=[ListOffsetsTopic(name=topic_partition.topic, partitions=[partition])],
        )
        host = self._host
        responded: Deferred[ListOffsetsResponse] = host.links.send(
            host.broker_id, self.leader_id, request, version=host.follower_versions.list_offsets
        )
        responded.addCallbacks(
            self._offset_listed,
            self._lookup_failed,
            callbackArgs=(topic_partition, state, timestamp),
            errbackArgs=(topic_partition, state),
        )

    def _lookup_failed(self, failure: Failure, topic_partition: TopicPartition, state: _FetchState) -> None:
        failure.trap(LinkFailure)
        state.resetting = False
        if self._states.get(topic_partition) is state:
            self._delay(topic_partition, state)

    def _offset_listed(
        self, response: ListOffsetsResponse, topic_partition: TopicPartition, state: _FetchState, timestamp: int
    ) -> None:
        if self._states.get(topic_partition) is not state or self._stopped:
            return
        listed = response.topics[0].partitions[0]
        log = state.partition.log
        if listed.error_code:
            state.resetting = False
            self._delay(topic_partition, state)
            return
        # v0 has a list of offsets.
        offset = listed.old_style_offsets[0] if listed.old_style_offsets else listed.offset
        if timestamp == LATEST_TIMESTAMP and offset >= log.log_end_offset:
            self._list_offset(topic_partition, state, EARLIEST_TIMESTAMP)
            return
        state.resetting = False
        if timestamp == LATEST_TIMESTAMP:
            state.partition.truncate_to(offset, f"the leader's log ends at {offset}")
        elif offset > log.log_end_offset:
            state.partition.truncate_fully_and_start_at(offset, f"the leader's log starts at {offset}")
        self._go_on(state)
        self._send()

    # Truncation before Fetch v12, whose response has no diverging epoch.

    def _truncate_first(self, topic_partition: TopicPartition, state: _FetchState) -> None:
        """Request the end of this log's newest epoch from the leader. Mirrors AbstractFetcherThread.maybeTruncate."""
        host, partition = self._host, state.partition
        version = host.follower_versions.offset_for_leader_epoch
        epoch = partition.log.epochs.latest_epoch
        if version is None or epoch is None:
            high_watermark = partition.log.high_watermark
            partition.truncate_to(high_watermark, f"the high watermark is {high_watermark}")
            self._truncated(state)
            return
        state.resetting = True
        requested = OffsetForLeaderPartition(
            partition=topic_partition.partition,
            current_leader_epoch=self._named_epoch(state),
            leader_epoch=epoch,
        )
        request = OffsetForLeaderEpochRequest(
            replica_id=host.broker_id,
            topics=[OffsetForLeaderTopic(topic=topic_partition.topic, partitions=[requested])],
        )
        responded: Deferred[OffsetForLeaderEpochResponse] = host.links.send(
            host.broker_id, self.leader_id, request, version=version
        )
        responded.addCallbacks(
            self._epoch_end_received,
            self._lookup_failed,
            callbackArgs=(topic_partition, state),
            errbackArgs=(topic_partition, state),
        )

    def _epoch_end_received(
        self, response: OffsetForLeaderEpochResponse, topic_partition: TopicPartition, state: _FetchState
    ) -> None:
        if self._states.get(topic_partition) is not state or self._stopped:
            return
        end = response.topics[0].partitions[0]
        state.resetting = False
        if end.error_code:
            self._partition_error(topic_partition, state, ErrorCode(end.error_code))
            return
        found = offset_truncation_state(state.partition.log, end.leader_epoch, end.end_offset)
        state.partition.truncate_to(found.offset, f"epoch {end.leader_epoch} ends at {end.end_offset}")
        if found.completed or state.partition.log.offline:
            self._truncated(state)
        else:
            self._truncate_first(topic_partition, state)

    def _truncated(self, state: _FetchState) -> None:
        state.truncated = True
        self._go_on(state)
        self._schedule(0)


def _batches(data: PartitionData) -> list[StoredBatch]:
    records = data.records
    if isinstance(records, StoredRecords):
        return records.batches
    assert not records, "records between brokers travel by reference"
    return []
