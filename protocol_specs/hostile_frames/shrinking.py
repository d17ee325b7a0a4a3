"""The smallest bytes that still break the rule that a finding broke: pieces are cut as long as it stays broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.framing import framed
from protocol_specs.hostile_frames.judge import (
    SLOWEST_S,
    Fault,
    fastest,
    judge,
    measured_memory,
    memory_allowed,
)

if TYPE_CHECKING:
    from protocol_specs.hostile_frames.campaign import Finding
    from protocol_specs.hostile_frames.judge import Clock
    from protocol_specs.hostile_frames.subjects import Subject

TRIES_MAX: Final = 3000


def shrunk(finding: Finding, clock: Clock) -> bytes:
    """The finding's bytes without what its fault does not need; a frame's size, where it was right, stays right.

    A finding about sound bytes stays as it is: it is about all of them.
    """
    subject, data = finding.frame.subject, finding.frame.data
    if finding.fault is Fault.SOUND:
        return data
    sized = subject.framed and data == framed(data[4:])
    cutter = _Cutter(subject, finding.fault, clock, sized=sized)
    body = cutter.cut(data[4:] if sized else data)
    return framed(body) if sized else body


class _Cutter:
    def __init__(self, subject: Subject, fault: Fault, clock: Clock, *, sized: bool) -> None:
        self.subject = subject
        self.fault = fault
        self.clock = clock
        self.sized = sized
        self.tries = 0

    def cut(self, data: bytes) -> bytes:
        """Cut pieces of half the bytes, of a quarter ... of one, then of one again until nothing can go."""
        size = max(1, len(data) // 2)
        while True:
            shorter = self._cut_pieces(data, size)
            if size == 1 and shorter == data:
                return data
            data, size = shorter, max(1, size // 2)

    def _cut_pieces(self, data: bytes, size: int) -> bytes:
        at = 0
        while at < len(data) and self.tries < TRIES_MAX:
            shorter = data[:at] + data[at + size :]
            if self._is_broken(shorter):
                data = shorter
            else:
                at += size
        return data

    def _is_broken(self, data: bytes) -> bool:
        self.tries += 1
        if self.sized:
            data = framed(data)
        if self.fault is Fault.SLOW:
            return fastest(self.subject, data, self.clock) > SLOWEST_S * max(1.0, len(data) / 1024)
        if self.fault is Fault.MEMORY:
            return measured_memory(self.subject, data) > memory_allowed(self.subject, len(data))
        return judge(self.subject, data, self.clock, measured=False).fault is self.fault
