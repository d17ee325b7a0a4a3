"""Makes a document of mappings, lists and numbers smaller while it keeps a property: delta debugging (Zeller, ddmin).

It knows nothing of scenarios: a document that is no valid scenario lacks the property. Each pass tries the greatest
steps first, and the passes repeat until none finds anything or the trials are used up: the end is always reached.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

__all__ = ["Reducer"]

Path: TypeAlias = tuple[str | int, ...]


class Reducer:
    """Reduces documents for which `holds` returns True.

    `kept` are the first keys that stay as they are, `counts` the keys of the whole numbers that are lowered.
    """

    def __init__(
        self,
        holds: Callable[[dict[str, Any]], bool],
        *,
        trials_max: int,
        kept: Collection[str] = (),
        counts: Collection[str] = (),
    ) -> None:
        self._holds = holds
        self._kept = kept
        self._counts = counts
        self._tried: dict[str, None] = {}
        self._left = trials_max

    def reduce(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return the smallest document that was found; at least the given one, which must have the property."""
        before = None
        while document != before and self._left > 0:
            before = document
            document = self._lower_numbers(document)
            document = self._remove_parts(document)
        return document

    def _remove_parts(self, document: dict[str, Any]) -> dict[str, Any]:
        """Take parts out of each mapping and list, the outer ones first."""
        depth = 0
        while containers := [path for path in _containers(document, self._kept) if len(path) == depth]:
            for path in containers:
                document = self._remove_children(document, path)
            depth += 1
        return document

    def _remove_children(self, document: dict[str, Any], path: Path) -> dict[str, Any]:
        size = len(_removable(document, path, self._kept))
        while size > 0:
            place = 0
            while place < len(children := _removable(document, path, self._kept)):
                smaller = _without(document, path, children[place : place + size])
                if self._accepts(smaller):
                    document = smaller
                else:
                    place += size
            size //= 2
        return document

    def _lower_numbers(self, document: dict[str, Any]) -> dict[str, Any]:
        # The largest one first: most often it is the number of records, and fewer of them make all later trials faster.
        for path in sorted(_numbers(document, self._counts), key=lambda path: -_at(document, path)):
            document = self._lower_number(document, path)
        return document

    def _lower_number(self, document: dict[str, Any], path: Path) -> dict[str, Any]:
        """Look for a small number by halves; each that has the property becomes the new upper end."""
        high = _at(document, path)
        for simple in (0, 1):
            smaller = _with(document, path, simple)
            if simple < high and self._accepts(smaller):
                return smaller
        low = 1
        while low < (middle := (low + high) // 2):
            smaller = _with(document, path, middle)
            if self._accepts(smaller):
                document, high = smaller, middle
            else:
                low = middle
        return document

    def _accepts(self, document: dict[str, Any]) -> bool:
        """Try a document, once."""
        text = json.dumps(document, sort_keys=True, default=str)
        if self._left <= 0 or text in self._tried:
            return False
        self._tried[text] = None
        self._left -= 1
        return self._holds(document)


def _containers(value: Any, kept: Collection[str], path: Path = ()) -> Iterator[Path]:
    if isinstance(value, dict | list) and value:
        yield path
        for key, child in _items(value):
            if path or key not in kept:
                yield from _containers(child, kept, (*path, key))


def _numbers(value: Any, counts: Collection[str], path: Path = ()) -> Iterator[Path]:
    """The paths of the whole numbers above one that have the key of a count, or stand in a list that has it."""
    if isinstance(value, dict | list):
        for key, child in _items(value):
            yield from _numbers(child, counts, (*path, key))
    elif isinstance(value, int) and not isinstance(value, bool) and value > 1:
        names = [key for key in path if isinstance(key, str)]
        if names[-1:] and names[-1] in counts:
            yield path


def _removable(document: Any, path: Path, kept: Collection[str]) -> list[str | int]:
    return [key for key, _ in _items(_at(document, path)) if path or key not in kept]


def _items(value: dict[str, Any] | list[Any]) -> list[tuple[str | int, Any]]:
    return [*value.items()] if isinstance(value, dict) else [*enumerate(value)]


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _with(document: dict[str, Any], path: Path, new: Any) -> dict[str, Any]:
    """A copy with another value at a path."""
    copy: dict[str, Any] = _replaced(document, path, new)
    return copy


def _replaced(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


def _without(document: dict[str, Any], path: Path, keys: list[str | int]) -> dict[str, Any]:
    """A copy without some keys of the mapping, or places of the list, at a path."""
    holder = _at(document, path)
    left = [(key, child) for key, child in _items(holder) if key not in keys]
    return _with(document, path, dict(left) if isinstance(holder, dict) else [child for _, child in left])
