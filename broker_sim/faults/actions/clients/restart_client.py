"""The action `restart_client`: a client starts again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.client_action import ClientAction

if TYPE_CHECKING:
    from broker_sim.faults.action_context import ClientTarget


@dataclass(frozen=True, slots=True)
class RestartClient(ClientAction):
    """Start a client again, from the beginning of its script; one that still runs is killed before."""

    def begin(self, clients: ClientTarget) -> object:
        """Start it."""
        return clients.restart_client(self.client)
