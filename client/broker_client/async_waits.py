"""What a send on an asyncio loop waits for: metadata, memory. KafkaProducer's thread waits for the same two.

A wait that its task's cancellation ends leaves nothing behind: no place in the queue for memory, no memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.batching.buffer_pool import WaiterState
from broker_client.errors import ProducerClosed

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from broker_client.core.producer.producer_core import ProducerCore

__all__ = ["AsyncWaits"]


class AsyncWaits:
    """For one producer on one loop."""

    __slots__ = ("_core", "_loop")

    def __init__(self, core: ProducerCore, loop: asyncio.AbstractEventLoop) -> None:
        self._core = core
        self._loop = loop

    async def for_metadata(self, left_s: float) -> bool:
        """Whether the metadata changed within that time."""
        if left_s <= 0:
            return False
        changed: asyncio.Future[bool] = self._loop.create_future()
        tell = _teller(changed)
        self._core.metadata.on_change(tell)
        give_up = self._loop.call_later(left_s, _teller(changed, answer=False))
        try:
            return await changed
        finally:
            give_up.cancel()
            self._core.metadata.forget(tell)

    async def for_memory(self, size_bytes: int, left_s: float) -> int:
        """That many bytes, which are the caller's then; raises BufferExhausted after max.block.ms."""
        pool = self._core.pool
        woken: asyncio.Future[bool] = self._loop.create_future()
        waiter = pool.wait(size_bytes, _teller(woken))
        self._core.wakeup()  # callers who wait make every batch sendable
        give_up = self._loop.call_later(max(left_s, 0), _teller(woken, answer=False))
        try:
            await woken
        except BaseException:
            if not waiter.abandon() and waiter.state is WaiterState.GRANTED:
                pool.deallocate(size_bytes)
            raise
        finally:
            give_up.cancel()
        if waiter.abandon():
            raise self._core.memory_timeout(size_bytes)
        if waiter.state is WaiterState.CLOSED:
            raise ProducerClosed("the producer was closed while a send waited for memory")
        return size_bytes


def _teller(future: asyncio.Future[bool], *, answer: bool = True) -> Callable[[], None]:
    def tell() -> None:
        if not future.done():
            future.set_result(answer)

    return tell
