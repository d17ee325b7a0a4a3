"""The time for which a member has acquired records. Mirrors AcquisitionLockTimerTask."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.replication.purgatory import ExpirationQueue
    from sim_runtime.interfaces import IReactor

__all__ = ["AcquisitionLock", "AcquisitionLocks"]


class AcquisitionLock:
    """The lock of a batch, or of one offset of it."""

    __slots__ = ("_fired", "completed", "expired", "expires_at_s", "first_offset", "last_offset")

    def __init__(
        self, first_offset: int, last_offset: int, expires_at_s: float, fired: Callable[[AcquisitionLock], None]
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.expires_at_s = expires_at_s
        self.completed = False
        """True if the lock is cancelled or expired."""
        self.expired = False
        self._fired = fired

    def cancel(self) -> None:
        """End the lock: its records are acknowledged, released or locked anew."""
        self.completed = True

    def expire(self) -> None:
        """Release the records of the lock."""
        self.completed = self.expired = True
        self._fired(self)


class AcquisitionLocks:
    """Makes the locks of one share partition."""

    def __init__(
        self, reactor: IReactor, expirations: ExpirationQueue, fired: Callable[[AcquisitionLock], None]
    ) -> None:
        self._reactor = reactor
        self._expirations = expirations
        self._fired = fired

    def lock(self, first_offset: int, last_offset: int, delay_ms: int) -> AcquisitionLock:
        """Lock a range of offsets for `delay_ms`."""
        lock = AcquisitionLock(first_offset, last_offset, self._reactor.seconds() + delay_ms / 1000, self._fired)
        self._expirations.add(lock, delay_ms)
        return lock

    def split(self, lock: AcquisitionLock, offset: int) -> AcquisitionLock:
        """Lock one offset of a lock for its remaining time."""
        return self.lock(offset, offset, max(round((lock.expires_at_s - self._reactor.seconds()) * 1000), 0))
