"""The Signal of front ends on asyncio: it suspends the caller's task."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

__all__ = ["AsyncSignal"]


class AsyncSignal:
    """Fires once, on the thread of its event loop."""

    __slots__ = ("_ended", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ended: asyncio.Future[bool] = loop.create_future()

    def fire(self) -> None:
        """End the wait; later calls do nothing."""
        self._end(fired=True)

    async def wait(self, timeout_s: float) -> bool:
        """Return True once it has fired, False after `timeout_s` seconds."""
        timer = self._loop.call_later(timeout_s, partial(self._end, fired=False))
        try:
            return await self._ended
        finally:
            timer.cancel()

    def _end(self, *, fired: bool) -> None:
        if not self._ended.done():
            self._ended.set_result(fired)
