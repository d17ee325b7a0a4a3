"""The rights of one client: its principal and address, and the authorizer of the node. Mirrors AuthHelper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.security.acl import CLUSTER_NAME, SUPPORTED_OPERATIONS, AclOperation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.security.authorizer import Authorizer

__all__ = ["Access"]


class Access:
    """The rights of the client of one request."""

    __slots__ = ("_authorizer", "_host", "_principal")

    def __init__(self, authorizer: Authorizer, principal: str, host: str) -> None:
        self._authorizer = authorizer
        self._principal = principal
        self._host = host

    def allows(self, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        """Return True if the client may do the operation on the resource."""
        return self._authorizer.allows(self._principal, self._host, operation, resource_type, name)

    def allows_any(self, operation: AclOperation, resource_type: ResourceType) -> bool:
        """Return True if the client may do the operation on some resource of the type."""
        return self._authorizer.allows_any(self._principal, self._host, operation, resource_type)

    def cluster(self, operation: AclOperation) -> bool:
        """Return True if the client may do the operation on the cluster."""
        return self.allows(operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def topic(self, operation: AclOperation, name: str) -> bool:
        """Return True if the client may do the operation on the topic."""
        return self.allows(operation, ResourceType.TOPIC, name)

    def group(self, operation: AclOperation, group_id: str) -> bool:
        """Return True if the client may do the operation on the group."""
        return self.allows(operation, ResourceType.GROUP, group_id)

    def transactional_id(self, operation: AclOperation, transactional_id: str) -> bool:
        """Return True if the client may do the operation on the transactional id."""
        return self.allows(operation, ResourceType.TRANSACTIONAL_ID, transactional_id)

    def topics(self, operation: AclOperation, names: Iterable[str]) -> set[str]:
        """Return the topics on which the client may do the operation."""
        return {name for name in dict.fromkeys(names) if self.topic(operation, name)}

    def operations(self, resource_type: ResourceType, name: str, *, mask: int = -1) -> int:
        """Return the operations that the client may do, as a bit field (KIP-430); `mask` has those of the release."""
        allowed = (each for each in SUPPORTED_OPERATIONS[resource_type] if self.allows(each, resource_type, name))
        return sum(1 << each for each in allowed) & mask
