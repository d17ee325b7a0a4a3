"""A one-way link between two hosts of the simulated network: delay, bandwidth, loss, holds and cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from sim_runtime.paces import (
    RETRANSMISSION_US,
    BandwidthPace,
    LatencyPace,
    LossPace,
    retransmission_us,
)

if TYPE_CHECKING:
    import random

    from sim_runtime.paces import Pace

__all__ = ["Link", "Traffic"]

HANDSHAKE_RETRANSMISSION_US: Final = 1_000_000
"""As on Linux: a SYN without reply is sent again after a second, not after 200 ms as other segments."""


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
        "_bandwidth",
        "_bandwidth_bytes_per_s",
        "_cut",
        "_held",
        "_isolated",
        "_jitter_us",
        "_loss",
        "_random",
        "_traffic",
        "blocked",
        "latency_us",
        "paces",
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
        self.segment_bytes = segment_bytes
        self.blocked = False
        self.latency_ms = latency_ms
        self._jitter_us = round(jitter_ms * 1000)
        self._loss = loss
        self._random = random
        self._bandwidth: BandwidthPace | None = None
        self.paces: tuple[Pace, ...] = ()
        """The impairments beside the latency; most links have none."""
        self.bandwidth_bytes_per_s = bandwidth_bytes_per_s
        self._cut = False
        self._held = False
        self._isolated = False
        self._traffic: dict[Traffic, None] = {}

    @property
    def latency_ms(self) -> float:
        """The time that each segment takes, without jitter."""
        return self.latency_us / 1000

    @latency_ms.setter
    def latency_ms(self, value: float) -> None:
        self.latency_us = round(value * 1000)

    @property
    def jitter_ms(self) -> float:
        """The upper bound of the jitter of a segment."""
        return self._jitter_us / 1000

    @jitter_ms.setter
    def jitter_ms(self, value: float) -> None:
        self._jitter_us = round(value * 1000)
        self._set_paces()

    @property
    def bandwidth_bytes_per_s(self) -> int | None:
        """The rate that all connections of this link share, None for no limit."""
        return self._bandwidth_bytes_per_s

    @bandwidth_bytes_per_s.setter
    def bandwidth_bytes_per_s(self, value: int | None) -> None:
        self._bandwidth_bytes_per_s = value
        self._bandwidth = None if value is None else BandwidthPace(value)
        self._set_paces()

    @property
    def loss(self) -> float:
        """The share of segments that are lost once or more."""
        return self._loss

    @loss.setter
    def loss(self, value: float) -> None:
        self._loss = value
        self._set_paces()

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
        due_us = now_us
        for pace in self.paces:
            due_us = pace.due_us(due_us, size)
        return due_us + self.latency_us

    def retransmission_us(self, lost_us: int, now_us: int, *, handshake: bool) -> int:
        """The arrival time of a segment that was lost at `lost_us`, if the link has just been restored."""
        first_pause_us = HANDSHAKE_RETRANSMISSION_US if handshake else RETRANSMISSION_US
        return retransmission_us(lost_us, now_us, first_pause_us=first_pause_us) + self.latency_us

    def __repr__(self) -> str:
        state = "cut" if self.is_cut else "held" if self._held else "up"
        return f"<Link {self.source} -> {self.target} {state}, {self.latency_ms:g} ms>"

    def _set_paces(self) -> None:
        paces: list[Pace] = [] if self._bandwidth is None else [self._bandwidth]
        if self._jitter_us:
            paces.append(LatencyPace(0, self._jitter_us, self._random))
        if self._loss:
            paces.append(LossPace(self._loss, self._random))
        self.paces = tuple(paces)

    def _apply(self) -> None:
        was_blocked, self.blocked = self.blocked, self._held or self.is_cut
        under_way = list(self._traffic)
        if self.blocked:
            for traffic in under_way:
                traffic.stall()
        elif was_blocked:
            for traffic in under_way:
                traffic.resume()
