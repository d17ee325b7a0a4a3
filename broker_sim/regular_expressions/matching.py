"""Checks an expression and matches whole texts. Mirrors Pattern.compile and Matcher.matches of RE2J."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from broker_sim.regular_expressions.program import Program, TooManyPlaces
from broker_sim.regular_expressions.syntax import InvalidRegex, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["InvalidRegex", "TooManyPlaces", "check_regex", "matching_texts"]

_PROGRAMS_MAX: Final = 64


def check_regex(regex: str) -> None:
    """Raise unless RE2J accepts the expression.

    Raises:
        InvalidRegex: With RE2J's text.
    """
    parse(regex)


def matching_texts(regex: str, texts: Iterable[str]) -> frozenset[str]:
    """Return the texts that match as a whole.

    Raises:
        InvalidRegex: With RE2J's text.
        TooManyPlaces: Where RE2J's stack would overflow.
    """
    program = _program(regex)
    return frozenset(text for text in texts if program.matches(text))


@lru_cache(maxsize=_PROGRAMS_MAX)
def _program(regex: str) -> Program:
    return Program(parse(regex))
