"""Splits texts as Java does."""

from __future__ import annotations


def java_split(text: str) -> list[str]:
    """Split as String.split does: trailing empty items are dropped, but a text without a comma stays."""
    items = text.split(",")
    while len(items) > 1 and not items[-1]:
        items.pop()
    return [] if items == [""] and text else items
