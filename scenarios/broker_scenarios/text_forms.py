"""Counts with their noun, and times, for texts."""

from __future__ import annotations

__all__ = ["clock", "partition_name"]


def clock(time_us: int) -> str:
    """Return a time in seconds: `1.833 s`."""
    return f"{time_us / 1e6:.3f} s"


def partition_name(topic: str, partition: int) -> str:
    """Return `orders-0`; the topic alone for records that never had a partition."""
    return topic if partition < 0 else f"{topic}-{partition}"
