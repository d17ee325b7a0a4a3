"""The action `cut_link`: nothing arrives from one end at another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.forms import Truth
from broker_sim.faults.link_action import LinkAction
from sim_runtime.wire_shaping import Cut

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from sim_runtime.wire_shaping import Impairment


@dataclass(frozen=True, slots=True, kw_only=True)
class CutLink(LinkAction):
    """Lose all that `from` sends to `to`, until the rule closes. TCP then sends the bytes of connections again."""

    form: ClassVar = LinkAction.ends_and(both_ways=Truth("true if `to` does not reach `from` either"))

    def impairments(self, firing: Firing) -> tuple[Impairment, ...]:  # noqa: ARG002
        """Cut."""
        return (Cut(),)
