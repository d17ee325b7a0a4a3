"""The action `hold_link`: nothing arrives from one end at another for a time, and nothing is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.forms import Truth
from broker_sim.faults.link_action import LinkAction
from sim_runtime.wire_shaping import Held

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from sim_runtime.wire_shaping import Impairment


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldLink(LinkAction):
    """Hold all that `from` sends to `to`; when the rule closes, it arrives at once and in order."""

    form: ClassVar = LinkAction.ends_and(both_ways=Truth("true to hold what `to` sends to `from` as well"))

    def impairments(self, firing: Firing) -> tuple[Impairment, ...]:  # noqa: ARG002
        """Hold."""
        return (Held(),)
