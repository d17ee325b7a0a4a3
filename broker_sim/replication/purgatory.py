"""The deadlines of delayed operations. Mirrors the timer half of DelayedOperationPurgatory.

The other half of Kafka's purgatory, the watchers by key, is the partition itself: each Partition holds the operations
that wait for it, so that no search is needed. Here operations with the same delay share a lane, in which
deadlines only grow: one reactor timer per lane, none per operation, and an
operation that completed early costs a `popleft`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from twisted.internet.interfaces import IDelayedCall

    from sim_runtime.interfaces import IReactor

_TIMER_SLACK_S: Final = 5e-7
"""Half of the reactor's microsecond: a deadline that was added up as a float may lie that far behind its timer."""


class DelayedOperation(Protocol):
    """An operation that ends once: completed by an event, or expired by its deadline."""

    completed: bool

    def expire(self) -> None:
        """The deadline has passed and `completed` is false."""


class _Lane:
    __slots__ = ("operations", "timer")

    def __init__(self) -> None:
        self.operations: deque[tuple[float, DelayedOperation]] = deque()
        self.timer: IDelayedCall | None = None


class ExpirationQueue:
    """The deadlines of one broker's delayed operations. Operations of one delay expire in the order of `add`."""

    __slots__ = ("_lanes", "_reactor")

    def __init__(self, reactor: IReactor) -> None:
        self._reactor = reactor
        self._lanes: dict[int, _Lane] = {}

    def add(self, operation: DelayedOperation, delay_ms: int) -> None:
        """Expire `operation` in `delay_ms` unless it is completed by then."""
        delay_ms = max(delay_ms, 0)
        lane = self._lanes.get(delay_ms)
        if lane is None:
            lane = self._lanes[delay_ms] = _Lane()
        operations = lane.operations
        while operations and operations[0][1].completed:
            operations.popleft()
        operations.append((self._reactor.seconds() + delay_ms / 1000, operation))
        if lane.timer is None:
            lane.timer = self._reactor.callLater(delay_ms / 1000, self._expire, delay_ms, lane)

    @property
    def operations(self) -> list[DelayedOperation]:
        """The waiting operations, per delay the oldest first."""
        return [each for lane in self._lanes.values() for _, each in lane.operations if not each.completed]

    def stop(self) -> None:
        """Remove all operations; none expires any more."""
        for lane in self._lanes.values():
            if lane.timer is not None and lane.timer.active():
                lane.timer.cancel()
        self._lanes.clear()

    def _expire(self, delay_ms: int, lane: _Lane) -> None:
        operations = lane.operations
        due = self._reactor.seconds() + _TIMER_SLACK_S
        try:
            # The lane keeps the timer that has fired: operations that are added meanwhile are behind those in it.
            while operations and (operations[0][1].completed or operations[0][0] <= due):
                operation = operations.popleft()[1]
                if not operation.completed:
                    operation.expire()
        finally:
            if self._lanes.get(delay_ms) is lane:  # an expired operation may have stopped the queue
                if operations:
                    delay_s = max(0.0, operations[0][0] - self._reactor.seconds())
                    lane.timer = self._reactor.callLater(delay_s, self._expire, delay_ms, lane)
                else:
                    del self._lanes[delay_ms]
