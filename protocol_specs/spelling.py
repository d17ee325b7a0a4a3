"""The known names that resemble a misspelt one: the one rule of all suggestions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["close_names", "nearest"]

_CLOSENESS_MIN: Final = 0.7
"""A name that shares some letters is no suggestion."""
_CLOSENESS_OF_BEGINNING_MIN: Final = 0.6
"""A name that begins a longer one, as NOT_LEADER begins NOT_LEADER_OR_FOLLOWER, may be less close."""
_FURTHER_THAN_NEAREST_MAX: Final = 0.1
_SEPARATORS: Final = str.maketrans("-.", "__")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` with the known name nearest to a wrong one, or an empty text."""
    close = close_names(name, known)
    return f"; did you mean {close[0]!r}?" if close else ""


def close_names(name: str, known: Iterable[str], *, count: int = 1) -> tuple[str, ...]:
    """Return the known name nearest to a misspelt one, and up to `count` in all that are about as near; nearest first.

    Case does not matter, nor which of `-`, `_` and `.` separates words. No name is returned if none is near.
    """
    from difflib import SequenceMatcher, get_close_matches  # an import of a message loads no slow module

    wrong = _plain(name)
    forms: dict[str, str] = {}
    for each in known:
        forms.setdefault(_plain(each), each)
    found: list[str] = []
    limit = _CLOSENESS_MIN
    for form in get_close_matches(wrong, forms, n=max(len(forms), 1), cutoff=_CLOSENESS_OF_BEGINNING_MIN):
        near = SequenceMatcher(None, form, wrong).ratio()
        if near >= limit or (not found and form.startswith(f"{wrong}_")):
            limit = max(limit, near - _FURTHER_THAN_NEAREST_MAX)
            found.append(forms[form])
    return tuple(found[:count])


def _plain(name: str) -> str:
    return name.lower().translate(_SEPARATORS)
