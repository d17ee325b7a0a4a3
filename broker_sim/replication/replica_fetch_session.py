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
from typing import TYPE_CHECKING, Final, Protocol

from broker_sim.links.late_response import LateResponse
from broker_sim.log.append_results import UNKNOWN_OFFSET
from broker_sim.log.log_directories import LogDirectoryOffline
from broker_sim.quotas.replication_quotas import throttled_size
from broker_sim.replication.fetch_results import partition_data, refused_partition
from broker_sim.replication.requests import FetchIsolation, FetchParams, PartitionFetch, PartitionFetchResult
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.message import factory
from protocol_specs.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.log.replica_log import ReplicaLog, StoredBatch
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.quotas.replication_quotas import ReplicationQuotas
    from broker_sim.replication.follower_versions import FollowerVersions
    from broker_sim.replication.partition import Partition
    from protocol_specs.messages.fetch import FetchRequest
    from sim_runtime.interfaces import IReactor

TOPIC_IDS_LOWEST: Final = 13
_NONE: Final = ErrorCode.NONE
_new_response: Final = factory(FetchResponse, "session_id", "responses")
_new_topic: Final = factory(FetchableTopicResponse, "topic", "topic_id", "partitions")
_new_data: Final = factory(
    PartitionData,
    "partition_index",
    "error_code",
    "high_watermark",
    "last_stable_offset",
    "log_start_offset",
    "aborted_transactions",
    "records",
)
_WAIT_SLACK: Final = 1e-6
"""Microseconds that floats lose in half a second; a timer that is early by less counts as due."""


class StoredRecords(list[bytes]):
    """A fetched partition's records as the log's own batches: bytes for the wire, the objects by reference."""

    __slots__ = ("batches",)

    batches: list[StoredBatch]

    def __init__(self, batches: list[StoredBatch]) -> None:
        super().__init__([batch.data for batch in batches])
        self.batches = batches


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


