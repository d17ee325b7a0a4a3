"""The votes of one election. Mirrors EpochElection."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EpochElection"]


class EpochElection:
    """The votes of `voters`; `local_id` has voted for itself."""

    __slots__ = ("_votes",)

    def __init__(self, voters: Sequence[int], local_id: int) -> None:
        self._votes: dict[int, bool | None] = dict.fromkeys(voters)
        self._votes[local_id] = True

    def record(self, voter: int, *, granted: bool) -> None:
        """Note a voter's response; the last one counts."""
        assert voter in self._votes, "only voters get requests"
        self._votes[voter] = granted

    @property
    def granting_voters(self) -> list[int]:
        """The voters that have granted their vote."""
        return [voter for voter, granted in self._votes.items() if granted]

    @property
    def unrecorded_voters(self) -> list[int]:
        """The voters without a response yet."""
        return [voter for voter, granted in self._votes.items() if granted is None]

    @property
    def is_granted(self) -> bool:
        """True if a majority has granted its vote."""
        return len(self.granting_voters) >= self._majority

    @property
    def is_rejected(self) -> bool:
        """True if the granted and the missing votes are no majority."""
        return len(self.granting_voters) + len(self.unrecorded_voters) < self._majority

    @property
    def _majority(self) -> int:
        return len(self._votes) // 2 + 1
