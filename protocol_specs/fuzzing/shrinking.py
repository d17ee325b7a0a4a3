"""Shrinks a finding: removes pieces as long as the bytes still break the rule that the finding broke."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.framing import framed
from protocol_specs.fuzzing.oracle import (
    SLOWEST_S,
    Fault,
    check,
    fastest,
    measured_memory,
    memory_allowed,
)

if TYPE_CHECKING:
    from protocol_specs.fuzzing.campaign import Finding
    from protocol_specs.fuzzing.oracle import Clock
    from protocol_specs.fuzzing.targets import Target

TRIES_MAX: Final = 3000


def shrunk(finding: Finding, clock: Clock) -> bytes:
    """The bytes of the finding without those that its fault does not need; the size of a frame stays right if it was.

    A finding about valid input is not shrunk: it is about all of its bytes.
    """
    target, data = finding.frame.target, finding.frame.data
    if finding.fault is Fault.VALID_INPUT:
        return data
    sized = target.framed and data == framed(data[4:])
    cutter = _Cutter(target, finding.fault, clock, sized=sized)
    body = cutter.cut(data[4:] if sized else data)
    return framed(body) if sized else body


class _Cutter:
    def __init__(self, target: Target, fault: Fault, clock: Clock, *, sized: bool) -> None:
        self.target = target
        self.fault = fault
        self.clock = clock
        self.sized = sized
        self.tries = 0

    def cut(self, data: bytes) -> bytes:
        """Remove pieces of half the bytes, of a quarter ... of one byte, until no byte can be removed."""
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
            return fastest(self.target, data, self.clock) > SLOWEST_S * max(1.0, len(data) / 1024)
        if self.fault is Fault.MEMORY:
            return measured_memory(self.target, data) > memory_allowed(self.target, len(data))
        return check(self.target, data, self.clock, measured=False).fault is self.fault
