"""One voter of the metadata quorum: messages and time in, messages and decisions out. Mirrors KafkaRaftClient.

It has no socket, no reactor and no clock: its owner calls it with the time, sends the content of `outbox` after every
call, and polls it again at `due_ms`. `storage` holds the persistent state; a voter that restarts is a new RaftReplica
over the same storage. KIP-595; from 4.x on it sends pre-votes (KIP-996).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.errors import BrokerSimError
from broker_sim.quorum.epoch_states import EpochState
from broker_sim.quorum.raft_core import RaftCore
from broker_sim.quorum.raft_requests import RaftRequests
from broker_sim.quorum.raft_responses import RaftResponses, election_backoff_ms
from broker_sim.quorum.raft_settings import MAX_FETCH_WAIT_MS
from broker_sim.quorum.request_manager import TOLERANCE_MS
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from broker_sim.quorum.leader_state import LeaderState
    from broker_sim.quorum.raft_log import RaftBatch, RaftLog, RaftStorage
    from broker_sim.quorum.raft_messages import RaftMessages
    from broker_sim.quorum.raft_outputs import Output
    from broker_sim.quorum.raft_settings import RaftSettings

__all__ = ["NotLeader", "RaftReplica"]

POLLS_MAX: Final = 16
"""How many states a voter may pass through in one moment: a sole voter goes from the start to leader."""
NEVER: Final = float("inf")


class NotLeader(BrokerSimError):
    """Only the leader appends. Mirrors NotLeaderException."""


class RaftReplica:
    """Voter `node_id` of `voters`. `initialize` it first; all times are milliseconds of one clock."""

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
        if node_id not in voters:
            raise BrokerSimError(f"node {node_id} is none of the voters {list(voters)}")
        self._core = RaftCore(
            node_id=node_id, voters=voters, settings=settings, messages=messages, storage=storage, random=random
        )
        self._requests = RaftRequests(self._core)
        self._responses = RaftResponses(self._core)
        self.due_ms = NEVER

    # State.

    @property
    def node_id(self) -> int:
        """Its own id."""
        return self._core.node_id

    @property
    def state(self) -> EpochState:
        """Its state in its epoch."""
        return self._core.quorum.state

    @property
    def epoch(self) -> int:
        """The highest epoch that it has seen."""
        return self._core.quorum.epoch

    @property
    def leader_id(self) -> int:
        """The leader of its epoch; -1 for unknown."""
        return self._core.quorum.leader_id

    @property
    def leader_state(self) -> LeaderState | None:
        """Its view of the other replicas, while it leads."""
        return self._core.quorum.leader

    @property
    def is_leader(self) -> bool:
        """True if it leads its epoch."""
        return self._core.quorum.is_leader

    @property
    def high_watermark(self) -> int:
        """The offset up to which records are known to be committed; -1 for unknown."""
        return self._core.high_watermark

    @property
    def log(self) -> RaftLog:
        """Its log."""
        return self._core.log

    def take_outbox(self) -> list[Output]:
        """Return the outputs in order, and clear the outbox."""
        outbox, self._core.outbox = self._core.outbox, []
        return outbox

    # Inputs.

    def initialize(self, now_ms: float) -> None:
        """The process starts."""
        quorum = self._core.quorum
        quorum.initialize(now_ms)
        if quorum.voters == [self.node_id] and quorum.state is not EpochState.CANDIDATE:
            self._core.time_out(now_ms)  # there is no other voter to wait for
        self._core.count_votes(now_ms)
        self.poll(now_ms)

    def adopt(self, now_ms: float) -> None:
        """Start with the stored state and a log that is committed: so a whole quorum starts in no time."""
        self._core.adopt(now_ms)
        self.poll(now_ms)

    def receive_request(self, source: int, correlation_id: int, request: Any, now_ms: float) -> None:
        """Take another voter's request; the response is in the outbox, now or later."""
        self._requests.receive(source, correlation_id, request, now_ms)
        self.poll(now_ms)

    def receive_response(self, source: int, correlation_id: int, response: Any, now_ms: float) -> None:
        """Take another voter's response; one that is no longer awaited is ignored."""
        if self._core.requests.take_expected(source, correlation_id):
            self._responses.receive(source, response, now_ms)
            self.poll(now_ms)

    def receive_failure(self, source: int, correlation_id: int, now_ms: float) -> None:
        """Note that no response will arrive: the connection is closed, or was refused."""
        if self._core.requests.take_expected(source, correlation_id):
            self._core.requests.back_off(source, now_ms)
            self.poll(now_ms)

    def append(self, content: Any, *, records: int, now_ms: float) -> RaftBatch:
        """Replicate `content`, which takes `records` offsets. A Committed output reports the commit.

        A change of leader may lose it.

        Raises:
            NotLeader: This voter does not lead.
        """
        if not self._core.quorum.is_leader:
            raise NotLeader(f"node {self.node_id} is {self.state.name} in epoch {self.epoch}")
        batch = self._core.accumulate(content, records, now_ms)
        self.poll(now_ms)
        return batch

    def resign(self, now_ms: float) -> None:
        """Stop leading, in order, as before a shutdown; does nothing to any other voter."""
        if self._core.quorum.is_leader:
            self._core.resign(now_ms)
            self.poll(now_ms)

    def poll(self, now_ms: float) -> None:
        """Handle the timers that are due, and set `due_ms`.

        Raises:
            BrokerSimError: The voter does not come to rest after POLLS_MAX steps.
        """
        for source, parked in list(self._core.parked.items()):
            if parked.due_ms <= now_ms + TOLERANCE_MS:
                self._core.complete_parked(source, ErrorCode.NONE, now_ms)
        for _ in range(POLLS_MAX):
            before = (self.state, self.epoch, self.leader_id)
            due_ms = self._poll_state(now_ms)
            if before == (self.state, self.epoch, self.leader_id):
                waiting_ms = [parked.due_ms for parked in self._core.parked.values()]
                self.due_ms = min([due_ms, self._core.requests.next_due_ms(now_ms), *waiting_ms])
                return
        raise BrokerSimError(f"node {self.node_id} does not come to rest: {self.state.name} in epoch {self.epoch}")

    # One step in each state.

    def _poll_state(self, now_ms: float) -> float:
        state = self.state
        if state is EpochState.LEADER:
            return self._poll_leader(now_ms)
        if self._core.quorum.due_ms <= now_ms + TOLERANCE_MS:
            self._time_out(now_ms)
            return now_ms
        if state is EpochState.FOLLOWER:
            self._fetch(now_ms)
        elif state in (EpochState.CANDIDATE, EpochState.PROSPECTIVE):
            self._request_votes(now_ms)
        elif state is EpochState.RESIGNED:
            self._announce_resignation(now_ms)
        elif self._core.settings.pre_vote:
            self._look_for_leader(now_ms)
        return self._core.quorum.due_ms

    def _time_out(self, now_ms: float) -> None:
        quorum = self._core.quorum
        if quorum.state is EpochState.PROSPECTIVE:
            self._core.end_pre_vote(now_ms)
        elif quorum.state is EpochState.CANDIDATE and not (self._core.settings.pre_vote or quorum.is_backing_off):
            quorum.back_off(election_backoff_ms(self._core), now_ms)
        else:
            self._core.time_out(now_ms)

    def _poll_leader(self, now_ms: float) -> float:
        core, leader = self._core, self._core.quorum.leader
        assert leader is not None, "a leader knows its followers"
        if leader.check_quorum_due_ms <= now_ms + TOLERANCE_MS:
            core.resign(now_ms)
            return now_ms
        due_ms = leader.check_quorum_due_ms
        if core.accumulated:
            if core.accumulated_due_ms <= now_ms + TOLERANCE_MS:
                core.write_accumulated(now_ms)
            else:
                due_ms = min(due_ms, core.accumulated_due_ms)
        if not core.settings.pre_vote:
            self._begin_epoch(leader.unacknowledged_voters(), now_ms)
            return due_ms
        silence_ms = core.settings.begin_quorum_epoch_timeout_ms
        if leader.begin_epoch_due_ms <= now_ms + TOLERANCE_MS:
            self._begin_epoch(leader.silent_voters(now_ms, silence_ms), now_ms)
            leader.begin_epoch_due_ms = now_ms + max(silence_ms, 1)
        return min(due_ms, leader.begin_epoch_due_ms)

    def _begin_epoch(self, voters: Sequence[int], now_ms: float) -> None:
        for voter in voters:
            if self._core.requests.is_ready(voter, now_ms):
                self._core.send(voter, self._core.messages.begin_request(voter, epoch=self.epoch), now_ms)

    def _request_votes(self, now_ms: float) -> None:
        core, quorum = self._core, self._core.quorum
        if quorum.election.is_rejected or quorum.is_backing_off:
            return
        for voter in quorum.election.unrecorded_voters:
            if core.requests.is_ready(voter, now_ms):
                request = core.messages.vote_request(
                    voter,
                    epoch=quorum.epoch,
                    log_end=core.log.end,
                    pre_vote=quorum.state is EpochState.PROSPECTIVE,
                )
                core.send(voter, request, now_ms)

    def _announce_resignation(self, now_ms: float) -> None:
        core, quorum = self._core, self._core.quorum
        for voter in quorum.unacknowledged:
            if core.requests.is_ready(voter, now_ms):
                core.send(voter, core.messages.end_request(epoch=quorum.epoch, successors=quorum.successors), now_ms)

    def _fetch(self, now_ms: float) -> None:
        requests, leader_id = self._core.requests, self.leader_id
        if not self._core.settings.pre_vote:
            if requests.is_ready(leader_id, now_ms):
                self._send_fetch(leader_id, now_ms)
        elif requests.has_timed_out(leader_id, now_ms):
            requests.reset(leader_id)
            self._look_for_leader(now_ms)
        elif requests.is_backing_off(leader_id, now_ms):
            self._look_for_leader(now_ms)
        elif not requests.has_any_in_flight(now_ms):
            self._send_fetch(leader_id, now_ms)

    def _look_for_leader(self, now_ms: float) -> None:
        voter = self._core.requests.any_ready(now_ms)
        if voter is not None:
            self._send_fetch(voter, now_ms)

    def _send_fetch(self, voter: int, now_ms: float) -> None:
        core = self._core
        fetching = core.snapshot_fetch
        if fetching is not None and voter == self.leader_id:
            wanted = core.messages.snapshot_request(
                epoch=self.epoch, snapshot_id=fetching.id, position=fetching.position
            )
            core.send(voter, wanted, now_ms)
            return
        request = core.messages.fetch_request(
            epoch=self.epoch,
            log_end=core.log.end,
            high_watermark=self.high_watermark,
            max_wait_ms=MAX_FETCH_WAIT_MS,
        )
        core.send(voter, request, now_ms)
