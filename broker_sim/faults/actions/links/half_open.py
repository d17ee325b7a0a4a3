"""The action `half_open`: each end believes that the connection is open, and no byte passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.link_action import LinkAction
from sim_runtime.wire_shaping import Vanished

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from sim_runtime.wire_shaping import Impairment


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfOpen(LinkAction):
    """Drop all between `from` and `to`, closes and RSTs too. When the rule closes, the connections are reset."""

    form: ClassVar = LinkAction.ends_and()
    both_ways: bool = True

    def impairments(self, firing: Firing) -> tuple[Impairment, ...]:  # noqa: ARG002
        """Drop all."""
        return (Vanished(),)
