"""A leader's view of the other replicas, the high watermark that follows, and when the leader must resign.
Mirrors LeaderState.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.quorum.raft_settings import RaftSettings

__all__ = ["LeaderState", "ReplicaProgress"]

OBSERVER_SESSION_TIMEOUT_MS: Final = 300_000


@dataclass(slots=True, kw_only=True)
class ReplicaProgress:
    """The progress of a replica's fetches; -1 for unknown."""

    replica_id: int
    end_offset: int = -1
    last_fetch_ms: float = -1.0
    last_caught_up_ms: float = -1.0
    leader_end_at_last_fetch: int = -1
    has_acknowledged: bool = False

    def fetched(self, offset: int, leader_end: int, now_ms: float) -> None:
        """Note a fetch from `offset`: the replica has all records before."""
        if offset >= leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif 0 < self.leader_end_at_last_fetch <= offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.leader_end_at_last_fetch = leader_end
        self.last_fetch_ms = max(self.last_fetch_ms, now_ms)
        self.end_offset = offset
        self.has_acknowledged = True


class LeaderState:
    """One epoch's leadership of `local_id`, whose first record has the offset `epoch_start_offset`."""

    __slots__ = (
        "_check_quorum_timeout_ms",
        "_fetched_voters",
        "_local_id",
        "begin_epoch_due_ms",
        "check_quorum_due_ms",
        "epoch_start_offset",
        "granting_voters",
        "high_watermark",
        "observers",
        "voters",
    )

    def __init__(
        self,
        *,
        local_id: int,
        voters: Sequence[int],
        epoch_start_offset: int,
        granting_voters: Sequence[int],
        settings: RaftSettings,
        now_ms: float,
    ) -> None:
        self._local_id = local_id
        self._check_quorum_timeout_ms = settings.check_quorum_timeout_ms
        self._fetched_voters: dict[int, None] = {}
        self.voters = {voter: ReplicaProgress(replica_id=voter) for voter in voters}
        self.voters[local_id].has_acknowledged = True
        self.observers: dict[int, ReplicaProgress] = {}
        self.epoch_start_offset = epoch_start_offset
        self.granting_voters = list(granting_voters)
        self.high_watermark = -1
        """Unknown (-1) until a majority has a record of this epoch, so it never goes back from leader to leader."""
        self.begin_epoch_due_ms = now_ms
        self.check_quorum_due_ms = float("inf") if len(voters) == 1 else now_ms + self._check_quorum_timeout_ms

    @property
    def end_offset(self) -> int:
        """The end of its own log."""
        return self.voters[self._local_id].end_offset

    def appended(self, end_offset: int) -> bool:
        """Note the growth of its own log; return True if the high watermark has grown."""
        self.voters[self._local_id].end_offset = end_offset
        return self._update_high_watermark()

    def fetched(self, replica_id: int, offset: int, now_ms: float) -> bool:
        """Note a fetch from `offset`; return True if the high watermark has grown."""
        progress = self.voters.get(replica_id)
        if progress is None:
            progress = self.observers.setdefault(replica_id, ReplicaProgress(replica_id=replica_id))
            progress.fetched(offset, self.end_offset, now_ms)
            return False
        progress.fetched(offset, self.end_offset, now_ms)
        self.contacted(replica_id, now_ms)
        return self._update_high_watermark()

    def contacted(self, replica_id: int, now_ms: float) -> None:
        """Note a fetch of a voter, of the log or a snapshot: a majority of them extends the leadership."""
        if replica_id not in self.voters:
            return
        self._fetched_voters[replica_id] = None
        if len(self._fetched_voters) >= len(self.voters) // 2:
            # With itself, that is a majority.
            self._fetched_voters.clear()
            self.check_quorum_due_ms = now_ms + self._check_quorum_timeout_ms

    def silent_voters(self, now_ms: float, silence_ms: float) -> list[int]:
        """The other voters that have not fetched for that long."""
        return [
            voter
            for voter, progress in self.voters.items()
            if voter != self._local_id and (progress.last_fetch_ms < 0 or now_ms - progress.last_fetch_ms >= silence_ms)
        ]

    def unacknowledged_voters(self) -> list[int]:
        """The voters that have neither fetched in this epoch nor acknowledged its leader."""
        return [voter for voter, progress in self.voters.items() if not progress.has_acknowledged]

    def successors(self) -> list[int]:
        """The other voters, those with the longest logs first."""
        others = [progress for voter, progress in self.voters.items() if voter != self._local_id]
        return [each.replica_id for each in sorted(others, key=lambda each: (-each.end_offset, each.replica_id))]

    def active_observers(self, now_ms: float) -> list[ReplicaProgress]:
        """The replicas without a vote that have fetched in the last five minutes."""
        for observer in list(self.observers):
            if now_ms - self.observers[observer].last_fetch_ms >= OBSERVER_SESSION_TIMEOUT_MS:
                del self.observers[observer]
        return list(self.observers.values())

    def _update_high_watermark(self) -> bool:
        ends = sorted((progress.end_offset for progress in self.voters.values()), reverse=True)
        reached = ends[len(ends) // 2]
        # Records of earlier leaders are committed only together with a record of this epoch (Raft, section 5.4.2).
        if reached <= self.epoch_start_offset or reached <= self.high_watermark:
            return False
        self.high_watermark = reached
        return True
