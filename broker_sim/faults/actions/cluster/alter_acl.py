"""The action `alter_acl`: a right of clients changes while the cluster runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Choice, Fields, Text, Truth
from protocol_specs.messages.create_acls import AclCreation

if TYPE_CHECKING:
    from broker_sim.faults.action_context import Firing

OPERATIONS: Final = {
    "ALL": 2,
    "READ": 3,
    "WRITE": 4,
    "CREATE": 5,
    "DELETE": 6,
    "ALTER": 7,
    "DESCRIBE": 8,
    "CLUSTER_ACTION": 9,
    "DESCRIBE_CONFIGS": 10,
    "ALTER_CONFIGS": 11,
    "IDEMPOTENT_WRITE": 12,
}
PERMISSIONS: Final = {"DENY": 2, "ALLOW": 3}
LITERAL: Final = 3
PREFIXED: Final = 4
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 2, 3, 4, 5
CLUSTER_NAME: Final = "kafka-cluster"


@dataclass(frozen=True, slots=True)
class AlterAcl(Action):
    """Create an access control entry, or delete it; `until` does the opposite. The brokers need an authorizer."""

    needs: ClassVar = (Need.ADMIN,)
    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        required=("permission", "operation"),
        one_of=(("topic", "group", "transactional_id", "cluster"),),
        permission=Choice("the effect of the entry", tuple(PERMISSIONS)),
        operation=Choice("the operation", tuple(OPERATIONS)),
        topic=Text("the topic, `*` for all", "orders"),
        group=Text("the group id, `*` for all", "billing"),
        transactional_id=Text("the transactional id, `*` for all", "shop-1"),
        cluster=Truth("true for the cluster itself"),
        prefix=Truth("true if the name is the beginning of names"),
        principal=Text("the principal, by default all", "User:ANONYMOUS"),
        host=Text("the address of the clients, by default all", "127.0.0.1"),
        delete=Truth("true to delete the entry"),
    )
    permission: str
    operation: str
    topic: str | None = None
    group: str | None = None
    transactional_id: str | None = None
    cluster: bool = False
    prefix: bool = False
    principal: str = "User:*"
    host: str = "*"
    delete: bool = False

    def fire(self, firing: Firing) -> None:
        """Change it in the next loop iteration."""
        entry, admin = self._entry(), firing.cluster.admin
        firing.apply(
            lambda: admin.alter_acl(entry, delete=self.delete), lambda: admin.alter_acl(entry, delete=not self.delete)
        )

    def _entry(self) -> AclCreation:
        named = ((TOPIC, self.topic), (GROUP, self.group), (TRANSACTIONAL_ID, self.transactional_id))
        kind, name = next(((kind, name) for kind, name in named if name is not None), (CLUSTER, CLUSTER_NAME))
        return AclCreation(
            resource_type=kind,
            resource_name=name,
            resource_pattern_type=PREFIXED if self.prefix else LITERAL,
            principal=self.principal,
            host=self.host,
            operation=OPERATIONS[self.operation],
            permission_type=PERMISSIONS[self.permission],
        )
