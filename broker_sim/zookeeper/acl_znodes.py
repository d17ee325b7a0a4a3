"""The znodes of access control entries: one per resource pattern, with Kafka's JSON. Mirrors ZkAclStore and AclEntry.

Literal patterns are below /kafka-acl, prefixed ones below /kafka-acl-extended/prefixed (KIP-290).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from broker_sim.security.acl import Acl, AclOperation, AclPermissionType, PatternType, ResourceType
from broker_sim.zookeeper.znodes import Znode

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ACLS",
    "EXTENDED_ACLS",
    "NO_ACLS",
    "ResourcePattern",
    "VersionedAcls",
    "acl_znodes",
    "pattern_of",
    "read_acls",
]

ACLS: Final = "/kafka-acl"
EXTENDED_ACLS: Final = "/kafka-acl-extended"
JSON_VERSION: Final = 1
_FOLDERS: Final = {PatternType.LITERAL: ACLS, PatternType.PREFIXED: f"{EXTENDED_ACLS}/prefixed"}


class ResourcePattern(NamedTuple):
    """The resources that entries are for."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType


class VersionedAcls(NamedTuple):
    """The entries of one pattern, and the version of their znode."""

    acls: tuple[Acl, ...]
    version: int


NO_ACLS: Final = VersionedAcls((), -1)
"""The content of a znode that does not exist."""


def pattern_of(acl: Acl) -> ResourcePattern:
    """Return the pattern of an entry."""
    return ResourcePattern(acl.resource_type, acl.resource_name, acl.pattern_type)


def acl_znodes(acls: Mapping[ResourcePattern, VersionedAcls]) -> dict[str, Znode]:
    """Return the znodes of all patterns, by path."""
    return {_path(pattern): Znode(_data(stored.acls), stored.version) for pattern, stored in acls.items()}


def read_acls(tree: Mapping[str, Znode]) -> dict[ResourcePattern, VersionedAcls]:
    """Return the entries in a tree of znodes.

    Raises:
        KeyError, TypeError, ValueError: A znode is not Kafka's JSON of entries.
    """
    types = {_pascal(each.name): each for each in ResourceType}
    found = {}
    for pattern_type, folder in _FOLDERS.items():
        for path, znode in tree.items():
            if path.startswith(f"{folder}/"):
                kind, _, name = path.removeprefix(f"{folder}/").partition("/")
                pattern = ResourcePattern(types[kind], name, pattern_type)
                found[pattern] = VersionedAcls(_read(pattern, znode.data), znode.version)
    return found


def _path(pattern: ResourcePattern) -> str:
    return f"{_FOLDERS[pattern.pattern_type]}/{_pascal(pattern.resource_type.name)}/{pattern.name}"


def _data(acls: tuple[Acl, ...]) -> str:
    entries = [
        {
            "principal": acl.principal,
            "permissionType": _pascal(acl.permission_type.name),
            "operation": _pascal(acl.operation.name),
            "host": acl.host,
        }
        for acl in acls
    ]
    return json.dumps({"version": JSON_VERSION, "acls": entries}, separators=(",", ":"))


def _read(pattern: ResourcePattern, data: str) -> tuple[Acl, ...]:
    value: dict[str, Any] = json.loads(data)
    if value["version"] != JSON_VERSION:
        raise ValueError(f"version {value['version']} of access control entries: expected {JSON_VERSION}")
    operations = {_pascal(each.name): each for each in AclOperation}
    permissions = {_pascal(each.name): each for each in AclPermissionType}
    return tuple(
        Acl(
            *pattern,
            principal=each["principal"],
            host=each["host"],
            operation=operations[each["operation"]],
            permission_type=permissions[each["permissionType"]],
        )
        for each in value["acls"]
    )


def _pascal(name: str) -> str:
    """Return the name of a constant as Kafka stores it: IDEMPOTENT_WRITE is IdempotentWrite."""
    return "".join(part.capitalize() for part in name.split("_"))
