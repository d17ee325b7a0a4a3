"""Words of the texts of all packages: the known name nearest to a wrong one, numbers and nouns, reasons, long texts."""

from __future__ import annotations

from difflib import SequenceMatcher, get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["close_names", "nearest", "numbers", "plural", "reason_of", "shortened"]

_SHORT_CHARACTERS: Final = 60
_CLOSENESS_MIN: Final = 0.6
_FURTHER_THAN_NEAREST_MAX: Final = 0.1
_WITHOUT_SEPARATORS: Final = str.maketrans("", "", "-_.")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` with the known name nearest to a wrong one, or an empty text."""
    close = close_names(name, known)
    return f"; did you mean {close[0]!r}?" if close else ""


def close_names(name: str, known: Iterable[str], *, count: int = 1) -> tuple[str, ...]:
    """Return the known name nearest to a misspelt one, and up to `count` in all that are about as near; nearest first.

    Case, `-`, `_` and `.` do not matter. No name is returned if none is near.
    """
    forms: dict[str, str] = {}
    for each in known:
        forms.setdefault(_plain(each), each)
    found = get_close_matches(_plain(name), forms, n=count, cutoff=_CLOSENESS_MIN)
    nearness = [SequenceMatcher(None, each, _plain(name)).ratio() for each in found]
    limit = max(nearness, default=0) - _FURTHER_THAN_NEAREST_MAX
    return tuple(forms[each] for each, near in zip(found, nearness, strict=True) if near >= limit)


def _plain(name: str) -> str:
    return name.lower().translate(_WITHOUT_SEPARATORS)


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
