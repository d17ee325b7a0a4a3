"""The share sessions of one broker: the partitions that a member fetches, by epochs. Mirrors ShareSessionCache.

A request with epoch 0 opens a session, later ones have 1, 2, ... and name only changes; -1 closes it. A session ends
with the connection that opened it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.share_partitions.share_error import ShareError
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FINAL_EPOCH", "INITIAL_EPOCH", "SessionKey", "ShareSession", "ShareSessions", "TopicIdPartition"]

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_INT32_MAX: Final = 2**31 - 1


class TopicIdPartition(NamedTuple):
    """A partition by the id of its topic."""

    topic_id: bytes
    partition: int


class SessionKey(NamedTuple):
    """A member of a share group."""

    group_id: str
    member_id: str


@dataclass(slots=True)
class ShareSession:
    """The partitions of a session, in the order in which they are fetched.

    The value of a partition is True if the next response names it although it has no records.
    """

    key: SessionKey
    epoch: int
    partitions: dict[TopicIdPartition, bool]
    connection_id: str

    def update(self, added: Sequence[TopicIdPartition], forgotten: Sequence[TopicIdPartition]) -> None:
        """Add and remove partitions."""
        for partition in added:
            self.partitions.setdefault(partition, True)
        for partition in forgotten:
            self.partitions.pop(partition, None)

    def next_epoch(self) -> None:
        """Expect the next epoch; it wraps around to 1."""
        self.epoch = 1 if self.epoch == _INT32_MAX else self.epoch + 1


class ShareSessions:
    """All sessions, at most `limit`."""

    def __init__(self) -> None:
        self._sessions: dict[SessionKey, ShareSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, key: SessionKey) -> ShareSession:
        """Return a session.

        Raises:
            ShareError: SHARE_SESSION_NOT_FOUND.
        """
        session = self._sessions.get(key)
        if session is None:
            raise ShareError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        return session

    def open(
        self, key: SessionKey, partitions: Sequence[TopicIdPartition], connection_id: str, *, limit: int
    ) -> ShareSession:
        """Open a session in place of one of the same member.

        Raises:
            ShareError: SHARE_SESSION_LIMIT_REACHED, or UNKNOWN_SERVER_ERROR for a partition that is named twice.
        """
        self._sessions.pop(key, None)
        named = dict.fromkeys(partitions, False)
        if len(named) != len(partitions):
            raise ShareError(ErrorCode.UNKNOWN_SERVER_ERROR)
        if len(self._sessions) >= limit:
            raise ShareError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        session = self._sessions[key] = ShareSession(key, INITIAL_EPOCH + 1, named, connection_id)
        return session

    def at_epoch(self, key: SessionKey, epoch: int) -> ShareSession:
        """Return a session that expects an epoch.

        Raises:
            ShareError: SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH.
        """
        session = self.get(key)
        if session.epoch != epoch:
            raise ShareError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        return session

    def pop(self, key: SessionKey) -> ShareSession | None:
        """Remove a session, None if there is none."""
        return self._sessions.pop(key, None)

    def of_connection(self, connection_id: str) -> list[ShareSession]:
        """Return the sessions that a connection has opened."""
        return [session for session in self._sessions.values() if session.connection_id == connection_id]

    def of_group(self, group_id: str) -> list[ShareSession]:
        """Return the sessions of the members of a group."""
        return [session for key, session in self._sessions.items() if key.group_id == group_id]

    def clear(self) -> None:
        """Remove all sessions."""
        self._sessions.clear()
