"""Decides whether a principal may do an operation on a resource.

Mirrors StandardAuthorizer with StandardAuthorizerData, and AclAuthorizer of releases in ZooKeeper mode.

In this order: super users may do everything; a DENY entry denies; an ALLOW entry allows; a resource to which no entry
applies is decided by `allow.everyone.if.no.acl.found`; everything else is denied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker_sim.errors import BrokerSimError
from broker_sim.security.acl import (
    ANY_HOST,
    WILDCARD_PRINCIPAL,
    WILDCARD_RESOURCE,
    Acl,
    AclFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from broker_sim.security.acl_index import AclIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.config.authorizer_settings import AuthorizerSettings

__all__ = ["AclAuthorizer", "Authorizer"]

IMPLIES_DESCRIBE: Final = frozenset(
    {AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER}
)
IMPLIES_DESCRIBE_CONFIGS: Final = frozenset({AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS})
_ALLOW: Final = AclPermissionType.ALLOW
_ANY_RESOURCE_NAME: Final = "hardcode"
"""The name by which Kafka finds out whether a principal may do the operation on resources without entries."""


class Authorizer:
    """The authorizer of one node; `acls` returns the entries that it knows, the same object until they change."""

    def __init__(self, settings: AuthorizerSettings, acls: Callable[[], Mapping[Any, Acl]]) -> None:
        self.settings = settings
        self._acls = acls
        self._indexed: Mapping[Any, Acl] | None = None
        self._index = AclIndex(())

    @property
    def index(self) -> AclIndex:
        """The newest entries that the node knows."""
        acls = self._acls()
        if acls is not self._indexed:
            self._index = AclIndex(acls.values())
            self._indexed = acls
        return self._index

    def allows(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> bool:
        """Return True if the principal may do the operation on the resource.

        Raises:
            BrokerSimError: An entry of the resource has a principal without a type, which 3.x stores.
        """
        settings = self.settings
        if principal in settings.super_users:
            return True
        allowed = found = False
        for acl in self.index.of_resource(resource_type, name):
            found = True
            if _applies(acl, principal, host, operation):
                if acl.permission_type is not _ALLOW:
                    return False
                allowed = True
        return allowed or (not found and settings.allow_everyone_if_no_acl_found)

    def allows_any(self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType) -> bool:
        """Return True if the principal may do the operation on some resource of the type.

        Mirrors Authorizer.authorizeByResourceType.

        Raises:
            BrokerSimError: An entry has a principal without a type, which 3.x stores.
        """
        if self.allows(principal, host, operation, resource_type, _ANY_RESOURCE_NAME):
            return True
        patterns = self._patterns(principal, host, operation, resource_type)
        return not patterns.all_are_denied and patterns.some_is_granted

    def _patterns(self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType) -> _Patterns:
        """Return the patterns of a type on which the principal has, or lacks, exactly this operation."""
        patterns = _Patterns([], {PatternType.LITERAL: set(), PatternType.PREFIXED: set()})
        for acl in self._of_type(resource_type):
            if acl.host not in {ANY_HOST, host}:
                continue
            if not _is_principal(acl, principal) or acl.operation not in {AclOperation.ALL, operation}:
                continue
            if acl.permission_type is _ALLOW:
                patterns.granted.append(acl)
            else:
                patterns.denied[acl.pattern_type].add(acl.resource_name)
                if patterns.all_are_denied:
                    break
        return patterns

    def _of_type(self, resource_type: ResourceType) -> list[Acl]:
        every = AclFilter(resource_type, None, PatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY)
        return self.index.matching(every)


class AclAuthorizer(Authorizer):
    """The authorizer of a broker in ZooKeeper mode: it decides as the other one does, but not about any resource."""

    def allows_any(self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType) -> bool:
        """Return True if the principal may do the operation on some resource of the type.

        With `allow.everyone.if.no.acl.found` only a DENY on all resources denies it: the other entries are not read.
        Mirrors AclAuthorizer.authorizeByResourceType.
        """
        if principal in self.settings.super_users:
            return True
        patterns = self._patterns(principal, host, operation, resource_type)
        if patterns.all_are_denied:
            return False
        return self.settings.allow_everyone_if_no_acl_found or patterns.some_is_granted


class _Patterns(NamedTuple):
    """The entries that grant an operation, and the names of the patterns that deny it."""

    granted: list[Acl]
    denied: Mapping[PatternType, set[str]]

    @property
    def all_are_denied(self) -> bool:
        return WILDCARD_RESOURCE in self.denied[PatternType.LITERAL]

    @property
    def some_is_granted(self) -> bool:
        return any(_is_granted(acl, self.denied) for acl in self.granted)


def _applies(acl: Acl, principal: str, host: str, operation: AclOperation) -> bool:
    """Return True if an entry, whose resource matches, concerns the request. Mirrors findResult."""
    if not _is_principal(acl, principal) or acl.host not in {ANY_HOST, host}:
        return False
    if acl.operation in {AclOperation.ALL, operation}:
        return True
    if acl.permission_type is not _ALLOW:
        return False
    if operation is AclOperation.DESCRIBE:
        return acl.operation in IMPLIES_DESCRIBE
    return operation is AclOperation.DESCRIBE_CONFIGS and acl.operation in IMPLIES_DESCRIBE_CONFIGS


def _is_principal(acl: Acl, principal: str) -> bool:
    if acl.principal in {WILDCARD_PRINCIPAL, principal}:
        return True
    if ":" not in acl.principal:
        raise BrokerSimError(
            f"the principal {acl.principal!r} of an ACL has no type: expected principalType:principalName"
        )
    return False


def _is_granted(acl: Acl, denied: Mapping[PatternType, set[str]]) -> bool:
    """Return True if no DENY entry covers all that an ALLOW entry grants."""
    name = acl.resource_name
    if acl.pattern_type is PatternType.LITERAL:
        if name == WILDCARD_RESOURCE:
            return True
        if name in denied[PatternType.LITERAL]:
            return False
    prefixes = denied[PatternType.PREFIXED]
    return not any(name[:length] in prefixes for length in range(1, len(name) + 1))
