"""A response that waits until its group sends it. Mirrors the response futures of GroupCoordinatorService."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred

__all__ = ["ParkedResponse"]

T = TypeVar("T")


class ParkedResponse(Generic[T]):
    """One response, which is sent once: the first `complete` decides."""

    __slots__ = ("deferred",)

    def __init__(self) -> None:
        self.deferred: Deferred[Any] = Deferred()

    def complete(self, response: T) -> None:
        """Send the response, unless one was sent already."""
        if not self.deferred.called:
            self.deferred.callback(response)
