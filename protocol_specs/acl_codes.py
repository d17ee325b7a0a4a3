"""The codes of access control entries in messages and metadata records.

Mirrors ResourceType, PatternType, AclOperation and AclPermissionType: codes that no release knows are UNKNOWN.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["AclOperation", "AclPermissionType", "PatternType", "ResourceType"]


class _Code(IntEnum):
    """An enumeration of the protocol, whose codes that no release knows are UNKNOWN."""

    @classmethod
    def _missing_(cls, value: object) -> _Code:  # noqa: ARG003 - as IntEnum has it
        return cls(0)


class ResourceType(_Code):
    """The type of a resource; ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(_Code):
    """The way in which the name of an entry selects resources; ANY and MATCH are for filters."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(_Code):
    """An operation on a resource; ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermissionType(_Code):
    """The effect of an entry; ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3
