"""The action `black_hole`: brokers send no reply to a SYN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.link_action import ListenerAction

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackHole(ListenerAction):
    """Let new connects hang until the client gives up, or sends its SYN again after the rule has closed."""

    def begin(self, firing: Firing, nodes: tuple[int, ...]) -> Callable[[], None]:
        """Fill the queue."""
        return firing.cluster.wire.hold_accepts(nodes, 0, None)
