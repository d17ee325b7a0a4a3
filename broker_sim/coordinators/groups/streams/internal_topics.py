"""The internal topics that a broker is creating, and those that it could not create. Mirrors the part of
AutoTopicCreationManager for streams groups and its ExpiringErrorCache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["InternalTopicCreations"]

ERRORS_MAX: Final = 1000
"""The number of errors that are kept."""


class InternalTopicCreations:
    """Topics in flight, and errors by topic until they expire."""

    def __init__(self) -> None:
        self._in_flight: dict[str, None] = {}
        self._errors: dict[str, tuple[str, int]] = {}

    def begin(self, names: Iterable[str], now_ms: int) -> list[str]:
        """Return the topics to create: those neither in flight nor failed lately."""
        begun = [name for name in names if name not in self._in_flight and self._error(name, now_ms) is None]
        self._in_flight.update(dict.fromkeys(begun))
        return begun

    def end(self, names: Iterable[str]) -> None:
        """The creation of topics has ended, well or not."""
        for name in names:
            self._in_flight.pop(name, None)

    def failed(self, name: str, message: str, expires_ms: int) -> None:
        """Keep the error of a topic until a time."""
        self._errors.pop(name, None)
        self._errors[name] = (message, expires_ms)
        while len(self._errors) > ERRORS_MAX:
            del self._errors[next(iter(self._errors))]

    def errors(self, names: Iterable[str], now_ms: int) -> dict[str, str]:
        """Return the errors of topics that have not expired."""
        found = {name: self._error(name, now_ms) for name in names}
        return {name: message for name, message in found.items() if message is not None}

    def _error(self, name: str, now_ms: int) -> str | None:
        known = self._errors.get(name)
        return known[0] if known is not None and known[1] > now_ms else None
