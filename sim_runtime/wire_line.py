"""One direction of a shaped connection: its stages in order, and the bytes that they hold.

Bytes pass from stage to stage, then leave; the end of the direction follows them. What the stages hold is bounded, as a
TCP window is: beyond WINDOW_BYTES the source must pause. All of it runs on the reactor's time, real or virtual.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall, IReactorTime

__all__ = ["Line", "QueueStage", "ShapedConnection", "Stage", "StageTimer"]

WINDOW_BYTES: Final = 512 * 1024
"""The number of bytes that a direction holds before its source must pause: a network in transit and two buffers."""


class ShapedConnection(Protocol):
    """The connection of a line, as its stages see it."""

    @property
    def upstream(self) -> Line:
        """The direction whose bytes are read here."""

    def abort(self) -> None:
        """Reset the connection at both ends, now."""

    def stop_reading(self, cause: object) -> None:
        """Read nothing from the peer until `start_reading(cause)`."""

    def start_reading(self, cause: object) -> None:
        """End `stop_reading(cause)`."""


class Stage:
    """One impairment of one direction. This one changes nothing."""

    __slots__ = ("after", "ended", "line")
    loses_resets: ClassVar[bool] = False
    """True if a RST does not pass."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.after: Stage | Exit = line.exit
        self.ended = False
        """True when this stage has ended its direction by itself: nothing more passes."""

    @property
    def held_bytes(self) -> int:
        """The number of bytes that wait here."""
        return 0

    def begin(self) -> None:
        """The stage is now part of its line."""

    def receive(self, data: bytes) -> None:
        """Bytes arrive."""
        self.after.receive(data)

    def finish(self) -> None:
        """The direction has ended: no bytes follow."""
        self.after.finish()

    def remove(self) -> None:
        """The impairment is over: pass on what waits here, then leave the line."""
        self.line.unlink(self)

    def end_direction(self) -> None:
        """End the direction here, after all that has passed."""
        if not self.ended:
            self.ended = True
            self.after.finish()

    def discard(self) -> None:
        """The connection is gone: drop everything and cancel timers."""


class Exit:
    """The end of a line: the receiver of its bytes."""

    __slots__ = ("finish", "receive")

    def __init__(self, receive: Callable[[bytes], None], finish: Callable[[], None]) -> None:
        self.receive = receive
        self.finish = finish


class StageTimer:
    """The one delayed call that a stage waits for."""

    __slots__ = ("_call", "_reactor")

    def __init__(self, line: Line) -> None:
        self._reactor = line.reactor
        self._call: IDelayedCall | None = None

    @property
    def running(self) -> bool:
        """True from `start` until the call begins or is cancelled."""
        return self._call is not None

    def start(self, delay_s: float, function: Callable[[], None]) -> None:
        """Call `function` after a delay; the timer must not run."""
        self._call = self._reactor.callLater(delay_s, self._fire, function)

    def cancel(self) -> None:
        """Stop; does nothing if it does not run."""
        call, self._call = self._call, None
        if call is not None:
            call.cancel()

    def _fire(self, function: Callable[[], None]) -> None:
        self._call = None
        function()


class QueueStage(Stage):
    """Passes bytes on at due times, in order."""

    __slots__ = ("_held_bytes", "_queue", "_timer")

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._queue: deque[tuple[int, bytes | None]] = deque()
        self._held_bytes = 0
        self._timer = StageTimer(line)

    @property
    def held_bytes(self) -> int:
        """The number of bytes that wait for their time."""
        return self._held_bytes

    def pass_at(self, due_us: int, data: bytes | None) -> None:
        """Pass `data` on at `due_us`, None for the end of the direction; never before what came earlier."""
        queue = self._queue
        if queue:
            due_us = max(due_us, queue[-1][0])
        elif due_us <= self.line.now_us():
            self._pass(data)
            return
        queue.append((due_us, data))
        self._held_bytes += len(data or b"")
        if len(queue) == 1:
            self._arm()

    def finish(self) -> None:
        """End the direction after all bytes."""
        self.pass_at(0, None)

    def remove(self) -> None:
        """Pass everything on now."""
        self._timer.cancel()
        while self._queue:
            self._pass_first()
        super().remove()

    def discard(self) -> None:
        """Drop everything."""
        self._timer.cancel()
        self._queue.clear()
        self._held_bytes = 0

    def emptied(self) -> None:
        """All bytes have passed."""

    def _pass(self, data: bytes | None) -> None:
        if data is None:
            self.after.finish()
        else:
            self.after.receive(data)

    def _pass_first(self) -> None:
        data = self._queue.popleft()[1]
        self._held_bytes -= len(data or b"")
        self._pass(data)

    def _arm(self) -> None:
        delay_s = max(0, self._queue[0][0] - self.line.now_us()) / 1e6
        self._timer.start(delay_s, self._due)

    def _due(self) -> None:
        now_us = self.line.now_us()
        while self._queue and self._queue[0][0] <= now_us:
            self._pass_first()
        if self._queue and not self._timer.running:
            self._arm()
        self.line.moved()
        if not self._queue:
            self.emptied()


class Line:
    """One direction: `receive` and `finish` are the ends of its source, `deliver` and `end` those of its receiver."""

    def __init__(
        self,
        reactor: IReactorTime,
        connection: ShapedConnection,
        *,
        deliver: Callable[[bytes], None],
        end: Callable[[], None],
        moved: Callable[[], None],
    ) -> None:
        self.reactor = reactor
        self.connection = connection
        self.exit = Exit(deliver, end)
        self.moved = moved
        """Called when bytes have left a stage by themselves."""
        self.stages: list[Stage] = []
        self.first: Stage | Exit = self.exit

    def now_us(self) -> int:
        """The reactor's time."""
        return round(self.reactor.seconds() * 1e6)

    @property
    def held_bytes(self) -> int:
        """The number of bytes that all stages hold."""
        return sum(stage.held_bytes for stage in self.stages)

    @property
    def full(self) -> bool:
        """True if the source must pause."""
        return self.held_bytes > WINDOW_BYTES

    @property
    def loses_resets(self) -> bool:
        """True if a RST does not arrive."""
        return any(stage.loses_resets for stage in self.stages)

    def receive(self, data: bytes) -> None:
        """Bytes of the source."""
        self.first.receive(data)

    def finish(self) -> None:
        """The source has ended."""
        self.first.finish()

    def add(self, stage: Stage) -> None:
        """Append a stage, which receives what the earlier ones pass on."""
        self.stages.append(stage)
        self._link()
        stage.begin()

    def unlink(self, stage: Stage) -> None:
        """Take a stage out, which holds nothing any more."""
        if stage in self.stages:
            self.stages.remove(stage)
            self._link()
            self.moved()

    def discard_bytes(self) -> None:
        """Drop everything that has not passed."""
        for stage in self.stages:
            stage.discard()

    def discard(self) -> None:
        """The connection is gone: drop everything that has not passed, and the stages."""
        self.discard_bytes()
        self.stages.clear()
        self.first = self.exit

    def _link(self) -> None:
        after: Stage | Exit = self.exit
        for stage in reversed(self.stages):
            stage.after = after
            after = stage
        self.first = after
