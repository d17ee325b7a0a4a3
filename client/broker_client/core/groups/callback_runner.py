"""Runs functions of the application: on the thread that waits in a call, or directly on the reactor's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CallbackRunner", "run_here"]


class CallbackRunner(Protocol):
    """Calls a function of the application and waits for it; raises what it raises."""

    async def __call__(self, function: Callable[..., object], *args: object) -> Any:
        """Call the function where the application expects it."""
        ...


async def run_here(function: Callable[..., object], *args: object) -> Any:
    """Call the function on the reactor's thread; wait if it returns a coroutine or a Deferred."""
    result = function(*args)
    if hasattr(result, "__await__") and not isinstance(result, Deferred):
        result = Deferred.fromCoroutine(result)  # type: ignore[arg-type]
    return await result if isinstance(result, Deferred) else result
