"""Version ranges as Kafka's message definitions write them: ``3+``, ``0-12``, ``7``. Mirrors Versions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNBOUNDED: Final = 32767


class VersionRange:
    """Versions from `lowest` to `highest`, both included; an open one ends at Kafka's largest, 32767.

    A value: not changed after it was made. Written out, because importing dataclasses takes longer than all messages.
    """

    __slots__ = ("highest", "lowest")

    def __init__(self, lowest: int, highest: int) -> None:
        self.lowest = lowest
        self.highest = highest

    @classmethod
    @lru_cache(maxsize=512)
    def parse(cls, text: str) -> VersionRange:
        """Read ``3+``, ``0-12``, ``7`` or ``none``; raise ValueError naming the text otherwise."""
        if text == "none":
            return EMPTY
        low, separator, high = text.removesuffix("+").partition("-")
        try:
            if text.endswith("+"):
                return cls(int(low), _UNBOUNDED)
            return cls(int(low), int(high) if separator else int(low))
        except ValueError:
            raise ValueError(f"version range {text!r}: expected '3+', '0-12', '7' or 'none'") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VersionRange):
            return NotImplemented
        return (self.lowest, self.highest) == (other.lowest, other.highest)

    def __hash__(self) -> int:
        return hash((self.lowest, self.highest))

    def __repr__(self) -> str:
        return f"VersionRange({self.lowest}, {self.highest})"

    def __contains__(self, version: int) -> bool:
        try:
            return self.lowest <= version <= self.highest
        except TypeError:  # a version that is no number
            return False

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def __len__(self) -> int:
        return max(0, self.highest - self.lowest + 1)

    def __str__(self) -> str:
        if self.lowest > self.highest:
            return "none"
        if self.highest == _UNBOUNDED:
            return f"{self.lowest}+"
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"

    def intersection(self, other: VersionRange) -> VersionRange:
        """The versions in both; possibly empty."""
        return VersionRange(max(self.lowest, other.lowest), min(self.highest, other.highest))


EMPTY: Final = VersionRange(0, -1)
"""The range without a version."""

ALL: Final = VersionRange(0, _UNBOUNDED)
"""Every version from 0."""
