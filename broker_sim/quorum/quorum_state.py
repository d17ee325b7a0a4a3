"""One voter's epoch, leader and vote, and their transitions; persistent facts are written before use. Mirrors
QuorumState with the classes of its states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.quorum.epoch_states import PRE_VOTE_TABLE, TABLE, EpochState, QuorumEvent
from broker_sim.quorum.leader_state import LeaderState
from broker_sim.quorum.votes import EpochElection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from broker_sim.quorum.raft_log import RaftStorage
    from broker_sim.quorum.raft_settings import RaftSettings

__all__ = ["QuorumState"]

NO_NODE: Final = -1
NEVER: Final = float("inf")


class QuorumState:
    """`due_ms` is when the election or fetch time-out of the present state is over; a leader has none."""

    def __init__(
        self, *, local_id: int, voters: Sequence[int], settings: RaftSettings, storage: RaftStorage, random: Random
    ) -> None:
        self.local_id = local_id
        self.voters = list(voters)
        self._settings = settings
        self._storage = storage
        self._random = random
        self._table = PRE_VOTE_TABLE if settings.pre_vote else TABLE
        self.state = EpochState.UNATTACHED
        self.epoch = 0
        self.leader_id = NO_NODE
        self.voted_id = NO_NODE
        self.due_ms = NEVER
        self.high_watermark = -1
        self.has_fetched_from_leader = False
        self.election = EpochElection(voters, local_id)
        self.retries = 0
        self.is_backing_off = False
        self.leader: LeaderState | None = None
        self.unacknowledged: dict[int, None] = {}
        self.successors: list[int] = []

    @property
    def is_leader(self) -> bool:
        """True if it leads its epoch; another voter may lead a higher one."""
        return self.state is EpochState.LEADER

    @property
    def is_nominee(self) -> bool:
        """True if it counts votes."""
        return self.state in (EpochState.CANDIDATE, EpochState.PROSPECTIVE)

    def initialize(self, now_ms: float) -> None:
        """Load the stored epoch, vote and leader. A former leader resigns: its messages may still be on their way."""
        stored = self._storage.quorum_state
        log_epoch = self._storage.log.last_epoch
        self.epoch = max(stored.leader_epoch, log_epoch)
        self.due_ms = now_ms + self._random_election_timeout_ms()
        if stored.leader_epoch < log_epoch:
            self.state = EpochState.UNATTACHED
        elif stored.leader_id == self.local_id:
            self.leader_id = self.local_id
            self.state = EpochState.RESIGNED
            self.unacknowledged = self._others()
        elif stored.leader_id >= 0:
            self.leader_id, self.voted_id = stored.leader_id, stored.voted_id
            self.state = EpochState.FOLLOWER
            self.due_ms = now_ms + self._settings.fetch_timeout_ms
        elif stored.voted_id == self.local_id:
            self.voted_id = self.local_id
            self.state = EpochState.CANDIDATE
            self.retries = 1
        elif stored.voted_id >= 0:
            self.voted_id = stored.voted_id
            self.state = EpochState.VOTED
        self._write()

    def adopt(self, high_watermark: int, now_ms: float) -> None:
        """Continue in the stored epoch as if the process had never ended, also as its leader."""
        stored = self._storage.quorum_state
        self.epoch, self.leader_id, self.high_watermark = stored.leader_epoch, stored.leader_id, high_watermark
        if stored.leader_id != self.local_id:
            self.state = EpochState.FOLLOWER
            self.fetched_from_leader(now_ms)
            return
        self.state = EpochState.LEADER
        self.leader = self._leadership(self._storage.log.last_epoch_start, self.voters, now_ms)
        self.leader.high_watermark = high_watermark

    # Transitions.

    def to_unattached(self, epoch: int, now_ms: float) -> None:
        """A higher epoch is known, its leader is not. A running election time-out runs on."""
        keeps = self.state in (EpochState.CANDIDATE, EpochState.VOTED, EpochState.UNATTACHED, EpochState.RESIGNED) or (
            self.state is EpochState.PROSPECTIVE and not self.election.is_rejected
        )
        due_ms = self.due_ms if keeps and not self.is_backing_off else now_ms + self._random_election_timeout_ms()
        self._step(QuorumEvent.HIGHER_EPOCH)
        self._forget_leadership()
        self.epoch, self.leader_id, self.voted_id = epoch, NO_NODE, NO_NODE
        self.due_ms = due_ms
        self._write()

    def to_follower(self, epoch: int, leader_id: int, now_ms: float) -> None:
        """The leader of this epoch or of a higher one is known. The vote stays given within the epoch."""
        assert leader_id != self.local_id, "a voter follows others"
        self._step(QuorumEvent.LEADER_OF_HIGHER_EPOCH if epoch > self.epoch else QuorumEvent.LEADER)
        self._forget_leadership()
        if epoch > self.epoch:
            self.voted_id = NO_NODE
        self.epoch, self.leader_id = epoch, leader_id
        self._follow(now_ms)
        self._write()

    def grant_vote(self, candidate_id: int, now_ms: float) -> None:
        """Give the one vote of this epoch; the candidate then has a time-out's time to win."""
        self._step(QuorumEvent.VOTE)
        self.voted_id = candidate_id
        self.due_ms = now_ms + self._random_election_timeout_ms()
        self.election = EpochElection(self.voters, self.local_id)
        self._write()

    def time_out(self, now_ms: float) -> None:
        """Handle the time-out of the present state; the table has the next one."""
        if self._table.next(self.state, QuorumEvent.TIME_OUT) is EpochState.UNATTACHED:
            # Out of RESIGNED the epoch must grow, or a response to a fetch could name this voter as leader of it.
            self._step(QuorumEvent.TIME_OUT)
            self._forget_leadership()
            self.epoch, self.leader_id, self.voted_id = self.epoch + 1, NO_NODE, NO_NODE
            self.due_ms = now_ms + self._random_election_timeout_ms()
            self._write()
            return
        was_candidate = self.state is EpochState.CANDIDATE
        self._step(QuorumEvent.TIME_OUT)
        if self.state is EpochState.CANDIDATE:
            self._stand(now_ms, retries=self.retries + 1 if was_candidate else 1)
            return
        self.election = EpochElection(self.voters, self.local_id)
        self.due_ms = now_ms + self._random_election_timeout_ms()

    def to_candidate(self, now_ms: float) -> None:
        """A majority would vote for it: raise the epoch."""
        self._step(QuorumEvent.MAJORITY)
        self._stand(now_ms, retries=1)

    def end_pre_vote(self, now_ms: float) -> None:
        """A majority would not: back to the leader that is known, or to waiting for one."""
        if self.leader_id >= 0:
            self._step(QuorumEvent.REFUSED_KNOWING_LEADER)
            self._follow(now_ms)
            return
        due_ms = now_ms + self._random_election_timeout_ms() if self.election.is_rejected else self.due_ms
        self._step(QuorumEvent.REFUSED_HAVING_VOTED if self.voted_id >= 0 else QuorumEvent.REFUSED)
        self.due_ms = due_ms

    def to_leader(self, epoch_start_offset: int, now_ms: float) -> LeaderState:
        """A majority has voted for it."""
        assert self.election.is_granted, "a leader has a majority"
        self._step(QuorumEvent.MAJORITY)
        self.leader_id = self.local_id
        self.due_ms = NEVER
        self.is_backing_off = False
        self.leader = self._leadership(epoch_start_offset, self.election.granting_voters, now_ms)
        self._write()
        return self.leader

    def to_resigned(self, now_ms: float) -> None:
        """Give up leading; nothing is written, because a leader that starts again has resigned."""
        assert self.leader is not None, "only a leader resigns"
        self._step(QuorumEvent.RESIGNATION)
        successors = self.leader.successors()
        self._forget_leadership()
        self.successors = successors
        self.unacknowledged = self._others()
        self.due_ms = now_ms + self._random_election_timeout_ms()

    def back_off(self, delay_ms: float, now_ms: float) -> None:
        """A candidate has lost or timed out (before 4.x): wait before standing again."""
        self.is_backing_off = True
        self.due_ms = now_ms + delay_ms

    def fetched_from_leader(self, now_ms: float) -> None:
        """A follower's fetch has succeeded."""
        self.has_fetched_from_leader = True
        self.due_ms = now_ms + self._settings.fetch_timeout_ms

    # Votes.

    def grants_vote(self, candidate_id: int, *, is_log_up_to_date: bool, pre_vote: bool) -> bool:
        """Return True if a candidate or prospective of this epoch gets the vote. Mirrors canGrantVote."""
        if pre_vote:
            if self.state is EpochState.FOLLOWER:
                return is_log_up_to_date and not self.has_fetched_from_leader
            return is_log_up_to_date and self.state is not EpochState.LEADER
        if self.state not in (EpochState.UNATTACHED, EpochState.VOTED, EpochState.PROSPECTIVE):
            return False
        if self.voted_id >= 0:
            return self.voted_id == candidate_id
        return is_log_up_to_date and self.leader_id < 0

    # Helpers.

    def _step(self, event: QuorumEvent) -> None:
        self.state = self._table.next(self.state, event)

    def _leadership(self, epoch_start_offset: int, granting_voters: Sequence[int], now_ms: float) -> LeaderState:
        return LeaderState(
            local_id=self.local_id,
            voters=self.voters,
            epoch_start_offset=epoch_start_offset,
            granting_voters=granting_voters,
            settings=self._settings,
            now_ms=now_ms,
        )

    def _stand(self, now_ms: float, *, retries: int) -> None:
        self._forget_leadership()
        self.epoch += 1
        self.leader_id = NO_NODE
        self.voted_id = self.local_id
        self.retries = retries
        self.election = EpochElection(self.voters, self.local_id)
        self.due_ms = now_ms + self._random_election_timeout_ms()
        self._write()

    def _follow(self, now_ms: float) -> None:
        self.has_fetched_from_leader = False
        self.due_ms = now_ms + self._settings.fetch_timeout_ms

    def _forget_leadership(self) -> None:
        if self.leader is not None:
            self.high_watermark = max(self.high_watermark, self.leader.high_watermark)
            self.leader = None
        self.unacknowledged = {}
        self.successors = []
        self.is_backing_off = False

    def _others(self) -> dict[int, None]:
        return dict.fromkeys(voter for voter in self.voters if voter != self.local_id)

    def _write(self) -> None:
        self._storage.write(epoch=self.epoch, leader_id=self.leader_id, voted_id=self.voted_id)

    def _random_election_timeout_ms(self) -> int:
        timeout_ms = self._settings.election_timeout_ms
        return timeout_ms + self._random.randrange(timeout_ms) if timeout_ms else 0
