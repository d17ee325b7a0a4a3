"""The action `pause_client`: the process of a client stands still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.client_action import ClientAction

if TYPE_CHECKING:
    from broker_sim.faults.action_context import ClientTarget


@dataclass(frozen=True, slots=True)
class PauseClient(ClientAction):
    """Stop the process of a client, as by SIGSTOP: timers stand still, nothing is sent. `until` continues it."""

    def begin(self, clients: ClientTarget) -> object:
        """Stop it."""
        return clients.pause_client(self.client)

    def end(self, clients: ClientTarget) -> object:
        """Continue it."""
        return clients.resume_client(self.client)
