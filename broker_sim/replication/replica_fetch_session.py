"""A leader's side of one follower's fetching: an incremental fetch session (KIP-227) that parks one Fetch.

Mirrors FetchSession, ReplicaManager.fetchMessages and DelayedFetch for followers. The session records which
partitions have news (`_news`); an idle partition costs nothing, neither per request nor per time. Bytes, errors and
diverging epochs complete the Fetch at once, that is in the broker's next flush, so that one response carries all
appends of one loop iteration. A moved high watermark alone waits, as in Kafka, for the end of
replica.fetch.wait.max.ms: the parked Fetch stands for the empty ones that Kafka would exchange meanwhile. While the
follower is outside of an ISR the fetch wait timer runs too, because only a fetch lets the follower back in.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol

from twisted.internet.defer import Deferred

from broker_sim.log.append_results import UNKNOWN_OFFSET
from broker_sim.quotas.replication_quotas import throttled_size
from broker_sim.replication.fetch_results import partition_data, refused_partition
from broker_sim.replication.requests import FetchIsolation, FetchParams, PartitionFetch, PartitionFetchResult
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import FetchableTopicResponse, FetchResponse
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.log.replica_log import ReplicaLog, StoredBatch
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.quotas.replication_quotas import ReplicationQuotas
    from broker_sim.replication.follower_versions import FollowerVersions
    from broker_sim.replication.partition import Partition
    from protocol_specs.messages.fetch import FetchPartition, FetchRequest, PartitionData
    from sim_runtime.interfaces import IReactor

TOPIC_IDS_LOWEST: Final = 13
_batch_data = attrgetter("data")
_WAIT_SLACK: Final = 1e-6
"""Microseconds that floats lose in half a second; a timer that is early by less counts as due."""


class StoredRecords(list[bytes]):
    """A fetched partition's records as the log's own batches: bytes for the wire, the objects by reference."""

    __slots__ = ("batches",)

    batches: list[StoredBatch]

    @classmethod
    def of(cls, batches: list[StoredBatch]) -> StoredRecords:
        """Return the records of batches."""
        records = cls(map(_batch_data, batches))
        records.batches = batches
        return records


class SessionHost(Protocol):
    """The parts of the leader's broker that a session uses."""

    follower_versions: FollowerVersions
    reactor: IReactor
    replication_quotas: ReplicationQuotas

    @property
    def image(self) -> MetadataImage:
        """The metadata that the broker has applied."""

    def read_hosted(
        self, params: FetchParams, fetch: PartitionFetch, partition: Partition, max_bytes: int, *, at_least_one: bool
    ) -> PartitionFetchResult:
        """Read one hosted partition for a Fetch."""

    def leader_throttles(self, partition: Partition, replica_id: int) -> bool:
        """Return True if the quota lets a follower read nothing of a partition now."""

    def current_leader(self, topic_partition: TopicPartition) -> tuple[int, int]:
        """Return the leader id and the leader epoch of this broker's metadata."""

    def get_partition(self, topic_partition: TopicPartition, topic_id: bytes | None) -> Partition | ErrorCode:
        """Return the hosted partition, or the error for a missing one."""

    def wake_session(self, session: ReplicaFetchSession) -> None:
        """Call `session.complete` soon."""


class _SessionPartition(PartitionFetch):
    __slots__ = ("sent_high_watermark", "sent_log_start_offset")

    def __init__(self, topic_partition: TopicPartition, topic_id: bytes) -> None:
        super().__init__(topic_partition=topic_partition, fetch_offset=UNKNOWN_OFFSET, max_bytes=0, topic_id=topic_id)
        self.sent_high_watermark = UNKNOWN_OFFSET
        self.sent_log_start_offset = UNKNOWN_OFFSET

    def update(self, fetch: FetchPartition) -> None:
        self.fetch_offset = fetch.fetch_offset
        self.last_fetched_epoch = fetch.last_fetched_epoch
        self.current_leader_epoch = fetch.current_leader_epoch
        self.log_start_offset = fetch.log_start_offset
        self.max_bytes = fetch.partition_max_bytes

    def has_sent(self, log: ReplicaLog) -> bool:
        """Return True if the follower has received the leader's high watermark and log start."""
        return self.sent_high_watermark == log.high_watermark and self.sent_log_start_offset == log.log_start_offset


