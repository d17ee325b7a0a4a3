"""Makes a document of mappings, lists and numbers smaller while it keeps a property: delta debugging (Zeller, ddmin).

It knows nothing of scenarios: a document that is no valid scenario lacks the property. Each pass tries the greatest
steps first, and the passes repeat until none finds anything or the trials are used up: the end is always reached.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from broker_sim.yaml_source import value_at, with_value
from protocol_specs.fuzzing.cutting import cut_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from broker_sim.yaml_source import KeyPath

__all__ = ["Reducer"]


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

    def _remove_children(self, document: dict[str, Any], path: KeyPath) -> dict[str, Any]:
        keys = [key for key, _ in _items(value_at(document, path)) if path or key not in self._kept]

        def only(left: list[str | int]) -> dict[str, Any]:
            return _without(document, path, {*keys} - {*left})

        if keys and self._accepts(only([])):
            return only([])
        return only(cut_pieces(keys, lambda left: self._accepts(only(left))))

    def _lower_numbers(self, document: dict[str, Any]) -> dict[str, Any]:
        # The largest one first: most often it is the number of records, and fewer of them make all later trials faster.
        for path in sorted(_numbers(document, self._counts), key=lambda path: -value_at(document, path)):
            document = self._lower_number(document, path)
        return document

    def _lower_number(self, document: dict[str, Any], path: KeyPath) -> dict[str, Any]:
        """Look for a small number by halves; each that has the property becomes the new upper end."""
        high = value_at(document, path)
        for simple in (0, 1):
            smaller: dict[str, Any] = with_value(document, path, simple)
            if simple < high and self._accepts(smaller):
                return smaller
        low = 1
        while low < (middle := (low + high) // 2):
            smaller = with_value(document, path, middle)
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


def _containers(value: Any, kept: Collection[str], path: KeyPath = ()) -> Iterator[KeyPath]:
    if isinstance(value, dict | list) and value:
        yield path
        for key, child in _items(value):
            if path or key not in kept:
                yield from _containers(child, kept, (*path, key))


def _numbers(value: Any, counts: Collection[str], path: KeyPath = ()) -> Iterator[KeyPath]:
    """The paths of the whole numbers above one that have the key of a count, or stand in a list that has it."""
    if isinstance(value, dict | list):
        for key, child in _items(value):
            yield from _numbers(child, counts, (*path, key))
    elif isinstance(value, int) and not isinstance(value, bool) and value > 1:
        names = [key for key in path if isinstance(key, str)]
        if names and names[-1] in counts:
            yield path


def _items(value: dict[str, Any] | list[Any]) -> list[tuple[str | int, Any]]:
    return [*value.items()] if isinstance(value, dict) else [*enumerate(value)]


def _without(document: dict[str, Any], path: KeyPath, keys: set[str | int]) -> dict[str, Any]:
    """A copy without some keys of the mapping, or places of the list, at a path."""
    holder = value_at(document, path)
    left = [(key, child) for key, child in _items(holder) if key not in keys]
    smaller: dict[str, Any] = with_value(
        document, path, dict(left) if isinstance(holder, dict) else [child for _, child in left]
    )
    return smaller
