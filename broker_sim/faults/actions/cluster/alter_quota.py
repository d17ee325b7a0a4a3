"""The action `alter_quota`: quotas of clients change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from broker_sim.faults.action import Action, Need
from broker_sim.faults.forms import Fields, Settings, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.faults.action_context import Firing


@dataclass(frozen=True, slots=True)
class AlterQuota(Action):
    """Set quotas of a user, a client id or an address; `until` removes them."""

    needs: ClassVar = (Need.ADMIN,)
    on_cluster: ClassVar = True
    form: ClassVar = Fields(
        required=("quotas",),
        any_of=(("user", "client_id", "ip"),),
        user=Text("the user, `<default>` for the default", "ANONYMOUS"),
        client_id=Text("the client id, `<default>` for the default", "app"),
        ip=Text("the address, `<default>` for the default", "127.0.0.1"),
        quotas=Settings("the quotas by Kafka's names; null removes one", {"producer_byte_rate": 1024}, numbers=True),
    )
    quotas: Mapping[str, float | None]
    user: str | None = None
    client_id: str | None = None
    ip: str | None = None

    def fire(self, firing: Firing) -> None:
        """Set them in the next loop iteration."""
        named = {"user": self.user, "client-id": self.client_id, "ip": self.ip}
        entity = {kind: None if name == "<default>" else name for kind, name in named.items() if name is not None}
        admin = firing.cluster.admin
        firing.apply(
            lambda: admin.alter_quota(entity, self.quotas),
            lambda: admin.alter_quota(entity, dict.fromkeys(self.quotas)),
        )
