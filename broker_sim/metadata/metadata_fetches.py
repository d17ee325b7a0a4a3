"""Fetches of the metadata log by brokers: Fetch (1) and FetchSnapshot (59) of `__cluster_metadata-0`. Mirrors
KafkaRaftClient.handleFetchRequest and handleFetchSnapshotRequest, for observers (KIP-595, KIP-630).

Observers get committed records alone. A fetch without new records waits without a limit, because two empty responses
per second would cost an idle cluster; a real controller sends one every 500 ms. On a link the batches travel by
reference: they are encoded when their bytes are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from twisted.internet.defer import Deferred

from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    PartitionData,
    ReplicaState,
    SnapshotId,
)
from protocol_specs.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    PartitionSnapshot,
    ResponsePartitionSnapshot,
    ResponseTopicSnapshot,
    TopicSnapshot,
)
from protocol_specs.messages.fetch_snapshot import LeaderIdAndEpoch as SnapshotLeader
from protocol_specs.messages.fetch_snapshot import SnapshotId as RequestedSnapshotId
from protocol_specs.uuids import METADATA_TOPIC_UUID

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.metadata.metadata_log import MetadataBatch, MetadataLog

__all__ = ["MetadataFetch", "MetadataFetches", "MetadataRecords", "fetch_request", "fetch_snapshot_request"]

METADATA_TOPIC: Final = "__cluster_metadata"
FETCH_BYTES_MAX: Final = 8 * 1024 * 1024
"""KafkaRaftClient.MAX_FETCH_SIZE_BYTES."""
WAITS_WITHOUT_END_MS: Final = 2**31 - 1
NO_NODE: Final = -1
FIRST_WITH_REPLICA_STATE: Final = 15
"""The version of Fetch that names a replica in a struct (KIP-903)."""


class MetadataFetch(FetchRequest):
    """A broker's Fetch of the metadata log. Fault rules that select Fetch mean partitions: for them it has no API."""

    API_KEY = ApiKey.FETCH
    RULE_API_KEY: ClassVar[None] = None


class MetadataRecords(list[bytes]):
    """The records of a fetch over a link: batches by reference; `encoded` is their form on a wire."""

    __slots__ = ("batches",)

    def __init__(self, batches: list[MetadataBatch]) -> None:
        super().__init__()
        self.batches = batches

    def encoded(self) -> list[bytes]:
        """The batches as bytes."""
        return [batch.encode() for batch in self.batches]


def fetch_request(
    broker_id: int, version: int, *, cluster_id: str, fetch_offset: int, last_epoch: int, leader_epoch: int
) -> MetadataFetch:
    """The Fetch of an observer that has the log up to before `fetch_offset`, for a version of it."""
    with_state = version >= FIRST_WITH_REPLICA_STATE
    partition = FetchPartition(
        partition=0,
        current_leader_epoch=leader_epoch,
        fetch_offset=fetch_offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=0,
    )
    return MetadataFetch(
        cluster_id=cluster_id,
        replica_id=NO_NODE if with_state else broker_id,
        replica_state=ReplicaState(replica_id=broker_id if with_state else NO_NODE),
        max_wait_ms=WAITS_WITHOUT_END_MS,
        min_bytes=0,
        max_bytes=FETCH_BYTES_MAX,
        topics=[FetchTopic(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_UUID, partitions=[partition])],
    )


def fetch_snapshot_request(
    broker_id: int, *, cluster_id: str, snapshot_id: SnapshotId, position: int, leader_epoch: int
) -> FetchSnapshotRequest:
    """Return a request for a part of a snapshot, from `position` on."""
    partition = PartitionSnapshot(
        partition=0,
        current_leader_epoch=leader_epoch,
        snapshot_id=RequestedSnapshotId(end_offset=snapshot_id.end_offset, epoch=snapshot_id.epoch),
        position=position,
    )
    return FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=broker_id,
        max_bytes=FETCH_BYTES_MAX,
        topics=[TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])],
    )


