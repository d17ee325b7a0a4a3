"""Access control entries and the filters that select them. Mirrors StandardAcl, AclBinding and AclBindingFilter."""

from __future__ import annotations

from typing import Final, NamedTuple

from protocol_specs.acl_codes import AclOperation, AclPermissionType, PatternType, ResourceType

__all__ = [
    "ANY_HOST",
    "CLUSTER_NAME",
    "SUPPORTED_OPERATIONS",
    "WILDCARD_PRINCIPAL",
    "WILDCARD_RESOURCE",
    "Acl",
    "AclFilter",
    "AclOperation",
    "AclPermissionType",
    "PatternType",
    "ResourceType",
]

CLUSTER_NAME: Final = "kafka-cluster"
"""The only name of a resource of type CLUSTER."""
WILDCARD_RESOURCE: Final = "*"
"""As the name of a literal pattern: every resource of the type."""
ANY_HOST: Final = "*"
WILDCARD_PRINCIPAL: Final = "User:*"


_O = AclOperation
SUPPORTED_OPERATIONS: Final = {
    ResourceType.TOPIC: (
        _O.READ, _O.WRITE, _O.CREATE, _O.DESCRIBE, _O.DELETE, _O.ALTER, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (_O.READ, _O.DESCRIBE, _O.DELETE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS),
    ResourceType.CLUSTER: (
        _O.CREATE, _O.CLUSTER_ACTION, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS, _O.IDEMPOTENT_WRITE, _O.ALTER, _O.DESCRIBE,
    ),
}  # fmt: skip
"""The operations of the `authorized_operations` fields (KIP-430). Mirrors AclEntry.supportedOperations."""


class Acl(NamedTuple):
    """One access control entry."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    """Type and name, as `User:ann`."""
    host: str
    """The client's address, or `*`."""
    operation: AclOperation
    permission_type: AclPermissionType


class AclFilter(NamedTuple):
    """Selects entries; None, and the code ANY, select all values of a field."""

    resource_type: ResourceType
    resource_name: str | None
    pattern_type: PatternType
    principal: str | None
    host: str | None
    operation: AclOperation
    permission_type: AclPermissionType

    def matches(self, acl: Acl) -> bool:
        """Return True if the filter selects the entry."""
        return (
            self.selects(acl.resource_type, acl.resource_name, acl.pattern_type)
            and self.principal in {None, acl.principal}
            and self.host in {None, acl.host}
            and self.operation in {AclOperation.ANY, acl.operation}
            and self.permission_type in {AclPermissionType.ANY, acl.permission_type}
        )

    def selects(self, resource_type: ResourceType, name: str, pattern_type: PatternType) -> bool:
        """Return True if the filter selects the pattern; MATCH selects every pattern that applies to its name."""
        if self.resource_type not in {ResourceType.ANY, resource_type}:
            return False
        if self.pattern_type not in {PatternType.ANY, PatternType.MATCH, pattern_type}:
            return False
        wanted = self.resource_name
        if wanted is None or wanted == name:
            return True
        if self.pattern_type is not PatternType.MATCH:
            return False
        if pattern_type is PatternType.LITERAL:
            return name == WILDCARD_RESOURCE
        return wanted.startswith(name)
