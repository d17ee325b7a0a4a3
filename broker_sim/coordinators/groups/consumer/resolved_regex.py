"""The topics that match a regular expression of a group. Mirrors ResolvedRegularExpression and Utils (RE2J)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.groups.consumer.regex_program import Program, TooManyPlaces
from broker_sim.coordinators.groups.consumer.regex_syntax import InvalidRegex, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NOT_RESOLVED", "InvalidRegex", "ResolvedRegex", "TooManyPlaces", "check_regex", "matching_topics"]

_PROGRAMS_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics as of a version of the metadata."""

    topics: frozenset[str] = frozenset()
    version: int = -1
    timestamp_ms: int = -1


NOT_RESOLVED: Final = ResolvedRegex()


def check_regex(regex: str) -> None:
    """Raise unless RE2J accepts the expression.

    Raises:
        InvalidRegex: With RE2J's text.
    """
    parse(regex)


def matching_topics(regex: str, topics: Iterable[str]) -> frozenset[str]:
    """Return the topics whose whole name matches.

    Raises:
        TooManyPlaces: Where RE2J's stack would overflow.
    """
    program = _program(regex)
    return frozenset(topic for topic in topics if program.matches(topic))


@lru_cache(maxsize=_PROGRAMS_MAX)
def _program(regex: str) -> Program:
    return Program(parse(regex))
