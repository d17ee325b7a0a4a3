"""The action `shape_link`: what one end sends to another takes time, or arrives in pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.forms import Number, Truth, Whole
from broker_sim.faults.link_action import LinkAction
from sim_runtime.wire_shaping import Bandwidth, Latency, Loss, Slices

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable
    from sim_runtime.wire_shaping import Impairment


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeLink(LinkAction):
    """Shape all that `from` sends to `to`; on connections the bandwidth is that of each. Messages have no slices."""

    form: ClassVar = LinkAction.ends_and(
        any_of=(("latency_ms", "jitter_ms", "bandwidth_bytes_per_s", "slice_bytes", "loss"),),
        latency_ms=Number("the time of each write in milliseconds", 50, at_least=0),
        jitter_ms=Number("up to so many milliseconds more", 10, at_least=0),
        bandwidth_bytes_per_s=Whole("bytes per second", 100_000, at_least=1),
        slice_bytes=Whole("the size of the pieces in which bytes arrive", 100, at_least=1),
        loss=Number(
            "the share of writes that arrive late, because TCP has to send them again", 0.01, above=0, at_most=1
        ),
        both_ways=Truth("true to shape what `to` sends to `from` as well"),
    )
    draws: ClassVar = True
    latency_ms: Drawable = 0
    jitter_ms: Drawable = 0
    bandwidth_bytes_per_s: Drawable | None = None
    slice_bytes: Drawable | None = None
    loss: Drawable | None = None

    def impairments(self, firing: Firing) -> tuple[Impairment, ...]:
        """Bandwidth, then latency and loss, then slices."""
        shapes: list[Impairment] = []
        if self.bandwidth_bytes_per_s is not None:
            shapes.append(Bandwidth(firing.whole("bandwidth_bytes_per_s", self.bandwidth_bytes_per_s)))
        latency_ms = firing.number("latency_ms", self.latency_ms)
        jitter_ms = firing.number("jitter_ms", self.jitter_ms)
        if latency_ms or jitter_ms:
            shapes.append(Latency(latency_ms, latency_ms + jitter_ms))
        if self.loss is not None:
            shapes.append(Loss(firing.number("loss", self.loss)))
        if self.slice_bytes is not None:
            shapes.append(Slices(size=firing.whole("slice_bytes", self.slice_bytes)))
        return tuple(shapes)
