"""The action `finalize`: the cluster uses the features of a release from now on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Fields, ReleaseName

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True)
class Finalize(Action):
    """Set every feature to the level of a new cluster of a release, as `kafka-features upgrade --release-version`.

    A level that a broker or the controller does not support is refused, and so is a downgrade of metadata.version that
    would lose metadata.
    """

    needs: ClassVar = (Need.CLUSTER,)
    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        required=("to",), alone="to", to=ReleaseName("the release, by its name or that of its line, in quotes", "3.9")
    )
    to: str

    def fire(self, firing: Firing) -> None:
        """Begin in the next loop iteration."""
        firing.soon(lambda: firing.cluster.admin.finalize(self.to))
