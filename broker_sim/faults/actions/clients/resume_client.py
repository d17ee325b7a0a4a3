"""The action `resume_client`: a paused client goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.faults.client_action import ClientAction

if TYPE_CHECKING:
    from broker_sim.faults.action_context import ClientTarget


@dataclass(frozen=True, slots=True)
class ResumeClient(ClientAction):
    """Continue the process of a paused client."""

    def begin(self, clients: ClientTarget) -> object:
        """Continue it."""
        return clients.resume_client(self.client)
