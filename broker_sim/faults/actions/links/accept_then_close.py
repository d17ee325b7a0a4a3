"""The action `accept_then_close`: brokers close each new connection at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.link_action import ListenerAction

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptThenClose(ListenerAction):
    """Accept each new connection and close it before its first byte. Open connections stay."""

    def begin(self, firing: Firing, nodes: tuple[int, ...]) -> Callable[[], None]:
        """Close."""
        return firing.cluster.wire.close_accepted(nodes)
