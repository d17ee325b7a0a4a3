"""The action `slow_close`: the close of a connection is seen late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.forms import Number
from broker_sim.faults.link_action import LinkAction
from sim_runtime.wire_shaping import SlowClose

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable
    from sim_runtime.wire_shaping import Impairment


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowlyClosed(LinkAction):
    """Delay what `to` sees of a close by `from`; bytes arrive as usual."""

    for_clients: ClassVar = True
    form: ClassVar = LinkAction.ends_and(delay_ms=Number("the delay in milliseconds", 500, at_least=0))
    delay_ms: Drawable = 0

    def impairments(self, firing: Firing) -> tuple[Impairment, ...]:
        """Delay the end."""
        return (SlowClose(firing.number("delay_ms", self.delay_ms)),)
