"""Fetch sessions: a node remembers the partitions of a client, which sends what has changed (KIP-227).

Mirrors FetchSessionHandler and FetchMetadata.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_client.records import TopicPartition

__all__ = ["FetchSession", "FetchTarget", "SessionRequest"]

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = 2**31 - 1


class FetchTarget(NamedTuple):
    """The data of one partition in a request: equal data are not sent again."""

    topic_id: bytes
    offset: int
    leader_epoch: int


@dataclass(slots=True, kw_only=True)
class SessionRequest:
    """The contents of the next request; `forgotten` has the topic id that the node knows."""

    session_id: int
    epoch: int
    targets: dict[TopicPartition, FetchTarget]
    forgotten: dict[TopicPartition, bytes] = field(default_factory=dict)


class FetchSession:
    """The session with one node."""

    __slots__ = ("_epoch", "_id", "_partitions")

    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._partitions: dict[TopicPartition, FetchTarget] = {}

    @property
    def is_open(self) -> bool:
        """True if the node keeps a session."""
        return self._id != NO_SESSION

    def request(self, wanted: Mapping[TopicPartition, FetchTarget]) -> SessionRequest:
        """Return what to send in order to fetch these partitions, and no others."""
        earlier, self._partitions = self._partitions, dict(wanted)
        if self._epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            return SessionRequest(session_id=self._id, epoch=self._epoch, targets=dict(wanted))
        forgotten = {
            key: known.topic_id
            for key, known in earlier.items()
            if key not in wanted or wanted[key].topic_id != known.topic_id
        }
        targets = {key: one for key, one in wanted.items() if earlier.get(key) != one}
        return SessionRequest(session_id=self._id, epoch=self._epoch, targets=targets, forgotten=forgotten)

    def closing_request(self) -> SessionRequest:
        """Return the request that ends the session."""
        return SessionRequest(session_id=self._id, epoch=FINAL_EPOCH, targets={})

    def succeeded(self, session_id: int) -> None:
        """A response without an error has arrived."""
        if session_id == NO_SESSION:
            self._id, self._epoch = NO_SESSION, INITIAL_EPOCH
        elif self._epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._id, self._epoch = session_id, 1
        else:
            self._epoch = 1 if self._epoch == _EPOCH_MAX else self._epoch + 1

    def refused(self, code: ErrorCode) -> None:
        """The node has refused the request: begin anew, and end the old session if it may still exist."""
        if code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self._id, self._epoch = NO_SESSION, INITIAL_EPOCH
        else:
            self.failed()

    def failed(self) -> None:
        """No response has arrived: the next request replaces the session."""
        self._epoch = INITIAL_EPOCH
