"""The action `alter_config`: configurations change while the cluster runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Broker, Fields, Settings, Text, Truth

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twisted.internet.defer import Deferred

    from broker_sim.faults.action_context import Firing
    from broker_sim.faults.rule import BrokerRef


@dataclass(frozen=True, slots=True)
class AlterConfig(Action):
    """Set configurations of a topic, a broker or a group; `until` restores the earlier ones."""

    needs: ClassVar = (Need.ADMIN,)
    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        required=("config",),
        one_of=(("topic", "broker", "all_brokers", "group"),),
        topic=Text("the topic", "orders"),
        broker=Broker("the broker, in any form of a broker"),
        all_brokers=Truth("true for the configurations that all brokers share"),
        group=Text("the group id", "billing"),
        config=Settings("the values; null removes one", {"min.insync.replicas": 3}),
    )
    config: Mapping[str, str | None]
    topic: str | None = None
    broker: BrokerRef | None = None
    all_brokers: bool = False
    group: str | None = None

    def fire(self, firing: Firing) -> None:
        """Set them in the next loop iteration."""
        kind, name = self._resource(firing)
        admin = firing.cluster.admin
        earlier: dict[str, str] = {}

        def alter(found: dict[str, str]) -> Deferred[None]:
            earlier.update(found)
            return admin.alter_config(kind, name, self.config)

        firing.apply(
            lambda: admin.config_of(kind, name).addCallback(alter),
            lambda: admin.alter_config(kind, name, {key: earlier.get(key) for key in self.config}),
        )

    def _resource(self, firing: Firing) -> tuple[str, str]:
        if self.topic is not None:
            return "topic", self.topic
        if self.group is not None:
            return "group", self.group
        return "broker", "" if self.broker is None else str(firing.resolve(self.broker))
