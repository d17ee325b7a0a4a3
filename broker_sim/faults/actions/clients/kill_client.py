"""The action `kill_client`: a client ends at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.client_action import ClientAction

if TYPE_CHECKING:
    from broker_sim.faults.action_context import ClientTarget


@dataclass(frozen=True, slots=True)
class KillClient(ClientAction):
    """End a client at once, as by SIGKILL: its buffer is lost, its connections are reset. `until` starts it again."""

    def begin(self, clients: ClientTarget) -> object:
        """End it."""
        return clients.kill_client(self.client)

    def end(self, clients: ClientTarget) -> object:
        """Start it again."""
        return clients.restart_client(self.client)
