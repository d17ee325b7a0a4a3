"""The action `reset`: connections of clients are reset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.forms import Number, Whole
from broker_sim.faults.link_action import LinkAction
from sim_runtime.wire_shaping import Reset

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable
    from sim_runtime.wire_shaping import Impairment


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetConnections(LinkAction):
    """Reset (RST) the connections between `from` and `to`, those that are open and those that follow.

    By default at once; with `after_bytes` each one when so many bytes have gone from `from` to `to`; then `after_ms`
    more pass. With 0 bytes the time begins with the first byte, which does not arrive.
    """

    for_clients: ClassVar = True
    form: ClassVar = LinkAction.ends_and(
        after_bytes=Whole("how many bytes arrive before", 100, at_least=0),
        after_ms=Number("how many milliseconds pass before", 50, at_least=0),
    )
    after_bytes: Drawable | None = None
    after_ms: Drawable = 0

    def impairments(self, firing: Firing) -> tuple[Impairment, ...]:
        """Reset."""
        after_bytes = None if self.after_bytes is None else firing.whole("after_bytes", self.after_bytes)
        return (Reset(after_bytes=after_bytes, after_ms=firing.number("after_ms", self.after_ms)),)
