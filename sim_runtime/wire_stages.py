"""The stages that shape one direction of a connection; `wire_shaping` describes each."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from sim_runtime.paces import retransmission_us
from sim_runtime.wire_line import QueueStage, Stage, StageTimer

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from sim_runtime.paces import Pace
    from sim_runtime.wire_line import Line

__all__ = [
    "CutStage",
    "LimitStage",
    "NotReadingStage",
    "PacedStage",
    "PeekStage",
    "ResetStage",
    "SilenceStage",
    "SliceStage",
    "SlowCloseStage",
    "StalledStage",
    "VanishedStage",
]

GIVE_UP_S: Final = 924.6
"""The time that Linux retransmits unacknowledged bytes by default (tcp_retries2)."""
NEXT_ITERATION_S: Final = 1e-6
"""At the same time, two calls share an iteration of a simulated reactor."""


class PacedStage(QueueStage):
    """Bytes take time: latency, bandwidth or loss. Pieces of at most `piece_bytes` count each by itself."""

    __slots__ = ("_pace", "_piece_bytes")

    def __init__(self, line: Line, pace: Pace, *, piece_bytes: int | None = None) -> None:
        super().__init__(line)
        self._pace = pace
        self._piece_bytes = piece_bytes

    def receive(self, data: bytes) -> None:
        """Pass each piece on when it is due."""
        now_us = self.line.now_us()
        size = self._piece_bytes
        if size is None or len(data) <= size:
            self.pass_at(self._pace.due_us(now_us, len(data)), data)
            return
        for begin in range(0, len(data), size):
            piece = data[begin : begin + size]
            self.pass_at(self._pace.due_us(now_us, len(piece)), piece)

    def finish(self) -> None:
        """The end takes the time of no bytes."""
        self.pass_at(self._pace.due_us(self.line.now_us(), 0), None)


class SliceStage(QueueStage):
    """Bytes arrive in pieces around `size`, each `delay_us` after the one before.

    As Toxiproxy's slicer it halves a write until the pieces are small enough, and moves each middle by up to
    `variation` bytes.
    """

    __slots__ = ("_delay_us", "_next_us", "_random", "_size", "_variation")

    def __init__(self, line: Line, *, size: int, variation: int, delay_us: int, random: random.Random) -> None:
        super().__init__(line)
        self._size = size
        self._variation = variation
        # Without any delay the pieces would leave together, as one segment.
        self._delay_us = max(1, delay_us)
        self._random = random
        self._next_us = 0

    def receive(self, data: bytes) -> None:
        """Pass the pieces on one after another."""
        begin = 0
        for end in self._ends(0, len(data)):
            due_us = max(self.line.now_us(), self._next_us)
            self._next_us = due_us + self._delay_us
            self.pass_at(due_us, data[begin:end])
            begin = end

    def _ends(self, start: int, end: int) -> list[int]:
        ends: list[int] = []
        spans = [(start, end)]
        while spans:
            left, right = spans.pop()
            if right - left - self._size <= self._variation:
                ends.append(right)
                continue
            middle = left + (right - left) // 2
            if self._variation:
                middle += self._random.randrange(-self._variation, self._variation)
            spans += [(middle, right), (left, middle)]
        return ends


class SlowCloseStage(QueueStage):
    """The end of the direction comes late; bytes pass."""

    __slots__ = ("_delay_us",)

    def __init__(self, line: Line, delay_us: int) -> None:
        super().__init__(line)
        self._delay_us = delay_us

    def receive(self, data: bytes) -> None:
        """Pass bytes on."""
        self.after.receive(data)

    def finish(self) -> None:
        """Delay the end."""
        self.pass_at(self.line.now_us() + self._delay_us, None)


class SilenceStage(Stage):
    """No byte passes. The direction ends after a time, if one is given, or when the silence is over."""

    __slots__ = ("_close_after_s", "_timer")

    def __init__(self, line: Line, close_after_s: float | None) -> None:
        super().__init__(line)
        self._close_after_s = close_after_s
        self._timer = StageTimer(line)

    def begin(self) -> None:
        """Start the time."""
        if self._close_after_s is not None:
            self._timer.start(self._close_after_s, self.end_direction)

    def receive(self, data: bytes) -> None:
        """Drop bytes."""

    def remove(self) -> None:
        """End the direction, which has lost bytes."""
        self.discard()
        self.end_direction()
        super().remove()

    def discard(self) -> None:
        """Stop the time."""
        self._timer.cancel()


class LimitStage(Stage):
    """The direction ends once a number of bytes has passed; with 0, at the first byte, which does not pass."""

    __slots__ = ("_left_bytes",)

    def __init__(self, line: Line, limit_bytes: int) -> None:
        super().__init__(line)
        self._left_bytes = limit_bytes

    def receive(self, data: bytes) -> None:
        """Pass bytes on up to the limit."""
        if self.ended:
            return
        part = data[: self._left_bytes]
        self._left_bytes -= len(part)
        if part:
            self.after.receive(part)
        if not self._left_bytes:
            self.end_direction()

    def finish(self) -> None:
        """Pass the end on, unless this stage has ended the direction."""
        self.end_direction()


class ResetStage(Stage):
    """The connection is reset: after a number of bytes has passed, then a time; later bytes are dropped.

    With None bytes the time runs from the beginning; with 0 from the first byte, which is dropped, or from the end.
    """

    __slots__ = ("_after_s", "_left_bytes", "_timer")

    def __init__(self, line: Line, *, after_bytes: int | None, after_s: float) -> None:
        super().__init__(line)
        self._left_bytes = after_bytes
        self._after_s = after_s
        self._timer = StageTimer(line)

    def begin(self) -> None:
        """Start the time if no bytes are awaited."""
        if self._left_bytes is None:
            self._start()

    def receive(self, data: bytes) -> None:
        """Pass bytes on up to the number."""
        if self._left_bytes is None:
            self.after.receive(data)
            return
        part = data[: self._left_bytes]
        self._left_bytes -= len(part)
        if part:
            self.after.receive(part)
        if not self._left_bytes:
            self._start()

    def finish(self) -> None:
        """Reset instead of an end, if the bytes have passed."""
        if self._left_bytes:
            self.after.finish()
        else:
            self._start()

    def remove(self) -> None:
        """A reset that is due comes nevertheless: bytes have been dropped."""
        if not self._timer.running:
            super().remove()

    def discard(self) -> None:
        """Stop the time."""
        self._timer.cancel()

    def _start(self) -> None:
        if not self._timer.running:
            self._timer.start(self._after_s, self._flush)

    def _flush(self) -> None:
        # A reset discards bytes that are not in the kernel yet; a reactor writes them at the end of its iteration.
        self._timer.start(NEXT_ITERATION_S, self.line.connection.abort)


class CutStage(QueueStage):
    """No segment passes. Lost bytes arrive when TCP sends them again after the cut; TCP gives up after 15 minutes."""

    __slots__ = ("_give_up", "_lost", "_lost_us", "_over")
    loses_resets: ClassVar = True

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._lost: list[bytes | None] = []
        self._lost_us = 0
        self._over = False
        self._give_up = StageTimer(line)

    @property
    def held_bytes(self) -> int:
        """The number of bytes that the sender has not had acknowledged."""
        return self._held_bytes + sum(len(data or b"") for data in self._lost)

    def receive(self, data: bytes) -> None:
        """Lose bytes until the cut is over; then they pass behind the lost ones."""
        self._lose(data)

    def finish(self) -> None:
        """Lose the end in the same way."""
        self._lose(None)

    def remove(self) -> None:
        """The cut is over: the sender sends all that was lost again when its time-out ends, then the stage leaves."""
        self._give_up.cancel()
        self._over = True
        lost, self._lost = self._lost, []
        now_us = self.line.now_us()
        for data in lost:
            self.pass_at(retransmission_us(self._lost_us, now_us), data)
        if not self._queue:
            super().remove()

    def emptied(self) -> None:
        """All that was lost has arrived."""
        self.line.unlink(self)

    def discard(self) -> None:
        """Forget everything."""
        self._give_up.cancel()
        self._lost.clear()
        super().discard()

    def _lose(self, data: bytes | None) -> None:
        if self._over:
            self.pass_at(0, data)
            return
        if not self._lost:
            self._lost_us = self.line.now_us()
            self._give_up.start(GIVE_UP_S, self.line.connection.abort)
        self._lost.append(data)


class StalledStage(Stage):
    """No byte passes until the stall is over; then all pass at once."""

    __slots__ = ("_stalled",)

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._stalled: list[bytes | None] = []

    @property
    def held_bytes(self) -> int:
        """The number of bytes that wait."""
        return sum(len(data or b"") for data in self._stalled)

    def receive(self, data: bytes) -> None:
        """Keep bytes."""
        self._stalled.append(data)

    def finish(self) -> None:
        """Keep the end."""
        self._stalled.append(None)

    def remove(self) -> None:
        """Pass everything on."""
        stalled, self._stalled = self._stalled, []
        for data in stalled:
            if data is None:
                self.after.finish()
            else:
                self.after.receive(data)
        super().remove()

    def discard(self) -> None:
        """Drop everything."""
        self._stalled.clear()


class VanishedStage(Stage):
    """The other end seems to have vanished: neither bytes nor the end pass. Afterwards the connection is reset."""

    __slots__ = ()
    loses_resets: ClassVar = True

    def receive(self, data: bytes) -> None:
        """Drop bytes."""

    def finish(self) -> None:
        """Drop the end."""

    def remove(self) -> None:
        """Reset the connection, whose ends disagree about its state."""
        self.line.connection.abort()


class NotReadingStage(Stage):
    """Nothing is read from the peer: the kernel's buffers fill, then the peer's window is zero."""

    __slots__ = ()

    def begin(self) -> None:
        """Stop."""
        self.line.connection.stop_reading(self)

    def remove(self) -> None:
        """Read on."""
        super().remove()
        self.line.connection.start_reading(self)


class PeekStage(Stage):
    """Shows the first bytes to `decide`, until it returns True; then all pass, through stages that it has added."""

    __slots__ = ("_decide", "_finished", "_first")

    def __init__(self, line: Line, decide: Callable[[bytes], bool]) -> None:
        super().__init__(line)
        self._decide = decide
        self._first = b""
        self._finished = False

    @property
    def held_bytes(self) -> int:
        """The number of bytes that have not sufficed yet."""
        return len(self._first)

    def receive(self, data: bytes) -> None:
        """Show all bytes so far."""
        self._first += data
        if self._decide(self._first):
            self.remove()

    def finish(self) -> None:
        """The end came first."""
        self._finished = True
        self.remove()

    def remove(self) -> None:
        """Pass the bytes on and leave."""
        first, self._first = self._first, b""
        if first:
            self.after.receive(first)
        if self._finished:
            self.after.finish()
        super().remove()
