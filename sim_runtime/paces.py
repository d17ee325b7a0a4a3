"""The time that bytes take: the arithmetic of latency, bandwidth and loss, for links and for connections alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import random

__all__ = [
    "RETRANSMISSION_MAX_US",
    "RETRANSMISSION_US",
    "BandwidthPace",
    "LatencyPace",
    "LossPace",
    "Pace",
    "retransmission_us",
]

# As on Linux: a segment without acknowledgement is sent again after 200 ms at the earliest, and each pause is twice the
# one before, up to two minutes.
RETRANSMISSION_US: Final = 200_000
RETRANSMISSION_MAX_US: Final = 120_000_000


class Pace(Protocol):
    """One impairment of a direction, as far as it is a matter of time."""

    def due_us(self, now_us: int, size: int) -> int:
        """Return when `size` bytes that arrive here at `now_us` have passed. May draw, and may use up capacity."""


class LatencyPace:
    """A delay per write, drawn from a uniform distribution; a negative one counts as none."""

    __slots__ = ("_low_us", "_random", "_span_us")

    def __init__(self, low_us: int, high_us: int, random: random.Random) -> None:
        self._low_us = low_us
        self._span_us = high_us - low_us
        self._random = random

    def due_us(self, now_us: int, size: int) -> int:  # noqa: ARG002 - the signature of Pace
        """Add the delay."""
        delay_us = self._low_us + (self._random.randrange(self._span_us + 1) if self._span_us else 0)
        return now_us + max(0, delay_us)


class BandwidthPace:
    """Bytes pass one after another at a rate."""

    __slots__ = ("_busy_until_us", "_bytes_per_s")

    def __init__(self, bytes_per_s: int) -> None:
        self._bytes_per_s = bytes_per_s
        self._busy_until_us = 0

    def due_us(self, now_us: int, size: int) -> int:
        """Return when the last byte has passed, after all earlier ones."""
        self._busy_until_us = max(now_us, self._busy_until_us) + size * 1_000_000 // self._bytes_per_s
        return self._busy_until_us


class LossPace:
    """A share of writes is lost once or more, and arrives late by TCP's retransmission."""

    __slots__ = ("_random", "_share")

    def __init__(self, share: float, random: random.Random) -> None:
        self._share = share
        self._random = random

    def due_us(self, now_us: int, size: int) -> int:  # noqa: ARG002 - the signature of Pace
        """Add a retransmission time-out per loss."""
        pause_us = RETRANSMISSION_US
        while self._random.random() < self._share and pause_us < RETRANSMISSION_MAX_US:
            now_us += pause_us
            pause_us *= 2
        return now_us


def retransmission_us(lost_us: int, now_us: int, *, first_pause_us: int = RETRANSMISSION_US) -> int:
    """Return when a sender sends bytes again that were lost at `lost_us`, if the network is open again at `now_us`."""
    pause_us = first_pause_us
    sent_us = lost_us + pause_us
    while sent_us < now_us:
        pause_us = min(pause_us * 2, RETRANSMISSION_MAX_US)
        sent_us += pause_us
    return sent_us