class MetadataFetches:
    """Serves one controller's observers; `leader_id` names it."""

    def __init__(
        self, log: MetadataLog, *, cluster_id: str, leader_id: Callable[[], int], now_ms: Callable[[], int]
    ) -> None:
        self._log = log
        self._cluster_id = cluster_id
        self._leader_id = leader_id
        self._now_ms = now_ms
        self._waiting: dict[int, tuple[int, Deferred[FetchResponse]]] = {}
        self._seen: dict[int, tuple[int, int]] = {}

    def fetch(self, request: FetchRequest, *, may_respond: bool = True) -> FetchResponse | Deferred[FetchResponse]:
        """Return the response, if there is one; records wait for the next `publish` unless `may_respond`."""
        if request.cluster_id not in (None, self._cluster_id):
            return FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
        requested = _the_partition(request)
        if requested is None:
            return FetchResponse(error_code=ErrorCode.INVALID_REQUEST)
        error = self._epoch_error(requested.current_leader_epoch)
        if error:
            return self._respond(error)
        broker_id = max(request.replica_state.replica_id, request.replica_id)
        self._seen[broker_id] = (requested.fetch_offset, self._now_ms())
        if requested.fetch_offset < self._log.start_offset:
            return self._with_snapshot()
        if requested.fetch_offset < self._log.high_watermark and may_respond:
            return self._with_records(requested.fetch_offset)
        response: Deferred[FetchResponse] = Deferred()
        self._waiting[broker_id] = (requested.fetch_offset, response)
        return response

    def publish(self) -> None:
        """Respond to the fetches that wait for records that are committed now."""
        waiting, self._waiting = self._waiting, {}
        for broker_id, (offset, response) in waiting.items():
            if offset >= self._log.high_watermark:
                self._waiting[broker_id] = (offset, response)
            elif offset < self._log.start_offset:
                response.callback(self._with_snapshot())
            else:
                response.callback(self._with_records(offset))

    def fetch_snapshot(self, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
        """The next part of the snapshot that there is."""
        if request.cluster_id not in (None, self._cluster_id):
            return FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
        topics = request.topics
        if (
            len(topics) != 1
            or topics[0].name != METADATA_TOPIC
            or [each.partition for each in topics[0].partitions] != [0]
        ):
            return FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST)
        requested = topics[0].partitions[0]
        snapshot = self._log.snapshot
        error = self._epoch_error(requested.current_leader_epoch)
        response = ResponsePartitionSnapshot(
            index=0,
            error_code=error,
            snapshot_id=requested.snapshot_id,
            current_leader=SnapshotLeader(leader_id=self._leader_id(), leader_epoch=self._log.leader_epoch),
            unaligned_records=b"",
        )
        if not error:
            wanted = (requested.snapshot_id.end_offset, requested.snapshot_id.epoch)
            if snapshot is None or snapshot.id != wanted:
                response.error_code = ErrorCode.SNAPSHOT_NOT_FOUND
            elif not 0 <= requested.position < len(snapshot.encode()):
                response.error_code = ErrorCode.POSITION_OUT_OF_RANGE
            else:
                data = snapshot.encode()
                response.size, response.position = len(data), requested.position
                response.unaligned_records = memoryview(data)[
                    requested.position : requested.position + request.max_bytes
                ]
        topic = ResponseTopicSnapshot(name=METADATA_TOPIC, partitions=[response])
        return FetchSnapshotResponse(error_code=ErrorCode.NONE, topics=[topic])

    def progress(self, broker_id: int, now_ms: int) -> tuple[int, int]:
        """The end of a broker's log, and when it was seen last: now, while its fetch waits; -1 before its first."""
        if broker_id in self._waiting:
            return self._log.end_offset, now_ms
        return self._seen.get(broker_id, (-1, -1))

    def forget(self, broker_id: int) -> None:
        """The broker's connection is gone, and its fetch with it."""
        self._waiting.pop(broker_id, None)

    def take_waiting(self) -> list[Deferred[FetchResponse]]:
        """Drop all waiting fetches: another controller will serve them."""
        waiting, self._waiting = self._waiting, {}
        return [response for _, response in waiting.values()]

    def _epoch_error(self, epoch: int) -> ErrorCode:
        if epoch < self._log.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH if epoch > self._log.leader_epoch else ErrorCode.NONE

    def _with_snapshot(self) -> FetchResponse:
        snapshot = self._log.snapshot
        assert snapshot is not None, "what is before the log's start is in a snapshot"
        return self._respond(
            ErrorCode.NONE, snapshot_id=SnapshotId(end_offset=snapshot.id.end_offset, epoch=snapshot.id.epoch)
        )

    def _with_records(self, offset: int) -> FetchResponse:
        return self._respond(ErrorCode.NONE, batches=self._log.read_committed(offset))

    def _respond(
        self,
        error_code: ErrorCode,
        *,
        batches: list[MetadataBatch] | None = None,
        snapshot_id: SnapshotId | None = None,
    ) -> FetchResponse:
        log = self._log
        partition = PartitionData(
            partition_index=0,
            error_code=error_code,
            high_watermark=log.high_watermark,
            log_start_offset=log.start_offset,
            current_leader=LeaderIdAndEpoch(leader_id=self._leader_id(), leader_epoch=log.leader_epoch),
            records=MetadataRecords(batches or []),
        )
        if snapshot_id is not None:
            partition.snapshot_id = snapshot_id
        topic = FetchableTopicResponse(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_UUID, partitions=[partition])
        return FetchResponse(error_code=ErrorCode.NONE, responses=[topic])


def _the_partition(request: FetchRequest) -> FetchPartition | None:
    topics = request.topics
    if len(topics) != 1 or topics[0].topic_id != METADATA_TOPIC_UUID or len(topics[0].partitions) != 1:
        return None
    partition = topics[0].partitions[0]
    return partition if partition.partition == 0 else None
