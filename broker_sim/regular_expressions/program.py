"""Matches of whole texts as RE2J's Machine finds them: all places of the expression at once, without going back.

A place in an expression is a node with its place in it and the place that follows; places are made as a text needs
them, so that a repetition of a thousand repetitions costs no more than its matches. A character costs at most the
places that it can lead to, which are limited as RE2J's stack limits them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from broker_sim.regular_expressions.characters import CharacterSet
from broker_sim.regular_expressions.syntax import Alternatives, Assertion, Node, Repetition, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Program", "TooManyPlaces"]

_END: Final = 0
_MOVES_MAX: Final = 10_000
PLACES_MAX: Final = 17_500
"""The places between two characters. RE2J follows them by recursion, and its stack ends at 3,000 to 4,000
repetitions that may be empty, which are five places each here."""


class TooManyPlaces(Exception):
    """An expression has more repetitions that may be empty than RE2J's stack takes."""

    def __str__(self) -> str:
        return f"more than {PLACES_MAX} places of the expression follow one character: RE2J's stack overflows"


class _Place(NamedTuple):
    """A node that comes next: the number of its part, or how often it is to be repeated at least and at most."""

    node: Node | None
    low: int
    high: int | None
    then: int
    """The place behind it."""


class Program:
    """A parsed expression that matches texts."""

    def __init__(self, node: Node) -> None:
        self._places = [_Place(None, 0, 0, _END)]
        self._numbers: dict[tuple[int, int, int | None, int], int] = {}
        self._begin = self._place(node, _END)
        self._moves: dict[tuple[tuple[int, ...], str, str], tuple[int, ...]] = {}
        """Where a character leads: the places before it, itself and the next character, which assertions see."""

    def matches(self, text: str) -> bool:
        """Return True if the whole text matches.

        Raises:
            TooManyPlaces: Repetitions of what may be empty are too many.
        """
        places = self._reached([self._begin], "", text[:1])
        for index, char in enumerate(text):
            key = places, char, text[index + 1 : index + 2]
            moved = self._moves.get(key)
            if moved is None:
                if len(self._moves) >= _MOVES_MAX:
                    self._moves.clear()
                moved = self._moves[key] = self._move(*key)
            places = moved
            if not places:
                return False
        return _END in places

    def _move(self, places: tuple[int, ...], char: str, behind: str) -> tuple[int, ...]:
        passed = [self._places[each] for each in places]
        then = [each.then for each in passed if isinstance(each.node, CharacterSet) and char in each.node]
        return self._reached(then, char, behind)

    def _place(self, node: Node, then: int) -> int:
        if isinstance(node, Repetition):
            return self._numbered(node, node.low, node.high, then)
        return self._numbered(node, 0, 0, then)

    def _numbered(self, node: Node, low: int, high: int | None, then: int) -> int:
        key = id(node), low, high, then
        number = self._numbers.setdefault(key, len(self._places))
        if number == len(self._places):
            self._places.append(_Place(node, low, high, then))
        return number

    def _reached(self, begin: Iterable[int], before: str, behind: str) -> tuple[int, ...]:
        """Return the places of characters, and of the end, that are reached between two characters."""
        seen = dict.fromkeys(begin)
        left = list(seen)
        most = len(seen) + PLACES_MAX
        found = []
        while left:
            number = left.pop()
            place = self._places[number]
            if number == _END or isinstance(place.node, CharacterSet):
                found.append(number)
                continue
            for each in self._next(place, before, behind):
                if each not in seen:
                    seen[each] = None
                    left.append(each)
            if len(seen) > most:
                raise TooManyPlaces
        return tuple(found)

    def _next(self, place: _Place, before: str, behind: str) -> list[int]:
        node = place.node
        if isinstance(node, Sequence):
            if place.low == len(node.nodes):
                return [place.then]
            return [self._place(node.nodes[place.low], self._numbered(node, place.low + 1, 0, place.then))]
        if isinstance(node, Alternatives):
            return [self._place(each, place.then) for each in node.nodes]
        if isinstance(node, Assertion):
            return [place.then] if _holds(node, before, behind) else []
        assert isinstance(node, Repetition)
        if place.high == 0:
            return [place.then]
        high = None if place.high is None else place.high - 1
        again = self._place(node.node, self._numbered(node, max(place.low - 1, 0), high, place.then))
        return [again] if place.low else [again, place.then]


def _holds(assertion: Assertion, before: str, behind: str) -> bool:
    """Return True if an assertion holds between two characters; the ends of the text are empty."""
    if assertion is Assertion.TEXT_BEGIN:
        return not before
    if assertion is Assertion.TEXT_END:
        return not behind
    if assertion is Assertion.LINE_BEGIN:
        return before in {"", "\n"}
    if assertion is Assertion.LINE_END:
        return behind in {"", "\n"}
    return (_is_word(before) != _is_word(behind)) == (assertion is Assertion.WORD_BOUNDARY)


def _is_word(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")
