"""The action `not_reading`: one end stops reading, until the other can write no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.link_action import LinkAction
from sim_runtime.wire_shaping import NotReading

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing
    from sim_runtime.wire_shaping import Impairment


@dataclass(frozen=True, slots=True, kw_only=True)
class NotReadingEnd(LinkAction):
    """Read nothing at `to` of what `from` sends: its window closes (a zero window), and `from` must wait."""

    for_clients: ClassVar = True
    form: ClassVar = LinkAction.ends_and()

    def impairments(self, firing: Firing) -> tuple[Impairment, ...]:  # noqa: ARG002
        """Stop reading."""
        return (NotReading(),)
