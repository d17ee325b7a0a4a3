"""The version of each metadata record, by metadata.version. Mirrors MetadataVersion.

A record without an entry here has version 0 alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

__all__ = ["RecordVersions", "record_versions"]

IBP_3_3_IV1: Final = 5
"""NoOpRecord."""
IBP_3_3_IV2: Final = 6
"""BrokerRegistrationChangeRecord instead of FenceBrokerRecord and UnfenceBrokerRecord."""
IBP_3_3_IV3: Final = 7
"""Controlled shutdown is in the registration (KIP-841)."""
IBP_3_4_IV0: Final = 8
"""The migration from ZooKeeper (KIP-866)."""
IBP_3_5_IV2: Final = 11
"""SCRAM credentials (KIP-900)."""
IBP_3_6_IV1: Final = 13
"""Metadata transactions (KIP-868)."""
IBP_3_6_IV2: Final = 14
"""Delegation tokens (KIP-900)."""
IBP_3_7_IV0: Final = 15
"""Controllers register (KIP-919)."""
IBP_3_7_IV2: Final = 17
"""Log directories are assigned to replicas (KIP-858)."""
IBP_4_0_IV1: Final = 23
"""Eligible leader replicas (KIP-966)."""
IBP_4_3_IV0: Final = 30
"""Cordoned log directories (KIP-1066)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordVersions:
    """The record versions that one metadata.version writes."""

    register_broker: int
    partition: int
    """Of PartitionRecord and PartitionChangeRecord."""
    has_no_ops: bool
    has_registration_changes: bool
    has_controlled_shutdown: bool
    has_scram: bool
    has_transactions: bool
    has_tokens: bool
    has_controllers: bool
    has_directories: bool
    has_elr: bool
    has_cordoned_directories: bool


@cache
def record_versions(metadata_version: int) -> RecordVersions:
    """Return the versions at a level of metadata.version; level 0 is a cluster without one."""
    registrations = (IBP_3_3_IV3, IBP_3_4_IV0, IBP_3_7_IV2, IBP_4_3_IV0)
    return RecordVersions(
        register_broker=sum(metadata_version >= level for level in registrations),
        partition=sum(metadata_version >= level for level in (IBP_3_7_IV2, IBP_4_0_IV1)),
        has_no_ops=metadata_version >= IBP_3_3_IV1,
        has_registration_changes=metadata_version >= IBP_3_3_IV2,
        has_controlled_shutdown=metadata_version >= IBP_3_3_IV3,
        has_scram=metadata_version >= IBP_3_5_IV2,
        has_transactions=metadata_version >= IBP_3_6_IV1,
        has_tokens=metadata_version >= IBP_3_6_IV2,
        has_controllers=metadata_version >= IBP_3_7_IV0,
        has_directories=metadata_version >= IBP_3_7_IV2,
        has_elr=metadata_version >= IBP_4_0_IV1,
        has_cordoned_directories=metadata_version >= IBP_4_3_IV0,
    )
