"""How a coordinator reads the log that it loads, and the effect of records that it cannot replay."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.message import Message

__all__ = ["ALL_RECORDS", "BadRecords", "LoadSettings"]


class BadRecords(Enum):
    """The effect of a record that cannot be decoded or replayed: a client or another release has appended it."""

    FAIL_THE_SHARD = "fail the shard"
    """The broker does not coordinate the partition. Mirrors CoordinatorRuntime."""

    KEEP_WHAT_IS_BEFORE = "keep what is before"
    """The shard has the state before the record. Mirrors TransactionStateManager.loadTransactionMetadata."""

    DISCARD_EVERYTHING = "discard everything"
    """The shard is empty: the loader applies nothing before it has read all. Mirrors doLoadGroupsAndOffsets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """The settings of a load, the same for all shards of a coordinator."""

    value_types: Mapping[int, type[Message]] = field(default_factory=dict)
    """The classes of the record types whose values differ from those of the registry."""

    record_types: frozenset[int] | None = None
    """The record types that the coordinator knows, if it does not know all of the registry; others are passed over."""

    bad_records: BadRecords = BadRecords.FAIL_THE_SHARD
    ignores_later_versions: bool = False
    """True if a value of an unknown version is passed over."""


ALL_RECORDS: Final = LoadSettings()
"""Those of a coordinator that knows every record of the registry, and fails at a bad one."""
