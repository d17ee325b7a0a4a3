"""The action `move_coordinator`: another broker coordinates a group or a transactional id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.actions.cluster.move_leader import MoveLeader
from broker_sim.faults.forms import Broker, Fields, Text
from broker_sim.faults.rule import Absent
from broker_sim.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class MoveCoordinator(Action):
    """Let another broker coordinate a group or transactional id: another replica leads the partition of its state."""

    needs: ClassVar = (Need.ADMIN,)
    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        one_of=(("group", "transaction"),),
        group=Text("the group id", "billing"),
        transaction=Text("the transactional id", "transfer-1"),
        to=Broker("the new coordinator, in any form of a broker; without it one that the seed draws"),
    )
    group: str | None = None
    transaction: str | None = None
    to: BrokerRef | None = None

    @property
    def brokers(self) -> Iterable[BrokerRef]:
        """The new coordinator."""
        return () if self.to is None else (self.to,)

    def fire(self, firing: Firing) -> None:
        """Move it in the next loop iteration. Raises RuleError while there is no coordinator."""
        kind, key = ("group", self.group) if self.group is not None else ("transaction", self.transaction)
        assert key is not None
        topic, partition = firing.cluster.admin.state_partition(kind, key)
        if partition < 0:
            raise Absent(("act", self.name), f"{kind} {key} has no coordinator: there is no topic {topic}")
        MoveLeader(TopicPartition(topic, partition), self.to).fire(firing)
