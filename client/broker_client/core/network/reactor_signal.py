"""A one-shot event that coroutines on a reactor wait for, and the wait for newer metadata that is built on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IReactorTime

    from broker_client.core.network.metadata import Metadata

__all__ = ["ReactorSignal", "metadata_change"]


class ReactorSignal:
    """Fires once. `call_from_thread` runs a function on the reactor; without it only the reactor's thread may fire."""

    __slots__ = ("_call_from_thread", "_ended", "_reactor")

    def __init__(
        self, reactor: IReactorTime, call_from_thread: Callable[[Callable[[], None]], object] | None = None
    ) -> None:
        self._reactor = reactor
        self._call_from_thread = call_from_thread
        self._ended: Deferred[bool] = Deferred()

    def fire(self) -> None:
        """End the wait; later calls do nothing."""
        if self._call_from_thread is None:
            self._end()
        else:
            self._call_from_thread(self._end)

    async def wait(self, timeout_s: float) -> bool:
        """Return True once it has fired, False after `timeout_s` seconds."""
        timer = self._reactor.callLater(max(timeout_s, 0), self._end, fired=False)
        try:
            return await self._ended
        finally:
            if timer.active():
                timer.cancel()

    def _end(self, *, fired: bool = True) -> None:
        if not self._ended.called:
            self._ended.callback(fired)


async def metadata_change(metadata: Metadata, reactor: IReactorTime, timeout_ms: int) -> None:
    """Wait for the next update, fatal error or close of the metadata, at most `timeout_ms`."""
    changed = ReactorSignal(reactor)
    metadata.on_change(changed.fire)
    try:
        await changed.wait(timeout_ms / 1000)
    finally:
        metadata.forget(changed.fire)
