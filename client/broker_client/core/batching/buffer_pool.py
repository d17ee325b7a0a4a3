"""The memory of unsent records: bounded, granted in FIFO order. Mirrors BufferPool (KAFKA-19012 for buffers in flight).

What is kept here is the account of `buffer.memory`. The bytes themselves live in each batch's builder, because Python
cannot hand one allocation from batch to batch without a copy; a grant is the capacity that its batch gives back once,
after its last request has ended. Sizes are bytes. Callers and the Sender share a pool: every method may be called from
any thread, and a waiter's `granted` is called outside of the pool's lock, by the thread that freed the memory.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto
from threading import Lock
from typing import TYPE_CHECKING

from broker_client.errors import IllegalState, RecordTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.metrics.kafka_producer_metrics import BufferPoolMetrics

__all__ = ["BufferPool", "MemoryWaiter", "WaiterState"]


class WaiterState(Enum):
    """The states of a wait for memory; the last three are final."""

    WAITING = auto()
    GRANTED = auto()
    ABANDONED = auto()
    CLOSED = auto()


class MemoryWaiter:
    """One blocked caller: it collects what others free until it has `size_bytes`."""

    __slots__ = ("_pool", "began_s", "collected_bytes", "granted", "size_bytes", "state")

    def __init__(self, pool: BufferPool, size_bytes: int, granted: Callable[[], object]) -> None:
        self.size_bytes = size_bytes
        self.state = WaiterState.WAITING
        self.began_s = 0.0
        self._pool = pool
        self.collected_bytes = 0
        self.granted = granted

    def abandon(self) -> bool:
        """Stop waiting and give back what was collected; False when the wait had already ended."""
        return self._pool.abandon(self)


class BufferPool:
    """`memory_bytes` in all; buffers of `poolable_size_bytes` (batch.size) stay pooled, others are accounted apart."""

    __slots__ = (
        "_closed",
        "_lock",
        "_metrics",
        "_non_pooled_bytes",
        "_pooled_buffers",
        "_waiters",
        "memory_bytes",
        "poolable_size_bytes",
    )

    def __init__(self, memory_bytes: int, poolable_size_bytes: int, metrics: BufferPoolMetrics | None = None) -> None:
        self.memory_bytes = memory_bytes
        self.poolable_size_bytes = poolable_size_bytes
        self._metrics = metrics
        if metrics is not None:
            metrics.observe(self)
        self._lock = Lock()
        self._non_pooled_bytes = memory_bytes
        self._pooled_buffers = 0
        self._waiters: deque[MemoryWaiter] = deque()
        self._closed = False

    @property
    def available_bytes(self) -> int:
        """The bytes that no batch and no waiter holds."""
        return self._non_pooled_bytes + self._pooled_buffers * self.poolable_size_bytes

    @property
    def pooled_bytes(self) -> int:
        """The part of the available memory that is ready for batches of batch.size."""
        return self._pooled_buffers * self.poolable_size_bytes

    @property
    def queued(self) -> int:
        """How many callers wait for memory (waiting-threads)."""
        return len(self._waiters)

    @property
    def closed(self) -> bool:
        """True once the producer is closed: no wait can begin."""
        return self._closed

    def try_allocate(self, size_bytes: int) -> bool:
        """Take `size_bytes` if they are free and no caller waits; raises RecordTooLarge beyond the whole memory."""
        if size_bytes > self.memory_bytes:
            raise RecordTooLarge(size_bytes, self.memory_bytes, "buffer.memory")
        with self._lock:
            if self._waiters or self._closed:
                return False
            return self._take(size_bytes) == size_bytes

    def wait(self, size_bytes: int, granted: Callable[[], object]) -> MemoryWaiter:
        """Queue for `size_bytes`; `granted` is called once, when the waiter is GRANTED or CLOSED.

        It is called from within this method when memory was freed since try_allocate.
        """
        if size_bytes > self.memory_bytes:
            raise RecordTooLarge(size_bytes, self.memory_bytes, "buffer.memory")
        waiter = MemoryWaiter(self, size_bytes, granted)
        if self._metrics is not None:
            waiter.began_s = self._metrics.seconds()
        with self._lock:
            if self._closed:
                waiter.state = WaiterState.CLOSED
                ended = [waiter]
            else:
                self._waiters.append(waiter)
                ended = self._serve()
        self._notify(ended)
        return waiter

    def deallocate(self, size_bytes: int) -> None:
        """Give back a grant, at the capacity at which it was made."""
        with self._lock:
            if size_bytes == self.poolable_size_bytes:
                self._pooled_buffers += 1
            else:
                self._non_pooled_bytes += size_bytes
            if self.available_bytes > self.memory_bytes:
                raise IllegalState(f"{size_bytes} bytes came back twice to a pool of {self.memory_bytes} bytes")
            if not self._waiters:
                return
            ended = self._serve()
        self._notify(ended)

    def close(self) -> None:
        """Wake every waiter without memory; what batches hold may still come back."""
        with self._lock:
            self._closed = True
            ended = list(self._waiters)
            self._waiters.clear()
            for waiter in ended:
                self._non_pooled_bytes += waiter.collected_bytes
                waiter.collected_bytes = 0
                waiter.state = WaiterState.CLOSED
        self._notify(ended)

    def abandon(self, waiter: MemoryWaiter) -> bool:
        """Take a waiter out of the queue: see MemoryWaiter.abandon."""
        with self._lock:
            if waiter.state is not WaiterState.WAITING:
                return False
            waiter.state = WaiterState.ABANDONED
            self._waiters.remove(waiter)
            self._non_pooled_bytes += waiter.collected_bytes
            waiter.collected_bytes = 0
            ended = self._serve()
        self._waited(waiter)
        self._notify(ended)
        return True

    def _serve(self) -> list[MemoryWaiter]:
        """Feed the waiters in FIFO order and return those that have enough now."""
        ended: list[MemoryWaiter] = []
        while self._waiters:
            waiter = self._waiters[0]
            missing = waiter.size_bytes - waiter.collected_bytes
            waiter.collected_bytes += self._take_up_to(missing)
            if waiter.collected_bytes < waiter.size_bytes:
                break
            waiter.state = WaiterState.GRANTED
            self._waiters.popleft()
            ended.append(waiter)
        return ended

    def _take(self, size_bytes: int) -> int:
        if size_bytes == self.poolable_size_bytes and self._pooled_buffers:
            self._pooled_buffers -= 1
            return size_bytes
        return self._take_up_to(size_bytes) if self.available_bytes >= size_bytes else 0

    def _take_up_to(self, size_bytes: int) -> int:
        """Take what there is of `size_bytes`, breaking up pooled buffers as far as they are needed."""
        while self._pooled_buffers and self._non_pooled_bytes < size_bytes:
            self._pooled_buffers -= 1
            self._non_pooled_bytes += self.poolable_size_bytes
        taken = min(size_bytes, self._non_pooled_bytes)
        self._non_pooled_bytes -= taken
        return taken

    def _notify(self, ended: list[MemoryWaiter]) -> None:
        for waiter in ended:
            self._waited(waiter)
            waiter.granted()

    def _waited(self, waiter: MemoryWaiter) -> None:
        if self._metrics is not None:
            self._metrics.waited(waiter.began_s)
