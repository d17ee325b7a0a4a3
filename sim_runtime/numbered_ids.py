"""Identities in the order of the program: `id` for code whose order must not depend on addresses."""

from __future__ import annotations

import weakref
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NumberedIds"]


class NumberedIds:
    """A function like `id`: an object has the same number while it lives. The first one that is given in gets 1."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._known: dict[int, tuple[Callable[[], Any], int]] = {}

    def __call__(self, thing: object) -> int:
        """The number of an object."""
        found = self._known.get(id(thing))
        if found is not None and found[0]() is thing:
            return found[1]
        number = next(self._numbers)
        self._known[id(thing)] = _reference(thing), number
        return number


def _reference(thing: object) -> Callable[[], Any]:
    try:
        return weakref.ref(thing)
    except TypeError:  # it cannot be referenced weakly, such as a number, and stays
        return lambda: thing
