"""A virtual reactor on which a schedule decides what is delivered next, one message at a time, in place of due times.

Time stands still while a message can be delivered: the calls of the present instant run first, then the schedule takes
one step, and so on. When no message is in flight, time moves to the next due call. So every message is faster than
every timer, the number of steps between two timers is finite, and the order of the steps is the schedule's alone.
"""

# ruff: noqa: SLF001
# A call and its reactor are one part.

from __future__ import annotations

from heapq import heappop, heapreplace
from typing import TYPE_CHECKING, Protocol

from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Lane", "Scheduler", "SteppedReactor"]


class Lane(Protocol):
    """One direction between two nodes, with its messages in flight in order: the first one can be delivered."""

    @property
    def name(self) -> str:
        """The name of the lane: the same in every run that opens the same connections."""

    @property
    def source(self) -> str | int:
        """The node that sends, by its id or by the name of its host."""

    @property
    def target(self) -> str | int:
        """The node that receives."""

    @property
    def can_be_lost(self) -> bool:
        """True if the first message can be lost; there must be one."""

    @property
    def is_ready(self) -> bool:
        """True if there is a message in flight, and nothing holds it."""

    def deliver(self) -> None:
        """Deliver the first message."""

    def lose(self) -> None:
        """Lose the first message, with its connection."""


class Scheduler(Protocol):
    """Decides on the steps of a run. An error that it raises ends the run method of the reactor."""

    def next_step(self, ready: Sequence[Lane]) -> Callable[[], object] | None:
        """Return the next step, such as `lane.deliver` of a ready lane; None lets time move, if no lane is ready."""

    def time_moves(self, now_us: int) -> None:
        """Time has moved: no message was in flight."""


class InOrder:
    """Delivers the messages in the order in which their lanes got busy."""

    def next_step(self, ready: Sequence[Lane]) -> Callable[[], object] | None:
        """Return the delivery of the first ready lane."""
        return ready[0].deliver if ready else None

    def time_moves(self, now_us: int) -> None:
        """Do nothing."""


class SteppedReactor(VirtualReactor):
    """As VirtualReactor, but a lane delivers when `scheduler` takes that step."""

    __slots__ = ("_lanes", "scheduler")

    def __init__(self) -> None:
        super().__init__()
        self.scheduler: Scheduler = InOrder()
        self._lanes: dict[Lane, None] = {}

    def offer(self, lane: Lane) -> None:
        """Note that a lane has a message in flight."""
        if lane not in self._lanes:
            self._lanes[lane] = None

    def _run(self, until_us: int, *, single: bool = False) -> None:
        while True:
            made = self.calls_made
            super()._run(self.now_us, single=single)
            if self._interrupted and (not single or self.calls_made != made):
                return
            for lane in [lane for lane in self._lanes if not lane.is_ready]:
                del self._lanes[lane]
            step = self.scheduler.next_step(list(self._lanes))
            if step is not None:
                self.call_at_us(self.now_us, step)
            elif (due_us := self._next_due_us()) is not None and due_us <= until_us:
                self.now_us = due_us
                self.scheduler.time_moves(due_us)
            else:
                return

    def _next_due_us(self) -> int | None:
        """Return when the next call is due, None without one."""
        heap = self._heap
        while heap:
            due_us, sequence, call = heap[0]
            if call._queued != sequence:
                heappop(heap)
                self._stale -= 1
            elif call.sequence != sequence:
                call._queued = call.sequence
                heapreplace(heap, (call.due_us, call.sequence, call))
            else:
                return due_us
        return None
