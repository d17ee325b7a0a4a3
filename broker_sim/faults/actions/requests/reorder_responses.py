"""The action `reorder_responses`: responses of a connection arrive in another order than their requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Fields, Number, Whole
from broker_sim.faults.interception import Interception, Phase
from broker_sim.faults.rule import RuleError

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import Drawable, Rule


@dataclass(frozen=True, slots=True)
class ReorderResponses(Action):
    """Hold responses of a connection until there are `count`, then send them from the last to the first.

    The broker serves the next request of the connection meanwhile, as if the response were sent. After `within_ms` it
    sends those that are there. A Kafka client expects the correlation id of its oldest request and disconnects.
    """

    needs: ClassVar = (Need.WIRE,)
    phases: ClassVar = (Phase.MID_RESPONSE,)
    form: ClassVar = Fields(
        alone="count",
        required=("count",),
        count=Whole("how many responses change their order", 2, at_least=2),
        within_ms=Number("how many milliseconds a response is held at most, by default 1000", 1_000, at_least=0),
    )
    count: Drawable
    within_ms: Drawable = 1_000

    def check(self, rule: Rule) -> None:
        """Check that the rule may fire often enough for so many responses. Raises RuleError."""
        Action.check(self, rule)
        if rule.times is not None and isinstance(self.count, int) and rule.times < self.count:
            msg = f"{rule.times} holds fewer responses than change their order: expected {self.count} or more"
            raise RuleError(("times",), msg)

    def fire(self, firing: Firing) -> Interception:
        """Return the interception that holds the response."""
        return Interception(
            reversed_responses=firing.whole("count", self.count),
            delay_ms=firing.number("within_ms", self.within_ms),
        )
