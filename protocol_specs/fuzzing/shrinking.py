"""Shrinks a finding: removes pieces as long as the bytes still break the rule that the finding broke."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.framing import framed
from protocol_specs.fuzzing.cutting import cut_pieces
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
    trials = _Trials(target, finding.fault, clock, sized=sized)
    body = cut_pieces(data[4:] if sized else data, trials.is_broken)
    return framed(body) if sized else body


class _Trials:
    def __init__(self, target: Target, fault: Fault, clock: Clock, *, sized: bool) -> None:
        self.target = target
        self.fault = fault
        self.clock = clock
        self.sized = sized
        self.tries = 0

    def is_broken(self, data: bytes) -> bool:
        """Return True if bytes have the fault; False once TRIES_MAX are used up."""
        if self.tries >= TRIES_MAX:
            return False
        self.tries += 1
        if self.sized:
            data = framed(data)
        if self.fault is Fault.SLOW:
            return fastest(self.target, data, self.clock) > SLOWEST_S * max(1.0, len(data) / 1024)
        if self.fault is Fault.MEMORY:
            return measured_memory(self.target, data) > memory_allowed(self.target, len(data))
        return check(self.target, data, self.clock, measured=False).fault is self.fault
