"""Words of the texts of all packages: the known name nearest to a wrong one, numbers and nouns, reasons, long texts."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["nearest", "numbers", "plural", "reason_of", "shortened"]

_SHORT_CHARACTERS: Final = 60


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` with the known name nearest to a wrong one, or an empty text."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


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
