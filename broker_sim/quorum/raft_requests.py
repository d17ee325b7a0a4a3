"""The requests of other voters, and their effects on a voter. Mirrors KafkaRaftClient's handle...Request.

An invalid request gets its error and changes nothing. One with a lower epoch is fenced, and its response has the
present epoch; one with a higher epoch changes the voter's epoch before it is validated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.errors import BrokerSimError
from broker_sim.quorum.epoch_states import EpochState
from broker_sim.quorum.raft_core import ParkedFetch
from broker_sim.quorum.raft_log import OffsetAndEpoch, RaftRecords
from broker_sim.quorum.raft_messages import is_for_metadata
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from protocol_specs.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from protocol_specs.messages.fetch import FetchRequest, FetchResponse
from protocol_specs.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from protocol_specs.messages.vote import VoteRequest, VoteResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.quorum.raft_core import RaftCore
    from protocol_specs.message import Message
    from protocol_specs.messages.vote import PartitionData

__all__ = ["RaftRequests"]


class RaftRequests:
    """Serves KRaft's requests; every response goes to the core's outbox, that of a fetch perhaps later."""

    __slots__ = ("_core",)

    def __init__(self, core: RaftCore) -> None:
        self._core = core

    def receive(self, source: int, correlation_id: int, request: Any, now_ms: float) -> None:
        """Respond to a request now, or park a fetch."""
        refusal = self._refuse(request)
        response: Message | None
        if refusal is not None:
            response = refusal
        elif isinstance(request, VoteRequest):
            response = self._vote(request, now_ms)
        elif isinstance(request, BeginQuorumEpochRequest):
            response = self._begin(request, now_ms)
        elif isinstance(request, EndQuorumEpochRequest):
            response = self._end(request, now_ms)
        elif isinstance(request, FetchSnapshotRequest):
            response = self._fetch_snapshot(source, request, now_ms)
        else:
            response = self._fetch(source, correlation_id, request, now_ms)
        if response is not None:
            self._core.respond(source, correlation_id, response)

    def _refuse(self, request: Any) -> Message | None:
        if not isinstance(request, _KNOWN):
            raise BrokerSimError(f"the quorum does not serve {type(request).__name__}")
        if self._core.messages.refuses_cluster(request.cluster_id):
            error = ErrorCode.INCONSISTENT_CLUSTER_ID
        elif not is_for_metadata(request):
            error = ErrorCode.INVALID_REQUEST
        else:
            return None
        return _top_level_error(request, error)

    # Votes.

    def _vote(self, request: VoteRequest, now_ms: float) -> VoteResponse:
        core, quorum = self._core, self._core.quorum
        requested = request.topics[0].partitions[0]
        if _is_illegal(requested):
            return self._voted(ErrorCode.INVALID_REQUEST)
        error = self._refuse_voter(requested.replica_id, requested.replica_epoch)
        if error:
            return self._voted(error)
        if requested.replica_epoch > quorum.epoch:
            core.become_unattached(requested.replica_epoch, now_ms)
        if request.voter_id not in (-1, core.node_id):
            return self._voted(ErrorCode.INVALID_VOTER_KEY)
        log_end = OffsetAndEpoch(requested.last_offset, requested.last_offset_epoch)
        granted = quorum.grants_vote(
            requested.replica_id, is_log_up_to_date=_reaches(log_end, core.log.end), pre_vote=requested.pre_vote
        )
        if granted and not requested.pre_vote and quorum.voted_id < 0:
            quorum.grant_vote(requested.replica_id, now_ms)
        return self._voted(ErrorCode.NONE, granted=granted)

    def _voted(self, error: ErrorCode, *, granted: bool = False) -> VoteResponse:
        quorum = self._core.quorum
        return self._core.messages.vote_response(error, epoch=quorum.epoch, leader_id=quorum.leader_id, granted=granted)

    # Epochs.

    def _begin(self, request: BeginQuorumEpochRequest, now_ms: float) -> BeginQuorumEpochResponse:
        core = self._core
        requested = request.topics[0].partitions[0]
        error = self._refuse_voter(requested.leader_id, requested.leader_epoch)
        if not error:
            core.maybe_transition(requested.leader_id, requested.leader_epoch, now_ms)
            if request.voter_id not in (-1, core.node_id):
                error = ErrorCode.INVALID_VOTER_KEY
        return core.messages.begin_response(error, epoch=core.quorum.epoch, leader_id=core.quorum.leader_id)

    def _end(self, request: EndQuorumEpochRequest, now_ms: float) -> EndQuorumEpochResponse:
        core, quorum = self._core, self._core.quorum
        requested = request.topics[0].partitions[0]
        error = self._refuse_voter(requested.leader_id, requested.leader_epoch)
        if not error:
            core.maybe_transition(requested.leader_id, requested.leader_epoch, now_ms)
            if quorum.state is EpochState.FOLLOWER and quorum.leader_id == requested.leader_id:
                candidates = [
                    each.candidate_id for each in requested.preferred_candidates
                ] or requested.preferred_successors
                quorum.due_ms = now_ms + self._succession_backoff_ms(candidates)
        return core.messages.end_response(error, epoch=quorum.epoch, leader_id=quorum.leader_id)

    def _succession_backoff_ms(self, successors: Sequence[int]) -> int:
        """Return the wait before an election: none for the first successor, twice as long for each further one."""
        longest_ms = self._core.settings.election_backoff_max_ms
        if self._core.node_id not in successors:
            return longest_ms if successors else 0
        position = list(successors).index(self._core.node_id)
        if position == 0:
            return 0
        base_ms = longest_ms >> (len(successors) - 1)
        return min(longest_ms, base_ms << (position - 1))

    def _refuse_voter(self, node_id: int, epoch: int) -> ErrorCode:
        if epoch < self._core.quorum.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.INVALID_REQUEST if node_id < 0 else ErrorCode.NONE

    # Fetches.

    def _fetch(self, source: int, correlation_id: int, request: FetchRequest, now_ms: float) -> FetchResponse | None:
        core = self._core
        requested = request.topics[0].partitions[0]
        if (
            request.max_wait_ms < 0
            or requested.fetch_offset < 0
            or not 0 <= requested.last_fetched_epoch <= requested.current_leader_epoch
        ):
            return core.fetch_response(ErrorCode.INVALID_REQUEST)
        if source in core.parked:
            core.complete_parked(source, ErrorCode.NONE, now_ms)
        response = core.fetched(source, request, now_ms)
        partition = response.responses[0].partitions[0]
        assert isinstance(partition.records, RaftRecords), "records between controllers travel by reference"
        news = (
            partition.error_code
            or partition.records.batches
            or partition.diverging_epoch.epoch >= 0
            or partition.snapshot_id.end_offset >= 0
            or (core.messages.fetches_carry_high_watermark and requested.high_watermark < partition.high_watermark)
        )
        if news or request.max_wait_ms == 0:
            return response
        core.parked[source] = ParkedFetch(
            correlation_id=correlation_id, request=request, due_ms=now_ms + request.max_wait_ms
        )
        return None

    def _fetch_snapshot(self, source: int, request: FetchSnapshotRequest, now_ms: float) -> FetchSnapshotResponse:
        core = self._core
        requested = request.topics[0].partitions[0]
        error = core.refuse_unless_leader(requested.current_leader_epoch)
        snapshot, data, size = core.log.snapshot, b"", 0
        if not error:
            wanted = OffsetAndEpoch(requested.snapshot_id.end_offset, requested.snapshot_id.epoch)
            if snapshot is None or snapshot.id != wanted:
                error = ErrorCode.SNAPSHOT_NOT_FOUND
            else:
                whole = snapshot.encode()
                size = len(whole)
                if 0 <= requested.position < size:
                    data = whole[requested.position : requested.position + request.max_bytes]
                else:
                    error = ErrorCode.POSITION_OUT_OF_RANGE
        if not error and core.quorum.leader is not None:
            core.quorum.leader.contacted(source, now_ms)
        return core.messages.snapshot_response(
            error,
            epoch=core.quorum.epoch,
            leader_id=core.quorum.leader_id,
            snapshot_id=requested.snapshot_id,
            size=size,
            position=requested.position,
            data=data,
        )


def _reaches(candidate: OffsetAndEpoch, own: OffsetAndEpoch) -> bool:
    return (candidate.epoch, candidate.offset) >= (own.epoch, own.offset)


def _is_illegal(requested: PartitionData) -> bool:
    # Only a pre-vote may have records of its epoch: a candidate has just raised its epoch.
    last = requested.replica_epoch if requested.pre_vote else requested.replica_epoch - 1
    return requested.last_offset < 0 or not 0 <= requested.last_offset_epoch <= last


def _top_level_error(request: Any, error: ErrorCode) -> Message:
    if isinstance(request, VoteRequest):
        return VoteResponse(error_code=error, topics=[])
    if isinstance(request, BeginQuorumEpochRequest):
        return BeginQuorumEpochResponse(error_code=error, topics=[])
    if isinstance(request, EndQuorumEpochRequest):
        return EndQuorumEpochResponse(error_code=error, topics=[])
    if isinstance(request, FetchSnapshotRequest):
        return FetchSnapshotResponse(error_code=error)
    return FetchResponse(error_code=error, session_id=0, responses=[])


_KNOWN: Final = (VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRequest, FetchSnapshotRequest)
