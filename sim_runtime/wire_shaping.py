"""The impairments of one direction of a connection, described once for every reactor.

Each impairment has a stage (`wire_stages`) that applies it to one direction of one connection, on real sockets and on
simulated ones (`shaped_transport`). Those that are a matter of time alone also have a pace, for links between hosts and
for messages. A connection with several impairments has one stage per impairment, in the order in which they began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from sim_runtime.paces import BandwidthPace, LatencyPace, LossPace
from sim_runtime.wire_stages import (
    CutStage,
    LimitStage,
    NotReadingStage,
    PacedStage,
    ResetStage,
    SilenceStage,
    SliceStage,
    SlowCloseStage,
    StalledStage,
    VanishedStage,
)

if TYPE_CHECKING:
    import random

    from sim_runtime.paces import Pace
    from sim_runtime.wire_line import Line, Stage

__all__ = [
    "Bandwidth",
    "Cut",
    "Held",
    "Impairment",
    "Latency",
    "Limit",
    "Loss",
    "NotReading",
    "Reset",
    "Silence",
    "Slices",
    "SlowClose",
    "Timed",
    "Vanished",
]

PIECES_PER_S: Final = 100
"""A limited bandwidth passes pieces of this share of a second, so that bytes flow and do not come in lumps."""


class Impairment(Protocol):
    """One impairment of one direction."""

    def stage(self, line: Line, random: random.Random) -> Stage:
        """Return what applies it to a connection; `random` is drawn from while bytes pass."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Each write takes a time between two bounds, in milliseconds; a negative one counts as none."""

    low_ms: float
    high_ms: float

    def pace(self, random: random.Random) -> Pace:
        """Return the arithmetic."""
        return LatencyPace(round(self.low_ms * 1000), round(self.high_ms * 1000), random)

    def stage(self, line: Line, random: random.Random) -> Stage:
        """Delay bytes."""
        return PacedStage(line, self.pace(random))


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bytes pass at a rate, per connection; with 0 none passes."""

    bytes_per_s: int

    def pace(self, random: random.Random) -> Pace:  # noqa: ARG002 - the signature of the others
        """Return the arithmetic. Raises ValueError for a rate of 0."""
        if not self.bytes_per_s:
            raise ValueError("a rate of 0 bytes per second has no pace")
        return BandwidthPace(self.bytes_per_s)

    def stage(self, line: Line, random: random.Random) -> Stage:
        """Space bytes out."""
        if not self.bytes_per_s:
            return StalledStage(line)
        return PacedStage(line, self.pace(random), piece_bytes=max(1, self.bytes_per_s // PIECES_PER_S))


@dataclass(frozen=True, slots=True)
class Loss:
    """This share of writes arrives late, by TCP's retransmission."""

    share: float

    def pace(self, random: random.Random) -> Pace:
        """Return the arithmetic."""
        return LossPace(self.share, random)

    def stage(self, line: Line, random: random.Random) -> Stage:
        """Delay the lost share."""
        return PacedStage(line, self.pace(random))


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """Writes arrive in pieces of about `size` bytes, up to `variation` more or less, `delay_us` apart."""

    size: int
    variation: int = 0
    delay_us: int = 0

    def stage(self, line: Line, random: random.Random) -> Stage:
        """Slice writes."""
        return SliceStage(line, size=self.size, variation=self.variation, delay_us=self.delay_us, random=random)


@dataclass(frozen=True, slots=True)
class SlowClose:
    """The close of the connection is seen late."""

    delay_ms: float

    def stage(self, line: Line, random: random.Random) -> Stage:  # noqa: ARG002
        """Delay the end."""
        return SlowCloseStage(line, round(self.delay_ms * 1000))


@dataclass(frozen=True, slots=True)
class Silence:
    """All bytes are dropped. The connection is closed after a time, if there is one, and when the silence ends."""

    close_after_ms: float | None = None

    def stage(self, line: Line, random: random.Random) -> Stage:  # noqa: ARG002
        """Drop bytes."""
        return SilenceStage(line, None if self.close_after_ms is None else self.close_after_ms / 1000)


@dataclass(frozen=True, slots=True)
class Limit:
    """The connection is closed once this number of bytes has passed."""

    limit_bytes: int

    def stage(self, line: Line, random: random.Random) -> Stage:  # noqa: ARG002
        """Count bytes."""
        return LimitStage(line, self.limit_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """The connection is reset (RST) after a number of bytes, then a time.

    None bytes: the time runs at once. 0 bytes: it runs from the first byte, which does not pass.
    """

    after_bytes: int | None = None
    after_ms: float = 0

    def stage(self, line: Line, random: random.Random) -> Stage:  # noqa: ARG002
        """Wait for the bytes and the time."""
        return ResetStage(line, after_bytes=self.after_bytes, after_s=self.after_ms / 1000)


@dataclass(frozen=True, slots=True)
class Cut:
    """Every segment is lost, until the cut ends and TCP sends the bytes again."""

    def stage(self, line: Line, random: random.Random) -> Stage:  # noqa: ARG002
        """Lose bytes for a time."""
        return CutStage(line)


@dataclass(frozen=True, slots=True)
class Held:
    """Everything waits until the end, then arrives at once."""

    def stage(self, line: Line, random: random.Random) -> Stage:  # noqa: ARG002
        """Keep bytes."""
        return StalledStage(line)


@dataclass(frozen=True, slots=True)
class Vanished:
    """Bytes and the end are dropped, and no RST is sent: for one direction of a half-open connection."""

    def stage(self, line: Line, random: random.Random) -> Stage:  # noqa: ARG002
        """Drop everything."""
        return VanishedStage(line)


@dataclass(frozen=True, slots=True)
class NotReading:
    """The receiver reads nothing: its window closes."""

    def stage(self, line: Line, random: random.Random) -> Stage:  # noqa: ARG002
        """Stop reading, or hold the bytes for a peer that does not read, up to the size of a window."""
        return NotReadingStage(line) if line is line.connection.upstream else StalledStage(line)


Timed: TypeAlias = Latency | Bandwidth | Loss
"""The impairments that messages suffer too."""
