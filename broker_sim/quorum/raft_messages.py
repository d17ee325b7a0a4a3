"""The messages of KRaft for the one partition that it has, in the versions of the emulated release. Mirrors RaftUtil.

Vote (52), BeginQuorumEpoch (53), EndQuorumEpoch (54) and Fetch (1), as declared messages; controllers speak the highest
version that their release lists on its controller listener.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs import releases
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import begin_quorum_epoch as begin
from protocol_specs.messages import end_quorum_epoch as end
from protocol_specs.messages import fetch, fetch_snapshot, vote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.quorum.raft_log import OffsetAndEpoch, RaftRecords

__all__ = ["METADATA_TOPIC", "METADATA_TOPIC_ID", "RaftMessages", "is_for_metadata"]

METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_TOPIC_ID: Final = bytes(15) + b"\x01"
FETCH_MAX_BYTES: Final = 1_048_576
HIGH_WATERMARK_SINCE: Final = 18
"""The first version of Fetch in which followers report their high watermark (KIP-1166)."""


class RaftMessages:
    """Builds the requests and responses of `node_id`. Directory ids are those of KIP-853, or zeros."""

    def __init__(self, *, release: str, cluster_id: str, node_id: int, directory_id: bytes) -> None:
        listed = releases.get(release).listeners["controller"].api_versions
        self.versions = {key: versions.highest for key, versions in listed.items()}
        self.fetches_carry_high_watermark = self.versions[ApiKey.FETCH] >= HIGH_WATERMARK_SINCE
        self._cluster_id = cluster_id
        self._node_id = node_id
        self._directory_id = directory_id

    def refuses_cluster(self, cluster_id: str | None) -> bool:
        """Return True if a message names another cluster; one without a cluster id does not."""
        return cluster_id is not None and cluster_id != self._cluster_id

    # Requests.

    def vote_request(self, voter: int, *, epoch: int, log_end: OffsetAndEpoch, pre_vote: bool) -> vote.VoteRequest:
        """Return a request for a vote in `epoch`, or for a pre-vote."""
        partition = vote.PartitionData(
            partition_index=0,
            replica_epoch=epoch,
            replica_id=self._node_id,
            replica_directory_id=self._directory_id,
            last_offset_epoch=log_end.epoch,
            last_offset=log_end.offset,
            pre_vote=pre_vote,
        )
        topic = vote.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        return vote.VoteRequest(cluster_id=self._cluster_id, voter_id=voter, topics=[topic])

    def begin_request(self, voter: int, *, epoch: int) -> begin.BeginQuorumEpochRequest:
        """Return the announcement that this node leads `epoch`."""
        partition = begin.PartitionData(partition_index=0, leader_id=self._node_id, leader_epoch=epoch)
        topic = begin.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        return begin.BeginQuorumEpochRequest(cluster_id=self._cluster_id, voter_id=voter, topics=[topic])

    def end_request(self, *, epoch: int, successors: Sequence[int]) -> end.EndQuorumEpochRequest:
        """Return the announcement that this node no longer leads `epoch`, with the preferred successors."""
        partition = end.PartitionData(
            partition_index=0,
            leader_id=self._node_id,
            leader_epoch=epoch,
            preferred_successors=list(successors),
            preferred_candidates=[end.ReplicaInfo(candidate_id=each) for each in successors],
        )
        topic = end.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        return end.EndQuorumEpochRequest(cluster_id=self._cluster_id, topics=[topic])

    def fetch_request(
        self, *, epoch: int, log_end: OffsetAndEpoch, high_watermark: int, max_wait_ms: int
    ) -> fetch.FetchRequest:
        """Return a fetch from the end of the own log."""
        partition = fetch.FetchPartition(
            partition=0,
            current_leader_epoch=epoch,
            fetch_offset=log_end.offset,
            last_fetched_epoch=log_end.epoch,
            partition_max_bytes=0,
            replica_directory_id=self._directory_id,
            high_watermark=high_watermark,
        )
        topic = fetch.FetchTopic(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])
        return fetch.FetchRequest(
            cluster_id=self._cluster_id,
            replica_state=fetch.ReplicaState(replica_id=self._node_id),
            max_wait_ms=max_wait_ms,
            min_bytes=0,
            max_bytes=FETCH_MAX_BYTES,
            topics=[topic],
            forgotten_topics_data=[],
        )

    def snapshot_request(
        self, *, epoch: int, snapshot_id: OffsetAndEpoch, position: int
    ) -> fetch_snapshot.FetchSnapshotRequest:
        """Return a request for the next part of a snapshot."""
        partition = fetch_snapshot.PartitionSnapshot(
            partition=0,
            current_leader_epoch=epoch,
            snapshot_id=fetch_snapshot.SnapshotId(end_offset=snapshot_id.offset, epoch=snapshot_id.epoch),
            position=position,
            replica_directory_id=self._directory_id,
        )
        return fetch_snapshot.FetchSnapshotRequest(
            cluster_id=self._cluster_id,
            replica_id=self._node_id,
            max_bytes=FETCH_MAX_BYTES,
            topics=[fetch_snapshot.TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])],
        )

    # Responses.

    def vote_response(self, error: ErrorCode, *, epoch: int, leader_id: int, granted: bool) -> vote.VoteResponse:
        """Return the response to a vote request."""
        partition = vote.ResponsePartitionData(
            partition_index=0, error_code=error, leader_id=leader_id, leader_epoch=epoch, vote_granted=granted
        )
        topic = vote.ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        return vote.VoteResponse(error_code=ErrorCode.NONE, topics=[topic])

    def begin_response(self, error: ErrorCode, *, epoch: int, leader_id: int) -> begin.BeginQuorumEpochResponse:
        """Return the response to a new leader."""
        partition = begin.ResponsePartitionData(
            partition_index=0, error_code=error, leader_id=leader_id, leader_epoch=epoch
        )
        topic = begin.ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        return begin.BeginQuorumEpochResponse(error_code=ErrorCode.NONE, topics=[topic])

    def end_response(self, error: ErrorCode, *, epoch: int, leader_id: int) -> end.EndQuorumEpochResponse:
        """Return the response to a leader that resigns."""
        partition = end.ResponsePartitionData(
            partition_index=0, error_code=error, leader_id=leader_id, leader_epoch=epoch
        )
        topic = end.ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        return end.EndQuorumEpochResponse(error_code=ErrorCode.NONE, topics=[topic])

    def fetch_response(
        self,
        error: ErrorCode,
        *,
        epoch: int,
        leader_id: int,
        high_watermark: int,
        records: RaftRecords,
        diverging: OffsetAndEpoch | None,
        start_offset: int,
        snapshot_id: OffsetAndEpoch | None,
    ) -> fetch.FetchResponse:
        """Return the response to a follower's fetch."""
        partition = fetch.PartitionData(
            partition_index=0,
            error_code=error,
            high_watermark=high_watermark,
            log_start_offset=start_offset,
            current_leader=fetch.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=epoch),
            aborted_transactions=None,
            records=records,
        )
        if diverging is not None:
            partition.diverging_epoch = fetch.EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.offset)
        if snapshot_id is not None:
            partition.snapshot_id = fetch.SnapshotId(end_offset=snapshot_id.offset, epoch=snapshot_id.epoch)
        topic = fetch.FetchableTopicResponse(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])
        return fetch.FetchResponse(error_code=ErrorCode.NONE, session_id=0, responses=[topic])

    def snapshot_response(
        self, error: ErrorCode, *, epoch: int, leader_id: int, snapshot_id: Any, size: int, position: int, data: Any
    ) -> fetch_snapshot.FetchSnapshotResponse:
        """Return the response with a part of a snapshot."""
        partition = fetch_snapshot.ResponsePartitionSnapshot(
            index=0,
            error_code=error,
            snapshot_id=snapshot_id,
            current_leader=fetch_snapshot.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=epoch),
            size=size,
            position=position,
            unaligned_records=data,
        )
        topic = fetch_snapshot.ResponseTopicSnapshot(name=METADATA_TOPIC, partitions=[partition])
        return fetch_snapshot.FetchSnapshotResponse(error_code=ErrorCode.NONE, topics=[topic])


def is_for_metadata(request: Any) -> bool:
    """Return True if a request names partition 0 of the metadata log and nothing else."""
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        return False
    topic = request.topics[0]
    if isinstance(request, fetch.FetchRequest):
        return bool(topic.topic_id == METADATA_TOPIC_ID and topic.partitions[0].partition == 0)
    if isinstance(request, fetch_snapshot.FetchSnapshotRequest):
        return bool(topic.name == METADATA_TOPIC and topic.partitions[0].partition == 0)
    return bool(topic.topic_name == METADATA_TOPIC and topic.partitions[0].partition_index == 0)
