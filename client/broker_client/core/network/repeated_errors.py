"""Logs an error that repeats once with its traceback, and then only how often it has occurred."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from twisted.logger import Logger

__all__ = ["RepeatedErrors"]

DISTINCT_ERRORS_MAX: Final = 100
"""So many different errors are counted apart; those beyond it share one count."""

_NUMBER: Final = re.compile(r"\d+")
_OTHERS: Final = ("other errors", "")


class RepeatedErrors:
    """The errors of one loop, by type and text without numbers: correlation ids and offsets make no new error."""

    __slots__ = ("_counts", "_log", "_logged", "_what", "total")

    def __init__(self, log: Logger, what: str) -> None:
        self.total = 0
        self._log = log
        self._what = what
        self._counts: dict[tuple[str, str], int] = {}
        self._logged: dict[tuple[str, str], int] = {}

    def caught(self, error: Exception) -> None:
        """Count an error that is being handled; log the first of its kind, then the 10th, 100th and so on."""
        self.total += 1
        kind = type(error).__name__, _NUMBER.sub("#", str(error))
        if kind not in self._counts and len(self._counts) >= DISTINCT_ERRORS_MAX:
            kind = _OTHERS
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if count == 1:
            self._logged[kind] = count
            self._log.failure("{what}: uncaught error", what=self._what)
        elif count == 10 * self._logged[kind]:
            self._log_count(kind)

    def close(self) -> None:
        """Log each count that is not logged yet."""
        for kind, count in self._counts.items():
            if count != self._logged[kind]:
                self._log_count(kind)

    def _log_count(self, kind: tuple[str, str]) -> None:
        self._logged[kind] = count = self._counts[kind]
        self._log.error(
            "{what}: uncaught error repeated count={count} error={name}: {text}",
            what=self._what,
            count=count,
            name=kind[0],
            text=kind[1],
        )