class SessionPartition(PartitionFetch):
    """One partition of a session, with the offsets of the follower's last Fetch and of the last response.

    `partition` is the hosted partition, None until it is found; it keeps its session partitions as well.
    """

    __slots__ = ("is_removed", "partition", "sent_high_watermark", "sent_log_start_offset", "session")

    def __init__(self, session: ReplicaFetchSession, topic_partition: TopicPartition, topic_id: bytes) -> None:
        super().__init__(topic_partition=topic_partition, fetch_offset=UNKNOWN_OFFSET, max_bytes=0, topic_id=topic_id)
        self.session = session
        self.is_removed = False
        self.reset(topic_id)

    def reset(self, topic_id: bytes) -> None:
        """Start over with a partition of another topic id."""
        self.topic_id = topic_id
        self.partition: Partition | None = None
        self.sent_high_watermark = UNKNOWN_OFFSET
        self.sent_log_start_offset = UNKNOWN_OFFSET

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
        self._partitions: dict[tuple[str, int], SessionPartition] = {}
        self._news: dict[SessionPartition, None] = {}
        self._urgent = False
        self._sent: dict[SessionPartition, None] = {}
        self._joining: dict[SessionPartition, None] = {}
        self._parked: LateResponse | None = None
        self._parked_at_s = 0.0
        self._broker_epoch = -1
        self._request: FetchRequest | None = None
        self._wait_timer: IDelayedCall | None = None

    @property
    def parked(self) -> bool:
        """True if a Fetch waits here: the follower is alive and has received the previous response."""
        return self._parked is not None

    @property
    def partitions(self) -> Iterable[tuple[str, int]]:
        """The partitions in the session."""
        return self._partitions

    @property
    def partition_count(self) -> int:
        """The number of partitions in the session."""
        return len(self._partitions)

    def fetch(self, request: FetchRequest) -> FetchResponse | LateResponse:
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
                known = self._partitions.get((topic.topic, index))
                if known is not None:
                    self._remove(known)
        for fetch_topic in request.topics:
            name, topic_id = fetch_topic.topic, fetch_topic.topic_id
            for fetch in fetch_topic.partitions:
                # A plain tuple finds the same entry, at a fraction of the cost of a TopicPartition.
                known = self._partitions.get((name, fetch.partition))
                if known is None:
                    topic_partition = TopicPartition(name, fetch.partition)
                    known = self._partitions[topic_partition] = SessionPartition(self, topic_partition, topic_id)
                elif known.topic_id != topic_id:
                    known.reset(topic_id)
                known.fetch_offset = fetch.fetch_offset
                known.last_fetched_epoch = fetch.last_fetched_epoch
                known.current_leader_epoch = fetch.current_leader_epoch
                known.log_start_offset = fetch.log_start_offset
                known.max_bytes = fetch.partition_max_bytes
                touched[known] = None
        self._request = request
        self._parked = parked = LateResponse()
        self._parked_at_s = self._host.reactor.seconds()
        self._broker_epoch = request.replica_state.replica_epoch  # -1, any, before v15 (KIP-903)
        for known in touched:
            self._process_fetch(known)
        if self._urgent:
            self._host.wake_session(self)
        elif self._wait_timer is None:
            self._start_wait_timer()
        if overtaken is not None and response is not None:
            # Last of all: over a link without delay the follower's next Fetch comes out of this very call.
            overtaken.respond(response)
        return parked

    def _process_fetch(self, known: SessionPartition) -> None:
        """Record the follower's offset in one partition, and whether the partition has news for it."""
        partition = known.partition
        # A partition that this broker still leads is still hosted.
        if partition is None or not partition.continues(known):
            if known.is_removed:
                return
            partition = self._find(known)
        follower = None if partition is None else partition.followers.get(self.follower_id)
        if partition is None or follower is None:
            self.respond_soon(known)
            return
        partition.follower_fetched(follower, known.fetch_offset, known.log_start_offset, self._broker_epoch)
        if self.follower_id not in partition.isr_state.isr:
            self._joining[known] = None
        log = partition.log
        if known.fetch_offset < log.log_end_offset:
            self._news[known] = None
            self._urgent = True
        elif known.sent_high_watermark != log.high_watermark or known.sent_log_start_offset != log.log_start_offset:
            self._news[known] = None

    def _find(self, known: SessionPartition) -> Partition | None:
        """Look the partition up, and register for its news; return it if the follower's fetch meets no error there."""
        partition = self._host.get_partition(known.topic_partition, known.topic_id)
        if isinstance(partition, ErrorCode):
            return None
        known.partition = partition
        partition.sessions[self.follower_id] = known
        return partition if partition.continues(known) else None

    # News.

    def appended(self, known: SessionPartition) -> None:
        """Complete the Fetch soon: the leader's log has grown."""
        self._news[known] = None
        if not self._urgent:
            self._urgent = True
            if self._parked is not None:
                self._host.wake_session(self)

    def respond_soon(self, known: SessionPartition) -> None:
        """Complete the Fetch soon: the partition has an error, another leader or a diverging epoch for the follower."""
        self.appended(known)

    def high_watermark_moved(self, known: SessionPartition) -> None:
        """Include the high watermark in the next response: with the next bytes, or at the end of the Fetch's wait."""
        self._news[known] = None
        if self._wait_timer is None:
            self._start_wait_timer()

    def log_start_moved(self, known: SessionPartition) -> None:
        """Include the log start in the next response, as with the high watermark."""
        self.high_watermark_moved(known)

    def left_isr(self, known: SessionPartition) -> None:
        """The controller has taken the follower out of the ISR; its next fetches may bring it back."""
        self._joining[known] = None
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
        for known in self._news:
            partition = self._host.get_partition(known.topic_partition, known.topic_id)
            if known.is_removed or isinstance(partition, ErrorCode):
                return False
            if (
                self.follower_id not in partition.followers
                or not partition.continues(known)
                or not self._host.leader_throttles(partition, self.follower_id)
            ):
                return False
        return bool(self._news)

    def _respond(self) -> None:
        parked, self._parked = self._parked, None
        if parked is not None:
            parked.respond(self._response())

    def _response(self) -> FetchResponse:
        request = self._request
        assert request is not None
        self._urgent = False
        news, self._news = self._news, {}
        topics: dict[str, FetchableTopicResponse] = {}
        left = request.max_bytes
        for known in news:
            if known.is_removed:
                continue
            data, size = self._read(known, left, at_least_one=left == request.max_bytes)
            if size < 0:
                # Too much for this response, but there is more at once.
                self._news[known] = None
                self._urgent = True
            if data is None:
                if size == 0:
                    # The Fetch arrived before this broker led, and its offset is known only now: the next Fetch counts.
                    self._joining[known] = None
                continue
            left -= size
            self._sent[known] = None
            name = known.topic_partition.topic
            topic = topics.get(name)
            if topic is None:
                topics[name] = _new_topic(name, known.topic_id or ZERO_UUID, [data])
            else:
                topic.partitions.append(data)
        responses = list(topics.values())
        quota = self._host.replication_quotas.leader
        if quota.active:
            quota.record(throttled_size(self._host.follower_versions.fetch, _named(responses), quota))
        return _new_response(self.session_id, responses)

    def _read(self, known: SessionPartition, left: int, *, at_least_one: bool) -> tuple[PartitionData | None, int]:
        """Return the response data of one partition and its bytes; -1 bytes when they exceed the response's limit."""
        host = self._host
        partition = known.partition
        # A partition that this broker still leads is still hosted.
        if partition is None or not partition.continues(known) or self.follower_id not in partition.followers:
            found = self._check(known)
            if isinstance(found, PartitionData):
                return found, 0
            partition = found
        log = partition.log
        limit = known.max_bytes if known.max_bytes < left else left  # noqa: FURB136 - a call costs more
        high_watermark, log_start_offset = log.high_watermark, log.log_start_offset
        key = known.fetch_offset, limit, at_least_one, log.log_end_offset, high_watermark, log_start_offset
        shared = log.follower_read
        if shared is None or shared[0] != key:
            try:
                shared = log.follower_read = key, *_read_log(log, known.fetch_offset, limit, at_least_one=at_least_one)
            except LogDirectoryOffline:
                self._remove(known)
                return refused_partition(log.partition, ErrorCode.KAFKA_STORAGE_ERROR), 0
        _, data, size = shared
        if not size:
            if known.fetch_offset < log.log_end_offset:
                return None, -1
            if known.has_sent(log):
                return None, 0
        elif host.replication_quotas.leader.active and host.leader_throttles(partition, self.follower_id):
            self._news[known] = None
            if known.has_sent(log):
                return None, 0
            data, size = _data_of(log, []), 0
        known.sent_high_watermark = high_watermark
        known.sent_log_start_offset = log_start_offset
        return data, size

    def _check(self, known: SessionPartition) -> PartitionData | Partition:
        """Look the partition up in the metadata and on this broker; return it, or the response that ends the fetch.

        The response is an error or a diverging epoch. The follower drops a partition with an error from the session,
        and so does the leader.
        """
        host, topic_partition = self._host, known.topic_partition
        version, image = host.follower_versions.fetch, host.image
        by_id = version >= TOPIC_IDS_LOWEST
        topic = (
            image.topics_by_id.get(known.topic_id or ZERO_UUID) if by_id else image.topics.get(topic_partition.topic)
        )
        if topic is None or topic_partition.partition >= len(topic.partitions):
            self._remove(known)
            unknown = ErrorCode.UNKNOWN_TOPIC_ID if topic is None and by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return refused_partition(topic_partition.partition, unknown)
        partition = host.get_partition(topic_partition, known.topic_id)
        if isinstance(partition, ErrorCode):
            result = PartitionFetchResult(topic_partition, partition)
        else:
            result = host.read_hosted(self._params(), known, partition, known.max_bytes, at_least_one=True)
        if result.error_code or isinstance(partition, ErrorCode):
            self._remove(known)
            return partition_data(result, version, host.current_leader)
        if result.diverging_epoch is not None:
            known.sent_high_watermark = result.high_watermark
            known.sent_log_start_offset = result.log_start_offset
            return partition_data(result, version, host.current_leader)
        return partition

    def _params(self) -> FetchParams:
        assert self._request is not None
        return FetchParams(
            replica_id=self.follower_id,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=self._request.max_bytes,
            isolation=FetchIsolation.LOG_END,
        )

    def _remove(self, known: SessionPartition) -> None:
        if known.is_removed:
            return
        known.is_removed = True
        del self._partitions[known.topic_partition]
        self._joining.pop(known, None)
        partition, known.partition = known.partition, None
        if partition is not None and partition.sessions.get(self.follower_id) is known:
            del partition.sessions[self.follower_id]

    def close(self) -> LateResponse | None:
        """End the session: the follower is gone or has begun a new session. Returns the Fetch that is parked."""
        parked, self._parked = self._parked, None
        if self._wait_timer is not None:
            self._wait_timer.cancel()
            self._wait_timer = None
        for known in list(self._partitions.values()):
            self._remove(known)
        return parked


def _read_log(log: ReplicaLog, fetch_offset: int, max_bytes: int, *, at_least_one: bool) -> tuple[PartitionData, int]:
    """Return what a follower at an offset gets, and the bytes of its records."""
    batches = log.read(fetch_offset, max_bytes=max_bytes, at_least_one=at_least_one)
    return _data_of(log, batches), batches[0].size if len(batches) == 1 else sum([batch.size for batch in batches])


def _data_of(log: ReplicaLog, batches: list[StoredBatch]) -> PartitionData:
    return _new_data(
        log.partition,
        _NONE,
        log.high_watermark,
        log.last_stable_offset,
        log.log_start_offset,
        None,
        StoredRecords(batches),
    )


def _named(topics: list[FetchableTopicResponse]) -> Iterator[tuple[TopicPartition, bytes, PartitionData]]:
    for topic in topics:
        for data in topic.partitions:
            yield TopicPartition(topic.topic, data.partition_index), topic.topic_id, data
