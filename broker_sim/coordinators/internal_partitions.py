"""The partition of an internal topic that has the state of a key. Mirrors GroupCoordinatorService.partitionFor."""

from __future__ import annotations

from typing import Final

from protocol_specs.java_hash import string_hash

__all__ = ["partition_for"]

_INT32_MIN: Final = -(2**31)


def partition_for(key: str, partitions: int) -> int:
    """Return the index for a group id, transactional id or share partition key: Java's string hash, made positive."""
    value = string_hash(key)
    return 0 if value == _INT32_MIN else abs(value) % partitions
