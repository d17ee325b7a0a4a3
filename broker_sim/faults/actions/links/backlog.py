"""The action `backlog`: brokers accept slowly, or not at all, and connections queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.forms import Fields, Number, Whole
from broker_sim.faults.link_action import NODES, ListenerAction

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog(ListenerAction):
    """Leave new connections unaccepted: open for their clients, but unread. Beyond `size`, connects hang."""

    form: ClassVar = Fields(
        alone="at",
        required=("at",),
        at=NODES,
        size=Whole("how many connections wait at most", 5, at_least=1),
        accept_every_ms=Number("one is accepted in so many milliseconds; none without it", 200, at_least=1),
    )
    size: Drawable = 50
    accept_every_ms: Drawable | None = None

    def begin(self, firing: Firing, nodes: tuple[int, ...]) -> Callable[[], None]:
        """Hold the queue."""
        every_ms = None if self.accept_every_ms is None else firing.number("accept_every_ms", self.accept_every_ms)
        return firing.cluster.wire.hold_accepts(nodes, firing.whole("size", self.size), every_ms)
