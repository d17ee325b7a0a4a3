"""The delivery state of a record, or of all records of a batch. Mirrors InFlightState.

A change that is to be stored first is a transition: it is visible at once, and completes when it is stored, or goes
back when that fails. A state in transition cannot change again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.share_partitions.record_states import RecordState, may_become

if TYPE_CHECKING:
    from broker_sim.share_partitions.acquisition_lock import AcquisitionLock

__all__ = ["NO_MEMBER", "InFlightState"]

NO_MEMBER: Final = ""


class InFlightState:
    """State, delivery count, the member that has acquired it, and its lock."""

    __slots__ = ("_archived", "_before", "delivery_count", "lock", "member_id", "state")

    def __init__(
        self, state: RecordState, delivery_count: int, member_id: str, lock: AcquisitionLock | None = None
    ) -> None:
        self.state = state
        self.delivery_count = delivery_count
        self.member_id = member_id
        self.lock = lock
        self._before: tuple[RecordState, str, int] | None = None
        """State, member and delivery limit before the transition."""
        self._archived = False

    @property
    def in_transition(self) -> bool:
        """True while a change is not stored yet."""
        return self._before is not None

    @property
    def is_available(self) -> bool:
        """True if a member can acquire it."""
        return self.state is RecordState.AVAILABLE and self._before is None

    def acquire(self, member_id: str) -> None:
        """Deliver it, once more; it is available."""
        self.state = RecordState.ACQUIRED
        self.member_id = member_id
        self.delivery_count += 1

    def change(self, state: RecordState, delivery_limit: int) -> bool:
        """Change the state at once; return False if it cannot. After the last delivery AVAILABLE is ARCHIVED."""
        if self.in_transition:
            return False
        if state is RecordState.AVAILABLE and self.delivery_count >= delivery_limit:
            state = RecordState.ARCHIVED
        if not may_become(self.state, state):
            return False
        self.state = state
        self.member_id = NO_MEMBER
        return True

    def begin(self, state: RecordState, delivery_limit: int) -> bool:
        """Begin a transition; return False if the state cannot change."""
        before = (self.state, self.member_id, delivery_limit)
        if not self.change(state, delivery_limit):
            return False
        self._before = before
        return True

    def complete(self, *, stored: bool) -> None:
        """End a transition; one that is not stored goes back, unless the lock has expired meanwhile."""
        before, self._before = self._before, None
        if stored or self._archived or before is None:
            self.cancel_lock()
            return
        state, member_id, delivery_limit = before
        if self.lock is not None and self.lock.expired:
            exhausted = self.delivery_count >= delivery_limit
            self.state = RecordState.ARCHIVED if exhausted else RecordState.AVAILABLE
            self.member_id = NO_MEMBER
            self.cancel_lock()
        else:
            self.state, self.member_id = state, member_id

    def archive(self) -> None:
        """End the delivery: the log has no such record, or not for this reader."""
        self._archived = True
        self.state = RecordState.ARCHIVED
        self.member_id = NO_MEMBER
        self.cancel_lock()

    def cancel_lock(self) -> None:
        """Remove the lock."""
        if self.lock is not None:
            self.lock.cancel()
            self.lock = None
