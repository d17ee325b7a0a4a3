"""A replica on its way to another log directory (KIP-113). Mirrors ReplicaAlterLogDirsThread with
Partition.maybeReplaceCurrentWithFutureReplica.

The future replica, in a directory named `<topic>-<partition>.<id>-future`, copies the records of the current one
in steps, while that one goes on serving; when it has all of them, it replaces the current one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall, IReactorTime

    from broker_sim.log.files.file_log import FileReplicaLog
    from broker_sim.log.stored_batch import StoredBatch

PIECE_BYTES: Final = 1 << 20
"""The bytes of one copy step: replica.fetch.max.bytes, at its default."""


class FutureReplica:
    """`caught_up` is called when no record is missing; `bytes_per_second` None means without a limit."""

    def __init__(
        self,
        current: FileReplicaLog,
        future: FileReplicaLog,
        *,
        reactor: IReactorTime,
        bytes_per_second: int | None,
        caught_up: Callable[[FutureReplica], None],
    ) -> None:
        self.current = current
        self.log = future
        self._reactor = reactor
        self.bytes_per_second = bytes_per_second
        self._caught_up = caught_up
        first = next(iter(current.batches()), None)
        start = current.log_end_offset if first is None else min(first.base_offset, current.log_start_offset)
        if start:
            future.truncate_fully_and_start_at(start)
        self._call: IDelayedCall | None = reactor.callLater(0, self._copy)

    @property
    def offset_lag(self) -> int:
        """The number of missing offsets."""
        return max(self.current.log_end_offset - self.log.log_end_offset, 0)

    def stop(self) -> None:
        """Copy nothing more."""
        call, self._call = self._call, None
        if call is not None and call.active():
            call.cancel()

    def _copy(self) -> None:
        self._call = None
        if self.log.directory.offline or self.current.directory.offline:
            return
        if self.log.log_end_offset > self.current.log_end_offset:
            self.log.truncate_to(self.current.log_end_offset)
        batches = self._missing()
        if not batches:
            self.log.log_end_offset = self.current.log_end_offset
            self._caught_up(self)
            return
        self.log.append_as_follower(batches, now_ms=round(self._reactor.seconds() * 1000))
        size = sum(batch.size for batch in batches)
        delay_s = 0.0 if self.bytes_per_second is None else size / self.bytes_per_second
        self._call = self._reactor.callLater(delay_s, self._copy)

    def _missing(self) -> list[StoredBatch]:
        found: list[StoredBatch] = []
        left = PIECE_BYTES if self.bytes_per_second is None else min(PIECE_BYTES, self.bytes_per_second)
        offset = self.log.log_end_offset
        for segment in self.current.segments:
            for batch in segment.batches[segment.index_of(offset) :]:
                left -= batch.size
                if found and left < 0:
                    return found
                found.append(batch)
        return found
