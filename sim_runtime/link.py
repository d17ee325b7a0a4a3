"""A one-way link between two hosts of the simulated network: delay, bandwidth, loss, holds and cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import random

__all__ = ["Link", "Traffic"]

# As on Linux: a SYN without reply is sent again after a second, other segments at the earliest after 200 ms, and each
# pause is twice the one before, up to two minutes.
HANDSHAKE_RETRANSMISSION_US: Final = 1_000_000
RETRANSMISSION_US: Final = 200_000
RETRANSMISSION_MAX_US: Final = 120_000_000


class Traffic(Protocol):
    """Traffic on a link, which is notified when the link is blocked and when it is open again."""

    def stall(self) -> None:
        """The link is now held or cut."""

    def resume(self) -> None:
        """The link is open again."""


class Link:
    """A link from `source` to `target`; the opposite direction has its own link. Properties may change during a run.

    - `latency_ms`, and up to `jitter_ms` more for each segment, drawn from the link's own stream;
    - `bandwidth_bytes_per_s`: shared by all connections of this link, None for no limit;
    - `loss`: the share of segments that are lost once or more and arrive late, by TCP's retransmission;
    - `segment_bytes`: longer writes arrive in pieces of this size.

    Bytes of a connection always arrive in order. A link that is held delays everything until its release.
    A link that is cut loses everything; TCP sends it again some time after `restore()`.
    """

    __slots__ = (
        "_busy_until_us",
        "_cut",
        "_held",
        "_isolated",
        "_jitter_us",
        "_latency_us",
        "_random",
        "_traffic",
        "bandwidth_bytes_per_s",
        "blocked",
        "loss",
        "segment_bytes",
        "source",
        "target",
    )

    def __init__(
        self,
        source: str,
        target: str,
        *,
        random: random.Random,
        latency_ms: float,
        jitter_ms: float = 0,
        bandwidth_bytes_per_s: int | None = None,
        loss: float = 0,
        segment_bytes: int,
    ) -> None:
        self.source = source
        self.target = target
        self.bandwidth_bytes_per_s = bandwidth_bytes_per_s
        self.loss = loss
        self.segment_bytes = segment_bytes
        self.blocked = False
        self.latency_ms = latency_ms
        self.jitter_ms = jitter_ms
        self._random = random
        self._busy_until_us = 0
        self._cut = False
        self._held = False
        self._isolated = False
        self._traffic: dict[Traffic, None] = {}

    @property
    def latency_ms(self) -> float:
        """The time that each segment takes, without jitter."""
        return self._latency_us / 1000

    @latency_ms.setter
    def latency_ms(self, value: float) -> None:
        self._latency_us = round(value * 1000)

    @property
    def jitter_ms(self) -> float:
        """The upper bound of the jitter of a segment."""
        return self._jitter_us / 1000

    @jitter_ms.setter
    def jitter_ms(self, value: float) -> None:
        self._jitter_us = round(value * 1000)

    @property
    def is_cut(self) -> bool:
        """True if bytes that are sent now are lost."""
        return self._cut or self._isolated

    @property
    def is_held(self) -> bool:
        """True if bytes that are sent now wait for `release()`."""
        return self._held

    def cut(self) -> None:
        """Lose everything in transit and everything that is sent, until `restore()`."""
        self._cut = True
        self._apply()

    def restore(self) -> None:
        """End a cut. Lost bytes arrive when TCP retransmits them."""
        self._cut = False
        self._apply()

    def hold(self) -> None:
        """Hold everything in transit and everything that is sent, until `release()`."""
        self._held = True
        self._apply()

    def release(self) -> None:
        """End a hold: held bytes arrive now, in order."""
        self._held = False
        self._apply()

    def isolate(self, *, isolated: bool) -> None:
        """Cut or restore on behalf of a host at one of the ends, beside `cut()` and `restore()`."""
        self._isolated = isolated
        self._apply()

    def add(self, traffic: Traffic) -> None:
        """Notify `traffic` when this link is blocked and when it is open again."""
        self._traffic[traffic] = None

    def discard(self, traffic: Traffic) -> None:
        """Remove `traffic`, which has nothing in transit any more."""
        self._traffic.pop(traffic, None)

    def arrival_us(self, now_us: int, size: int) -> int:
        """The arrival time of `size` bytes that are sent now. Draws jitter and loss, and consumes bandwidth."""
        due_us = now_us + self._latency_us
        if self.bandwidth_bytes_per_s is not None:
            begin_us = max(now_us, self._busy_until_us)
            self._busy_until_us = begin_us + size * 1_000_000 // self.bandwidth_bytes_per_s
            due_us += self._busy_until_us - now_us
        if self._jitter_us:
            due_us += self._random.randrange(self._jitter_us + 1)
        if self.loss:
            pause_us = RETRANSMISSION_US
            while self._random.random() < self.loss and pause_us < RETRANSMISSION_MAX_US:
                due_us += pause_us
                pause_us *= 2
        return due_us

    def retransmission_us(self, lost_us: int, now_us: int, *, handshake: bool) -> int:
        """The arrival time of a segment that was lost at `lost_us`, if the link has just been restored."""
        pause_us = HANDSHAKE_RETRANSMISSION_US if handshake else RETRANSMISSION_US
        sent_us = lost_us + pause_us
        while sent_us < now_us:
            pause_us = min(pause_us * 2, RETRANSMISSION_MAX_US)
            sent_us += pause_us
        return sent_us + self._latency_us

    def __repr__(self) -> str:
        state = "cut" if self.is_cut else "held" if self._held else "up"
        return f"<Link {self.source} -> {self.target} {state}, {self.latency_ms:g} ms>"

    def _apply(self) -> None:
        was_blocked, self.blocked = self.blocked, self._held or self.is_cut
        under_way = list(self._traffic)
        if self.blocked:
            for traffic in under_way:
                traffic.stall()
        elif was_blocked:
            for traffic in under_way:
                traffic.resume()
