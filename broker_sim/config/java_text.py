"""How Java takes a text apart."""

from __future__ import annotations


def java_split(text: str) -> list[str]:
    """As String.split: what is empty at the end is dropped, but a text without a comma stays."""
    items = text.split(",")
    while len(items) > 1 and not items[-1]:
        items.pop()
    return [] if items == [""] and text else items
