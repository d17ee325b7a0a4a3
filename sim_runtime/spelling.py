"""Words of the texts of all packages: numbers and nouns, reasons of failures, long texts."""

from __future__ import annotations

from typing import Final

__all__ = ["numbers", "plural", "reason_of", "shortened"]

_SHORT_CHARACTERS: Final = 60


def plural(count: int, noun: str, many: str | None = None) -> str:
    """Return the count and the noun: `1 time`, `1,200 times`; `many` is an irregular plural."""
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"


def numbers(noun: str, first: int, count: int) -> str:
    """Return consecutive numbers with their noun: `offset 7`, or `offsets 7 to 9`."""
    return f"{noun} {first:,}" if count == 1 else f"{noun}s {first:,} to {first + count - 1:,}"


def reason_of(error: Exception) -> str:
    """Return the reason of a file, folder or port that cannot be used, in one line: `No such file or directory`.

    The text of an OSError has the number of the error before it and the path behind it; the caller names the path.
    """
    return " ".join(str(getattr(error, "strerror", None) or error).split())


def shortened(text: str) -> str:
    """Return the beginning of a text that is too long for a line with other words, else the text."""
    return text if len(text) <= _SHORT_CHARACTERS else f"{text[:_SHORT_CHARACTERS]}..."
