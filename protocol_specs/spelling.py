"""The known names that resemble a misspelt one, by the rule of `sim_runtime.spelling`, which is not imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["close_names"]

_CLOSENESS_MIN: Final = 0.6
_FURTHER_THAN_NEAREST_MAX: Final = 0.1
_WITHOUT_SEPARATORS: Final = str.maketrans("", "", "-_.")


def close_names(name: str, known: Iterable[str], *, count: int = 1) -> tuple[str, ...]:
    """Return the known name nearest to a misspelt one, and up to `count` in all that are about as near; nearest first.

    Case, `-`, `_` and `.` do not matter. No name is returned if none is near.
    """
    from difflib import SequenceMatcher, get_close_matches  # an import of a message loads no slow module

    forms: dict[str, str] = {}
    for each in known:
        forms.setdefault(_plain(each), each)
    found = get_close_matches(_plain(name), forms, n=count, cutoff=_CLOSENESS_MIN)
    nearness = [SequenceMatcher(None, each, _plain(name)).ratio() for each in found]
    limit = max(nearness, default=0) - _FURTHER_THAN_NEAREST_MAX
    return tuple(forms[each] for each, near in zip(found, nearness, strict=True) if near >= limit)


def _plain(name: str) -> str:
    return name.lower().translate(_WITHOUT_SEPARATORS)
