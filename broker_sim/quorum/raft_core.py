"""A voter's state and log, and their changes with all consequences. Mirrors KafkaRaftClient's transitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from broker_sim.quorum.epoch_states import EpochState
from broker_sim.quorum.quorum_state import NO_NODE, QuorumState
from broker_sim.quorum.raft_log import OffsetAndEpoch, RaftBatch, RaftRecords
from broker_sim.quorum.raft_outputs import (
    Committed,
    LeaderChanged,
    Output,
    SendRequest,
    SendResponse,
    SnapshotLoaded,
)
from broker_sim.quorum.raft_settings import BATCHES_PER_FETCH_MAX
from broker_sim.quorum.request_manager import RequestManager
from protocol_specs.error_codes import ErrorCode
from protocol_specs.schemas.leader_change_message import LeaderChangeMessage, Voter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from broker_sim.quorum.raft_log import RaftSnapshot, RaftStorage
    from broker_sim.quorum.raft_messages import RaftMessages
    from broker_sim.quorum.raft_settings import RaftSettings
    from protocol_specs.message import Message
    from protocol_specs.messages.fetch import FetchRequest, FetchResponse

__all__ = ["ParkedFetch", "RaftCore", "SnapshotFetch"]

CONSUMER: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedFetch:
    """A fetch that waits at the leader until there is something new."""

    correlation_id: int
    request: FetchRequest
    due_ms: float


@dataclass(slots=True, kw_only=True)
class SnapshotFetch:
    """A snapshot of the leader, as far as it has come."""

    id: OffsetAndEpoch
    parts: list[bytes] = field(default_factory=list)

    @property
    def position(self) -> int:
        """The start of the next part."""
        return sum(map(len, self.parts))


class RaftCore:
    """Everything that the parts of one voter share."""

    def __init__(
        self,
        *,
        node_id: int,
        voters: Sequence[int],
        settings: RaftSettings,
        messages: RaftMessages,
        storage: RaftStorage,
        random: Random,
    ) -> None:
        self.node_id = node_id
        self.settings = settings
        self.messages = messages
        self.log = storage.log
        self.random = random
        self.quorum = QuorumState(local_id=node_id, voters=voters, settings=settings, storage=storage, random=random)
        others = [voter for voter in voters if voter != node_id]
        self.requests = RequestManager(others, timeout_ms=settings.request_timeout_ms, random=random)
        self.outbox: list[Output] = []
        self.parked: dict[int, ParkedFetch] = {}
        self.accumulated: list[RaftBatch] = []
        self.accumulated_due_ms = 0.0
        self.snapshot_fetch: SnapshotFetch | None = None
        # The owner takes the records before a trimmed log from the snapshot.
        self._applied = 0 if self.log.snapshot is None else self.log.snapshot.id.offset
        self._announced: tuple[int, int] = (-1, NO_NODE)

    @property
    def high_watermark(self) -> int:
        """The offset up to which records are known to be committed; -1 for unknown."""
        leader = self.quorum.leader
        return self.quorum.high_watermark if leader is None else leader.high_watermark

    def adopt(self, now_ms: float) -> None:
        """Start in the stored epoch with a log that is committed as a whole, as its leader or a follower."""
        self.quorum.adopt(self.log.end_offset, now_ms)
        self._applied = self.log.end_offset
        if self.quorum.leader is not None:
            self.quorum.leader.appended(self.log.end_offset)
        self._announced = (self.quorum.epoch, self.quorum.leader_id)

    # Transitions.

    def maybe_transition(self, leader_id: int, epoch: int, now_ms: float) -> None:
        """Follow the leader and epoch of a message if they are new."""
        quorum = self.quorum
        if epoch > quorum.epoch:
            if leader_id >= 0:
                self.become_follower(epoch, leader_id, now_ms)
            else:
                self.become_unattached(epoch, now_ms)
        elif epoch == quorum.epoch and leader_id >= 0:
            if quorum.leader_id < 0:
                self.become_follower(epoch, leader_id, now_ms)
            else:
                assert quorum.leader_id == leader_id, "an epoch has one leader"

    def become_unattached(self, epoch: int, now_ms: float) -> None:
        """Obey a higher epoch."""
        self.quorum.to_unattached(epoch, now_ms)
        self._left_behind()

    def become_follower(self, epoch: int, leader_id: int, now_ms: float) -> None:
        """Follow a leader that was not known."""
        self.quorum.to_follower(epoch, leader_id, now_ms)
        self._left_behind()

    def time_out(self, now_ms: float) -> None:
        """The time-out without contact has passed."""
        self.quorum.time_out(now_ms)
        self._left_behind()
        self.count_votes(now_ms)

    def end_pre_vote(self, now_ms: float) -> None:
        """Too few would vote for this one."""
        self.quorum.end_pre_vote(now_ms)
        self._left_behind()

    def count_votes(self, now_ms: float) -> None:
        """Enter the next state when a majority has granted its votes."""
        quorum = self.quorum
        if quorum.state is EpochState.PROSPECTIVE and quorum.election.is_granted:
            quorum.to_candidate(now_ms)
            self._left_behind()
        if quorum.state is EpochState.CANDIDATE and quorum.election.is_granted:
            self._become_leader(now_ms)

    def resign(self, now_ms: float) -> None:
        """Stop leading: uncommitted records may still be committed by another leader."""
        self.quorum.to_resigned(now_ms)
        self._left_behind()

    def _become_leader(self, now_ms: float) -> None:
        leader = self.quorum.to_leader(self.log.end_offset, now_ms)
        self.requests.reset_all()
        change = LeaderChangeMessage(
            version=0,
            leader_id=self.node_id,
            voters=[Voter(voter_id=voter) for voter in leader.voters],
            granting_voters=[Voter(voter_id=voter) for voter in leader.granting_voters],
        )
        # At once: without a record of this epoch nothing that is there already can be committed.
        self.write([self._batch(change, records=1, control_ms=round(now_ms))], now_ms)
        self._announce_leader()

    def _left_behind(self) -> None:
        """Drop the requests and timers of the former state."""
        self.requests.reset_all()
        self.snapshot_fetch = None
        self.accumulated.clear()
        for source in list(self.parked):
            self.complete_parked(source, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._announce_leader()

    def _announce_leader(self) -> None:
        quorum = self.quorum
        announced = (quorum.epoch, quorum.leader_id)
        if quorum.leader_id == self.node_id:
            if quorum.leader is None:
                announced = (quorum.epoch, NO_NODE)  # resigned
            elif self._applied < quorum.leader.epoch_start_offset:
                return  # it has not applied all records before its epoch yet
        if announced != self._announced:
            self._announced = announced
            self.outbox.append(LeaderChanged(epoch=announced[0], leader_id=announced[1]))

    # The log.

    def accumulate(self, content: Any, records: int, now_ms: float) -> RaftBatch:
        """Delay a batch of the leader, to write it together with later ones."""
        if not self.accumulated:
            self.accumulated_due_ms = now_ms + self.settings.append_linger_ms
        batch = self._batch(content, records=records)
        self.accumulated.append(batch)
        return batch

    def write_accumulated(self, now_ms: float) -> None:
        """The linger is over."""
        batches, self.accumulated = self.accumulated, []
        self.write(batches, now_ms)

    def write(self, batches: Sequence[RaftBatch], now_ms: float) -> None:
        """Append to the leader's log, and let waiting followers have it."""
        leader = self.quorum.leader
        assert leader is not None, "only a leader writes"
        for batch in batches:
            self.log.append(batch)
        grown = leader.appended(self.log.end_offset)
        for source, parked in list(self.parked.items()):
            if parked.request.topics[0].partitions[0].fetch_offset < self.log.end_offset:
                self.complete_parked(source, ErrorCode.NONE, now_ms)
        if grown:
            self.commit(now_ms)

    def _batch(self, content: Any, *, records: int, control_ms: int | None = None) -> RaftBatch:
        base = self.accumulated[-1].last_offset + 1 if self.accumulated else self.log.end_offset
        return RaftBatch(
            base_offset=base,
            last_offset=base + records - 1,
            epoch=self.quorum.epoch,
            content=content,
            control_ms=control_ms,
        )

    def commit(self, now_ms: float) -> None:
        """The high watermark has grown: notify the owner, and as a leader respond to the waiting followers."""
        batches = self.log.read(self._applied, until=self.high_watermark)
        if batches:
            self._applied = batches[-1].last_offset + 1
            self.outbox.append(Committed(batches=batches))
        if self.quorum.leader is not None:
            self._announce_leader()
            for source in list(self.parked):
                self.complete_parked(source, ErrorCode.NONE, now_ms)

    # Fetches.

    def complete_parked(self, source: int, error: ErrorCode, now_ms: float = 0.0) -> None:
        """Respond to a parked fetch with the present records."""
        parked = self.parked.pop(source)
        response = self.fetch_response(error) if error else self.fetched(source, parked.request, now_ms)
        self.respond(source, parked.correlation_id, response)

    def fetched(self, source: int, request: FetchRequest, now_ms: float) -> FetchResponse:
        """Return the leader's response to a replica's fetch; the fetch offset is the replica's log end."""
        partition = request.topics[0].partitions[0]
        error = self.refuse_unless_leader(partition.current_leader_epoch)
        if error:
            return self.fetch_response(error)
        snapshot = self.log.snapshot_for(partition.fetch_offset)
        if snapshot is not None:
            return self.fetch_response(ErrorCode.NONE, snapshot_id=snapshot.id)
        diverging = self.log.divergence(partition.fetch_offset, partition.last_fetched_epoch)
        if diverging is not None:
            return self.fetch_response(ErrorCode.NONE, diverging=diverging)
        leader = self.quorum.leader
        assert leader is not None, "it was just found to lead"
        batches = self.log.read(partition.fetch_offset, limit=BATCHES_PER_FETCH_MAX)
        if source > CONSUMER and leader.fetched(source, partition.fetch_offset, now_ms):
            self.commit(now_ms)
        return self.fetch_response(ErrorCode.NONE, records=batches)

    def fetch_response(
        self,
        error: ErrorCode,
        *,
        records: Sequence[RaftBatch] = (),
        diverging: OffsetAndEpoch | None = None,
        snapshot_id: OffsetAndEpoch | None = None,
    ) -> FetchResponse:
        """Return the response of a fetch, with the leader that this voter knows."""
        return self.messages.fetch_response(
            error,
            epoch=self.quorum.epoch,
            leader_id=self.quorum.leader_id,
            high_watermark=-1 if error else self.high_watermark,
            records=RaftRecords(list(records)),
            diverging=diverging,
            start_offset=self.log.start_offset,
            snapshot_id=snapshot_id,
        )

    def begin_with_snapshot(self, snapshot: RaftSnapshot) -> None:
        """The whole snapshot has come: the log begins with it, all of which is committed."""
        self.snapshot_fetch = None
        self.log.begin_with(snapshot)
        self._applied = snapshot.id.offset
        self.quorum.high_watermark = max(self.quorum.high_watermark, snapshot.id.offset)
        self.outbox.append(SnapshotLoaded(snapshot=snapshot))

    def refuse_unless_leader(self, epoch: int) -> ErrorCode:
        """Return the error of a request that needs the leader of `epoch`; NONE if this voter is."""
        if epoch < self.quorum.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if epoch > self.quorum.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if self.quorum.is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER

    # Messages.

    def send(self, destination: int, request: Message, now_ms: float) -> None:
        """Send a request to a voter that may get one now."""
        version = self.messages.versions[request.API_KEY]
        correlation_id = self.requests.sent(destination, now_ms)
        self.outbox.append(
            SendRequest(destination=destination, correlation_id=correlation_id, request=request, version=version)
        )

    def respond(self, destination: int, correlation_id: int, response: Message) -> None:
        """Send a response."""
        self.outbox.append(SendResponse(destination=destination, correlation_id=correlation_id, response=response))
