"""The action `observe`: a rule counts requests and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.action import Action

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True)
class Observe(Action):
    """Count the requests that fit, for gates of other rules, for waits and for the report; they go on."""

    def fire(self, firing: Firing) -> None:
        """Do nothing."""
