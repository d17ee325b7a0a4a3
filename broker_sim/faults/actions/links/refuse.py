"""The action `refuse`: brokers refuse new connections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.link_action import ListenerAction

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse(ListenerAction):
    """Close the listeners: a connect fails at once with "connection refused". Open connections stay."""

    def begin(self, firing: Firing, nodes: tuple[int, ...]) -> Callable[[], None]:
        """Refuse."""
        return firing.cluster.wire.refuse(nodes)
