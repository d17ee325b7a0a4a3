"""The action `hold`: the request waits until its rule closes or is released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.action import Action
from broker_sim.faults.interception import Interception

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True)
class Hold(Action):
    """Hold the request; it goes on when the rule's `until` is reached, or when the rule is released or removed."""

    def fire(self, firing: Firing) -> Interception:
        """Return the interception that holds the request."""
        return Interception(wait=firing.hold())
