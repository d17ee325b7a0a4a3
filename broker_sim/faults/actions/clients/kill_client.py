"""The action `kill_client`: a client ends at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Text

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True)
class KillClient(Action):
    """End a client at once, as by SIGKILL: its buffer is lost, its connections are reset. `until` starts it again."""

    needs: ClassVar = (Need.CLIENTS,)
    on_cluster: ClassVar = True
    form: ClassVar = Text("the name of the client", "app")
    client: str

    def fire(self, firing: Firing) -> None:
        """Begin in the next loop iteration. Raises RuleError for an unknown client."""
        clients = firing.client_target(self.client)
        firing.apply(lambda: clients.kill_client(self.client), lambda: clients.restart_client(self.client))