class ReplicaFetchSession:
    """The partitions that one follower replicates from this broker."""

    def __init__(self, *, host: SessionHost, follower_id: int, session_id: int) -> None:
        self._host = host
        self.follower_id = follower_id
        self.session_id = session_id
        self._next_epoch = 0
        self._partitions: dict[tuple[str, int], _SessionPartition] = {}
        self._news: dict[TopicPartition, None] = {}
        self._urgent = False
        self._sent: dict[TopicPartition, None] = {}
        self._joining: dict[TopicPartition, None] = {}
        self._parked: Deferred[FetchResponse] | None = None
        self._parked_at_s = 0.0
        self._broker_epoch = -1
        self._params: FetchParams | None = None
        self._request: FetchRequest | None = None
        self._wait_timer: IDelayedCall | None = None

    @property
    def parked(self) -> bool:
        """True if a Fetch waits here: the follower is alive and has received the previous response."""
        return self._parked is not None

    @property
    def partition_count(self) -> int:
        """The number of partitions in the session."""
        return len(self._partitions)

    def fetch(self, request: FetchRequest) -> FetchResponse | Deferred[FetchResponse]:
        """Process the follower's next Fetch. One that is still parked completes, because the next one overtakes it."""
        if request.session_epoch != self._next_epoch or (
            request.session_epoch and request.session_id != self.session_id
        ):
            return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id=self.session_id)
        self._next_epoch += 1
        overtaken, self._parked = self._parked, None
        response = None if overtaken is None else self._response()
        touched, self._sent = self._sent, {}
        if self._joining:
            touched.update(self._joining)
            self._joining = {}
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                self._remove(TopicPartition(topic.topic, index))
        for fetch_topic in request.topics:
            name, topic_id = fetch_topic.topic, fetch_topic.topic_id
            for fetch in fetch_topic.partitions:
                # A plain tuple finds the same entry, at a fraction of the cost of a TopicPartition.
                known = self._partitions.get((name, fetch.partition))
                if known is None or known.topic_id != topic_id:
                    topic_partition = TopicPartition(name, fetch.partition)
                    known = self._partitions[topic_partition] = _SessionPartition(topic_partition, topic_id)
                known.update(fetch)
                touched[known.topic_partition] = None
        self._request = request
        parked: Deferred[FetchResponse] = Deferred()
        self._parked = parked
        self._parked_at_s = self._host.reactor.seconds()
        self._broker_epoch = request.replica_state.replica_epoch  # -1, any, before v15 (KIP-903)
        for topic_partition in touched:
            self._process_fetch(topic_partition)
        if self._urgent:
            self._host.wake_session(self)
        else:
            self._start_wait_timer()
        if overtaken is not None and response is not None:
            # Last of all: over a link without delay the follower's next Fetch comes out of this very call.
            overtaken.callback(response)
        return parked

    def _process_fetch(self, topic_partition: TopicPartition) -> None:
        """Record the follower's offset in one partition, and whether the partition has news for it."""
        requested = self._partitions.get(topic_partition)
        if requested is None:
            return
        partition = self._host.get_partition(topic_partition, requested.topic_id)
        if isinstance(partition, ErrorCode):
            self.respond_soon(topic_partition)
            return
        partition.sessions[self.follower_id] = self
        follower = partition.followers.get(self.follower_id)
        if follower is None or not partition.continues(requested):
            self.respond_soon(topic_partition)
            return
        partition.follower_fetched(follower, requested.fetch_offset, requested.log_start_offset, self._broker_epoch)
        if self.follower_id not in partition.isr_state.isr:
            self._joining[topic_partition] = None
        log = partition.log
        if requested.fetch_offset < log.log_end_offset:
            self._news[topic_partition] = None
            self._urgent = True
        elif not requested.has_sent(log):
            self._news[topic_partition] = None

    # News.

    def appended(self, topic_partition: TopicPartition) -> None:
        """Complete the Fetch soon: the leader's log has grown."""
        self._news[topic_partition] = None
        if not self._urgent:
            self._urgent = True
            if self._parked is not None:
                self._host.wake_session(self)

    def respond_soon(self, topic_partition: TopicPartition) -> None:
        """Complete the Fetch soon: the partition has an error, another leader or a diverging epoch for the follower."""
        self.appended(topic_partition)

    def high_watermark_moved(self, topic_partition: TopicPartition) -> None:
        """Include the high watermark in the next response: with the next bytes, or at the end of the Fetch's wait."""
        self._news[topic_partition] = None
        self._start_wait_timer()

    def log_start_moved(self, topic_partition: TopicPartition) -> None:
        """Include the log start in the next response, as with the high watermark."""
        self.high_watermark_moved(topic_partition)

    def left_isr(self, topic_partition: TopicPartition) -> None:
        """The controller has taken the follower out of the ISR; its next fetches may bring it back."""
        self._joining[topic_partition] = None
        self._start_wait_timer()

    def _start_wait_timer(self) -> None:
        if self._parked is None or self._wait_timer is not None or self._urgent or not (self._news or self._joining):
            return
        self._wait_timer = self._host.reactor.callLater(self._remaining_wait_s(), self._wait_ended)

    def _remaining_wait_s(self) -> float:
        """Return the seconds until the parked Fetch, or one that it stands for, has waited for `max_wait_ms`."""
        assert self._request is not None
        wait_s = self._request.max_wait_ms / 1000
        if wait_s <= 0:
            return 0.0
        waited_s = self._host.reactor.seconds() - self._parked_at_s
        return max(0.0, (math.floor(waited_s / wait_s + _WAIT_SLACK) + 1) * wait_s - waited_s)

    def _wait_ended(self) -> None:
        self._wait_timer = None
        if self._parked is None or not (self._news or self._joining):
            return
        # The timer is not moved when another Fetch is parked meanwhile: it then fires early, and is set anew.
        assert self._request is not None
        wait_s = self._request.max_wait_ms / 1000
        if self._host.reactor.seconds() - self._parked_at_s < wait_s * (1 - _WAIT_SLACK):
            self._start_wait_timer()
        else:
            self._respond()

    # Responses.

    def complete(self) -> None:
        """Respond to the parked Fetch with all news, unless the quota throttles every partition with news."""
        if self._host.replication_quotas.leader.active and self._has_throttled_news_alone():
            self._urgent = False
            self._start_wait_timer()
        else:
            self._respond()

    def _has_throttled_news_alone(self) -> bool:
        """Return True if every partition with news is throttled. Mirrors DelayedFetch.tryComplete."""
        for topic_partition in self._news:
            requested = self._partitions.get(topic_partition)
            partition = None if requested is None else self._host.get_partition(topic_partition, requested.topic_id)
            if requested is None or partition is None or isinstance(partition, ErrorCode):
                return False
            if (
                self.follower_id not in partition.followers
                or not partition.continues(requested)
                or not self._host.leader_throttles(partition, self.follower_id)
            ):
                return False
        return bool(self._news)

    def _respond(self) -> None:
        parked, self._parked = self._parked, None
        if parked is not None:
            parked.callback(self._response())

    def _response(self) -> FetchResponse:
        request = self._request
        assert request is not None
        self._urgent = False
        news, self._news = self._news, {}
        params = self._params
        if params is None or params.max_bytes != request.max_bytes:
            params = self._params = self._params_of(request)
        topics: dict[str, FetchableTopicResponse] = {}
        left = request.max_bytes
        for topic_partition in news:
            requested = self._partitions.get(topic_partition)
            if requested is None:
                continue
            data, size = self._read(params, requested, left)
            if size < 0:
                # Too much for this response, but there is more at once.
                self._news[topic_partition] = None
                self._urgent = True
            if data is None:
                if size == 0:
                    # The Fetch arrived before this broker led, and its offset is known only now: the next Fetch counts.
                    self._joining[topic_partition] = None
                continue
            left -= size
            self._sent[topic_partition] = None
            name = topic_partition.topic
            topic = topics.get(name)
            if topic is None:
                topics[name] = FetchableTopicResponse(
                    topic=name, topic_id=requested.topic_id or ZERO_UUID, partitions=[data]
                )
            else:
                topic.partitions.append(data)
        responses = list(topics.values())
        quota = self._host.replication_quotas.leader
        if quota.active:
            quota.record(throttled_size(self._host.follower_versions.fetch, _named(responses), quota))
        return FetchResponse(session_id=self.session_id, responses=responses)

    def _params_of(self, request: FetchRequest) -> FetchParams:
        return FetchParams(
            replica_id=self.follower_id,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=request.max_bytes,
            isolation=FetchIsolation.LOG_END,
        )

    def _read(self, params: FetchParams, requested: _SessionPartition, left: int) -> tuple[PartitionData | None, int]:
        """Return the response data of one partition and its bytes; -1 bytes when they exceed the response's limit."""
        host, topic_partition = self._host, requested.topic_partition
        version = host.follower_versions.fetch
        image = host.image
        by_id = version >= TOPIC_IDS_LOWEST
        topic = (
            image.topics_by_id.get(requested.topic_id or ZERO_UUID)
            if by_id
            else image.topics.get(topic_partition.topic)
        )
        if topic is None or topic_partition.partition >= len(topic.partitions):
            self._remove(topic_partition)
            unknown = ErrorCode.UNKNOWN_TOPIC_ID if topic is None and by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return refused_partition(topic_partition.partition, unknown), 0
        partition = host.get_partition(topic_partition, requested.topic_id)
        if isinstance(partition, ErrorCode):
            result = PartitionFetchResult(topic_partition, partition)
        else:
            limit = requested.max_bytes if requested.max_bytes < left else left  # noqa: FURB136 - a call costs more
            result = host.read_hosted(params, requested, partition, limit, at_least_one=left == params.max_bytes)
        if result.error_code or isinstance(partition, ErrorCode):
            # The follower drops a partition with an error from the session, and so does the leader.
            self._remove(topic_partition)
            return partition_data(result, version, host.current_leader), 0
        log = partition.log
        if result.throttled:
            self._news[topic_partition] = None
        batches = result.batches
        if not batches and result.diverging_epoch is None:
            if requested.fetch_offset < log.log_end_offset and not result.throttled:
                return None, -1
            if requested.has_sent(log):
                return None, 0
        requested.sent_high_watermark = log.high_watermark
        requested.sent_log_start_offset = log.log_start_offset
        data = partition_data(result, version, host.current_leader, StoredRecords.of(batches))
        return data, batches[0].size if len(batches) == 1 else result.size_in_bytes

    def _remove(self, topic_partition: TopicPartition) -> None:
        removed = self._partitions.pop(topic_partition, None)
        self._joining.pop(topic_partition, None)
        if removed is None:
            return
        partition = self._host.get_partition(topic_partition, removed.topic_id)
        if not isinstance(partition, ErrorCode) and partition.sessions.get(self.follower_id) is self:
            del partition.sessions[self.follower_id]

    def close(self) -> None:
        """End the session: the follower is gone or has begun a new session."""
        self._parked = None
        if self._wait_timer is not None:
            self._wait_timer.cancel()
            self._wait_timer = None
        for topic_partition in [known.topic_partition for known in self._partitions.values()]:
            self._remove(topic_partition)


def _named(topics: list[FetchableTopicResponse]) -> Iterator[tuple[TopicPartition, bytes, PartitionData]]:
    for topic in topics:
        for data in topic.partitions:
            yield TopicPartition(topic.topic, data.partition_index), topic.topic_id, data
