"""Unhandled errors: a failed Deferred without an errback fails the simulated run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from zope.interface import implementer

if TYPE_CHECKING:
    from types import TracebackType

    from twisted.python.failure import Failure

__all__ = ["UnhandledErrors"]

_DEFERRED_NAMESPACE: Final = "twisted.internet.defer"


@implementer(ILogObserver)
class UnhandledErrors:
    """Within `with`, collect the unhandled errors in Deferreds that Twisted reports; raise the first one at the end.

    A Deferred within a reference cycle is reported when Python's garbage collector finds it, which may be later.
    """

    __slots__ = ("_depth", "failures")

    def __init__(self) -> None:
        self.failures: list[Failure] = []
        self._depth = 0

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            globalLogPublisher.addObserver(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth:
            return
        globalLogPublisher.removeObserver(self)
        failures, self.failures = self.failures, []
        if failures and error is None:
            failures[0].raiseException()

    def __call__(self, event: LogEvent) -> None:
        """Twisted's ILogObserver."""
        failure = event.get("log_failure")
        if failure is not None and event.get("log_namespace") == _DEFERRED_NAMESPACE:
            self.failures.append(failure)
