"""The responses of other voters, and their effects on a voter. Mirrors KafkaRaftClient's handle...Response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.quorum.epoch_states import EpochState
from broker_sim.quorum.raft_core import SnapshotFetch
from broker_sim.quorum.raft_log import OffsetAndEpoch, RaftRecords, RaftSnapshot
from broker_sim.quorum.raft_settings import ELECTION_BACKOFF_BASE_MS, ELECTION_BACKOFF_DOUBLINGS_MAX
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.begin_quorum_epoch import BeginQuorumEpochResponse
from protocol_specs.messages.end_quorum_epoch import EndQuorumEpochResponse
from protocol_specs.messages.fetch import FetchResponse, PartitionData
from protocol_specs.messages.fetch_snapshot import FetchSnapshotResponse
from protocol_specs.messages.vote import VoteResponse

if TYPE_CHECKING:
    from broker_sim.quorum.raft_core import RaftCore
    from protocol_specs.messages.fetch_snapshot import ResponsePartitionSnapshot

__all__ = ["RaftResponses"]

STALE: Final = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)


class RaftResponses:
    """Handles the responses that are awaited."""

    __slots__ = ("_core",)

    def __init__(self, core: RaftCore) -> None:
        self._core = core

    def receive(self, source: int, response: Any, now_ms: float) -> None:
        """Handle a response."""
        if response.error_code:
            self._core.requests.back_off(source, now_ms)
        elif isinstance(response, FetchResponse):
            self._fetched(source, response.responses[0].partitions[0], now_ms)
        elif isinstance(response, FetchSnapshotResponse):
            self._snapshot_fetched(source, response.topics[0].partitions[0], now_ms)
        elif isinstance(response, VoteResponse):
            self._voted(source, response, now_ms)
        elif isinstance(response, BeginQuorumEpochResponse):
            self._begun(source, response, now_ms)
        elif isinstance(response, EndQuorumEpochResponse):
            self._ended(source, response, now_ms)

    def _is_settled(self, error: int, leader_id: int, epoch: int, now_ms: float) -> bool:
        """Take leader and epoch from a response; return True if it has nothing else."""
        core, quorum = self._core, self._core.quorum
        if epoch < quorum.epoch or error == ErrorCode.UNKNOWN_LEADER_EPOCH:
            return True
        if epoch > quorum.epoch or error in STALE:
            core.maybe_transition(leader_id, epoch, now_ms)
            return True
        if leader_id >= 0 and quorum.leader_id < 0:
            core.become_follower(epoch, leader_id, now_ms)
            return bool(error)
        return False

    def _voted(self, source: int, response: VoteResponse, now_ms: float) -> None:
        core, quorum = self._core, self._core.quorum
        partition = response.topics[0].partitions[0]
        if self._is_settled(partition.error_code, partition.leader_id, partition.leader_epoch, now_ms):
            return
        if partition.error_code:
            core.requests.back_off(source, now_ms)
        elif quorum.is_nominee:
            quorum.election.record(source, granted=partition.vote_granted)
            if partition.vote_granted:
                core.count_votes(now_ms)
            elif quorum.election.is_rejected:
                self._lost(now_ms)

    def _lost(self, now_ms: float) -> None:
        core, quorum = self._core, self._core.quorum
        if quorum.state is EpochState.PROSPECTIVE:
            core.end_pre_vote(now_ms)
        elif not (core.settings.pre_vote or quorum.is_backing_off):
            # From 4.x on a candidate that has lost waits for its time-out, which is random as well.
            quorum.back_off(election_backoff_ms(core), now_ms)

    def _begun(self, source: int, response: BeginQuorumEpochResponse, now_ms: float) -> None:
        partition = response.topics[0].partitions[0]
        if self._is_settled(partition.error_code, partition.leader_id, partition.leader_epoch, now_ms):
            return
        if partition.error_code:
            self._core.requests.back_off(source, now_ms)
        elif self._core.quorum.leader is not None:
            self._core.quorum.leader.voters[source].has_acknowledged = True

    def _ended(self, source: int, response: EndQuorumEpochResponse, now_ms: float) -> None:
        partition = response.topics[0].partitions[0]
        if self._is_settled(partition.error_code, partition.leader_id, partition.leader_epoch, now_ms):
            return
        if partition.error_code:
            self._core.requests.back_off(source, now_ms)
        else:
            self._core.quorum.unacknowledged.pop(source, None)

    def _fetched(self, source: int, partition: PartitionData, now_ms: float) -> None:
        core, quorum = self._core, self._core.quorum
        leader = partition.current_leader
        if (
            self._is_settled(partition.error_code, leader.leader_id, leader.leader_epoch, now_ms)
            or partition.error_code
        ):
            if core.requests.is_ready(source, now_ms):
                # Kafka fetches again as fast as the network allows; here a network may take no time at all.
                core.requests.back_off(source, now_ms)
            return
        if quorum.state is not EpochState.FOLLOWER:
            return
        if partition.snapshot_id.end_offset >= 0:
            core.snapshot_fetch = SnapshotFetch(
                id=OffsetAndEpoch(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
            )
        elif partition.diverging_epoch.epoch >= 0:
            end = core.log.truncate_to(
                OffsetAndEpoch(partition.diverging_epoch.end_offset, partition.diverging_epoch.epoch)
            )
            assert end >= core.high_watermark, "what is committed is never truncated"
        else:
            assert isinstance(partition.records, RaftRecords), "records between controllers travel by reference"
            for batch in partition.records.batches:
                core.log.append(batch)
            high_watermark = min(partition.high_watermark, core.log.end_offset)
            if high_watermark > quorum.high_watermark:
                quorum.high_watermark = high_watermark
                core.commit(now_ms)
        quorum.fetched_from_leader(now_ms)

    def _snapshot_fetched(self, source: int, partition: ResponsePartitionSnapshot, now_ms: float) -> None:
        core, fetching = self._core, self._core.snapshot_fetch
        leader = partition.current_leader
        if (
            self._is_settled(partition.error_code, leader.leader_id, leader.leader_epoch, now_ms)
            or partition.error_code
        ):
            # There is a newer snapshot by now, or a newer leader: the next fetch returns which.
            core.snapshot_fetch = None
            if core.requests.is_ready(source, now_ms):
                core.requests.back_off(source, now_ms)
            return
        if fetching is None or core.quorum.state is not EpochState.FOLLOWER or partition.position != fetching.position:
            return
        assert isinstance(partition.unaligned_records, bytes | memoryview), "a snapshot is bytes"
        fetching.parts.append(bytes(partition.unaligned_records))
        if fetching.position >= partition.size:
            data = b"".join(fetching.parts)
            core.begin_with_snapshot(RaftSnapshot(id=fetching.id, encode=lambda: data))
        core.quorum.fetched_from_leader(now_ms)


def election_backoff_ms(core: RaftCore) -> int:
    """Return the wait of a candidate before its next election (before 4.x): up to twice as long after each loss."""
    doublings = min(ELECTION_BACKOFF_DOUBLINGS_MAX, core.quorum.retries - 1)
    return min(ELECTION_BACKOFF_BASE_MS * core.random.randrange(2 << doublings), core.settings.election_backoff_max_ms)
