"""Appends a record or a table that has to wait for metadata or memory first. Mirrors the waits of KafkaProducer.send.

Every front end waits by this code and brings its own kind of Signal: one blocks a thread, the others suspend a
coroutine of asyncio or of the reactor. A wait that is interrupted or cancelled leaves nothing behind: no place in the
queue for memory, and no memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from broker_client.core.batching.buffer_pool import WaiterState
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.core.producer.waits import WaitFor
from broker_client.errors import ProducerClosed

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.batching.columnar_send import ColumnarSend
    from broker_client.core.producer.future_record_metadata import DeliveryCallback, FutureRecordMetadata
    from broker_client.core.producer.producer_core import ProducerCore
    from broker_client.records import Headers

__all__ = ["Appendable", "Signal", "WaitForRoom", "WaitingRecord", "WaitingTable"]


class Signal(Protocol):
    """A one-shot event of one front end."""

    def fire(self) -> None:
        """End the wait; from any thread. Later calls do nothing."""
        ...

    async def wait(self, timeout_s: float) -> bool:
        """Return True once it has fired, False after `timeout_s` seconds."""
        ...


class Appendable(Protocol):
    """An item that can wait for room: a record or a table."""

    deadline_s: float

    @property
    def topic(self) -> str:
        """Its topic."""
        ...

    @property
    def partition(self) -> int | None:
        """The highest partition that it names."""
        ...

    def append(self, core: ProducerCore, granted_bytes: int) -> WaitFor | None:
        """Append it, or return what it waits for; `granted_bytes` are used or given back, except with METADATA."""
        ...

    def memory_needed(self, core: ProducerCore) -> int:
        """How many bytes of buffer.memory it waits for."""
        ...


@dataclass(slots=True, kw_only=True)
class WaitingRecord:
    """One record; `future` is set once it is appended."""

    topic: str
    partition: int | None
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    on_delivery: DeliveryCallback | None
    deadline_s: float
    future: FutureRecordMetadata | None = None

    @property
    def size_bytes(self) -> int:
        """The bytes of its key and value."""
        return len(self.key or b"") + len(self.value or b"")

    def append(self, core: ProducerCore, granted_bytes: int) -> WaitFor | None:
        """As Appendable.

        Raises:
            ProducerError: the record can never be appended.
        """
        appended = core.try_append(
            self.topic,
            self.partition,
            self.timestamp_ms,
            self.key,
            self.value,
            self.headers,
            self.on_delivery,
            granted_bytes,
        )
        if isinstance(appended, WaitFor):
            return appended
        self.future = appended
        return None

    def memory_needed(self, core: ProducerCore) -> int:
        """As Appendable."""
        return core.accumulator.batch_memory(self.key, self.value, self.headers)


@dataclass(slots=True, kw_only=True)
class WaitingTable:
    """A table of records; each part that is appended starts max.block.ms (`max_block_ms`) anew."""

    sending: ColumnarSend
    max_block_ms: int
    deadline_s: float

    @property
    def topic(self) -> str:
        """As Appendable."""
        return self.sending.topic

    @property
    def partition(self) -> int | None:
        """As Appendable."""
        return self.sending.highest_partition

    def append(self, core: ProducerCore, granted_bytes: int) -> WaitFor | None:
        """As Appendable.

        Raises:
            ProducerError: the rows that are left can never be appended.
        """
        now_ms = now_ms_of(core.reactor)
        left = self.sending.rows_left
        waits_for = self.sending.advance(now_ms, granted_bytes)
        if self.sending.rows_left != left:
            self.deadline_s = core.reactor.seconds() + self.max_block_ms / 1000
        return waits_for

    def memory_needed(self, core: ProducerCore) -> int:  # noqa: ARG002 - as Appendable
        """As Appendable."""
        return self.sending.memory_needed_bytes


class WaitForRoom:
    """The waits of one front end of one producer."""

    __slots__ = ("_core", "_make_signal")

    def __init__(self, core: ProducerCore, make_signal: Callable[[], Signal]) -> None:
        self._core = core
        self._make_signal = make_signal

    async def append(self, item: Appendable) -> None:
        """Append `item`, waiting until its deadline for metadata and memory.

        Raises:
            MetadataTimeout: the topic or its partition is not in the metadata in time.
            BufferExhausted: buffer.memory has no room in time.
            ProducerClosed: the producer was closed during the wait.
            ProducerError: the item can never be appended.
        """
        core = self._core
        granted = 0
        without_metadata_since_s: float | None = None
        while True:
            changed = self._make_signal()
            # Before the attempt: another thread may bring new metadata at any moment.
            core.metadata.on_change(changed.fire)
            try:
                waits_for = item.append(core, granted)
                if waits_for is WaitFor.METADATA:
                    if granted:
                        core.pool.deallocate(granted)
                        granted = 0
                    if without_metadata_since_s is None:
                        without_metadata_since_s = core.reactor.seconds()
                    if not await self._wait(changed, item):
                        raise core.topics.timeout(item.topic, item.partition)
                    continue
            finally:
                core.metadata.forget(changed.fire)
            if without_metadata_since_s is not None:
                core.metrics.calls.metadata_wait.since(without_metadata_since_s)
                without_metadata_since_s = None
            if waits_for is None:
                return
            granted = await self._memory(item)

    async def _memory(self, item: Appendable) -> int:
        core = self._core
        size_bytes = item.memory_needed(core)
        woken = self._make_signal()
        waiter = core.pool.wait(size_bytes, woken.fire)
        try:
            core.wakeup()  # a caller that waits for memory makes every batch sendable
            await self._wait(woken, item)
        except BaseException:
            if not waiter.abandon() and waiter.state is WaiterState.GRANTED:
                core.pool.deallocate(size_bytes)
            raise
        if waiter.abandon():
            raise core.memory_timeout(size_bytes)
        if waiter.state is WaiterState.CLOSED:
            raise ProducerClosed("the producer was closed while a send waited for memory")
        return size_bytes

    async def _wait(self, signal: Signal, item: Appendable) -> bool:
        return await signal.wait(max(item.deadline_s - self._core.reactor.seconds(), 0))
