"""Counts with their noun in the singular or the plural, for texts."""

from __future__ import annotations

__all__ = ["plural"]


def plural(count: int, noun: str) -> str:
    """Return the count and the noun: `1 time`, `1,200 times`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
