"""The base of the actions on one client of a run."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Text

if TYPE_CHECKING:
    from broker_sim.faults.action_context import ClientTarget, Firing

__all__ = ["ClientAction"]


@dataclass(frozen=True, slots=True)
class ClientAction(Action):
    """Changes the process of the client of a name."""

    needs: ClassVar = (Need.CLIENTS,)
    on_cluster: ClassVar = True
    form: ClassVar = Text("the name of the client", "app")
    client: str

    @abstractmethod
    def begin(self, clients: ClientTarget) -> object:
        """Change the client."""

    def end(self, clients: ClientTarget) -> object:
        """Undo the change, where the rule has an `until`; by default it stays."""

    def fire(self, firing: Firing) -> None:
        """Begin in the next loop iteration. Raises RuleError for an unknown client."""
        clients = firing.client_target(self.client)
        firing.apply(lambda: self.begin(clients), lambda: self.end(clients))
