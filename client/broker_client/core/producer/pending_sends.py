"""Records of reactor code that wait to be appended, in order, a queue a topic.

In Kafka the calling thread waits instead.
The head of a queue waits for metadata or for memory; what stands behind it waits for its turn. Each record has its
own deadline
(max.block.ms after its send), and all of them together hold at most buffer.memory bytes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from broker_client.core.batching.buffer_pool import MemoryWaiter, WaiterState
from broker_client.core.producer.future_record_metadata import DeliveryCallback, FutureRecordMetadata
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.core.producer.waits import WaitFor
from broker_client.errors import BufferExhausted, ProducerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall

    from broker_client.core.batching.columnar_send import ColumnarSend
    from broker_client.core.producer.future_table import FutureTable
    from broker_client.core.producer.producer_core import ProducerCore
    from broker_client.records import Headers

__all__ = ["PendingSend", "PendingSends", "PendingTable"]


@dataclass(slots=True, kw_only=True)
class PendingSend:
    """One record and what it waits for."""

    topic: str
    partition: int | None
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    on_delivery: DeliveryCallback | None
    deadline_ms: int
    waiter: MemoryWaiter | None = None
    without_metadata_since_s: float | None = None
    future: FutureRecordMetadata = field(init=False)

    def __post_init__(self) -> None:
        self.future = FutureRecordMetadata.unassigned(self.topic, self.timestamp_ms, self.key, self.value)

    @property
    def size_bytes(self) -> int:
        """What it holds."""
        return len(self.key or b"") + len(self.value or b"")

    def append(self, core: ProducerCore, granted_bytes: int) -> WaitFor | None:
        """Append it, or say what it waits for; raises ProducerError for what can never be."""
        answer = core.try_append(
            self.topic,
            self.partition,
            self.timestamp_ms,
            self.key,
            self.value,
            self.headers,
            self.on_delivery,
            granted_bytes,
        )
        if isinstance(answer, FutureRecordMetadata):
            self.future.follow(answer)
            return None
        return answer

    def memory_needed(self, core: ProducerCore) -> int:
        """How much it waits for."""
        return core.accumulator.batch_memory(self.key, self.value, self.headers)

    def fail(self, error: ProducerError) -> None:
        """Give it up."""
        self.future.fail(error, self.on_delivery)


@dataclass(slots=True, kw_only=True)
class PendingTable:
    """A table of records, in whose parts no other record of the topic comes between; it may wait anew for each part."""

    sending: ColumnarSend
    max_block_ms: int
    deadline_ms: int
    waiter: MemoryWaiter | None = None
    without_metadata_since_s: float | None = None
    size_bytes: int = 0  # the caller's own memory

    @property
    def partition(self) -> int | None:
        """The highest that a row asks for."""
        return self.sending.highest_partition

    @property
    def topic(self) -> str:
        """Where its rows go."""
        return self.sending.topic

    @property
    def future(self) -> FutureTable:
        """Of all rows."""
        return self.sending.future

    def append(self, core: ProducerCore, granted_bytes: int) -> WaitFor | None:
        """Append what there is memory for, or say what it waits for; raises ProducerError for what can never be."""
        now_ms = now_ms_of(core.reactor)
        left = self.sending.rows_left
        waits_for = self.sending.advance(now_ms, granted_bytes)
        if self.sending.rows_left != left:
            self.deadline_ms = now_ms + self.max_block_ms
        return waits_for

    def memory_needed(self, _: ProducerCore) -> int:
        """How much its next part waits for."""
        return self.sending.memory_needed_bytes

    def fail(self, error: ProducerError) -> None:
        """Give up what was not appended."""
        self.sending.fail(error)


class PendingSends:
    """The queues of one producer; on the reactor's thread."""

    __slots__ = ("_bytes", "_call_from_thread", "_core", "_queues", "_timers", "_waiting_for_all", "_watching")

    def __init__(self, core: ProducerCore, call_from_thread: Callable[[Callable[[], None]], object]) -> None:
        self._core = core
        self._call_from_thread = call_from_thread
        self._queues: dict[str, deque[PendingSend | PendingTable]] = {}
        self._timers: dict[str, IDelayedCall] = {}
        self._watching = False
        self._bytes = 0
        self._waiting_for_all: list[Deferred[None]] = []

    def has(self, topic: str) -> bool:
        """Whether records of the topic wait: the next one must not overtake them."""
        return topic in self._queues

    @property
    def has_any(self) -> bool:
        """Whether any record waits."""
        return bool(self._queues)

    def add(self, pending: PendingSend) -> FutureRecordMetadata:
        """Queue a record; answers its future."""
        if self._bytes + pending.size_bytes > self._core.pool.memory_bytes:
            text = f"{self._bytes} bytes of records wait for metadata or memory already"
            error = BufferExhausted(text, "buffer.memory")
            return FutureRecordMetadata.failed(pending.topic, error, pending.on_delivery)
        self._queue(pending)
        return pending.future

    def add_table(self, sending: ColumnarSend, max_block_ms: int) -> FutureTable:
        """Queue a table, which goes on at once when nothing keeps it; answers its future."""
        deadline_ms = now_ms_of(self._core.reactor) + max_block_ms
        self._queue(PendingTable(sending=sending, max_block_ms=max_block_ms, deadline_ms=deadline_ms))
        return sending.future

    def _queue(self, pending: PendingSend | PendingTable) -> None:
        self._bytes += pending.size_bytes
        self._queues.setdefault(pending.topic, deque()).append(pending)
        self._go_on(pending.topic)

    def futures(self) -> list[FutureRecordMetadata | FutureTable]:
        """The futures of everything that waits."""
        return [one.future for queue in self._queues.values() for one in queue]

    def all_appended(self) -> Deferred[None]:
        """Fires when nothing waits any more: each of the records was appended, or has failed."""
        appended: Deferred[None] = Deferred()
        if self._queues:
            self._waiting_for_all.append(appended)
        else:
            appended.callback(None)
        return appended

    def fail_all(self, error: ProducerError) -> None:
        """Give everything up."""
        for topic in list(self._queues):
            while topic in self._queues:
                self._take(topic, error)

    def _go_on(self, topic: str) -> None:
        """Append from the head of a queue as long as nothing keeps it."""
        core = self._core
        while (queue := self._queues.get(topic)) is not None:
            head = queue[0]
            granted = 0
            if head.waiter is not None:
                if head.waiter.state is WaiterState.WAITING:
                    return
                granted = head.waiter.size_bytes if head.waiter.state is WaiterState.GRANTED else 0
                head.waiter = None
            try:
                waits_for = head.append(core, granted)
            except ProducerError as error:
                self._take(topic, error)
                continue
            if waits_for is not WaitFor.METADATA and head.without_metadata_since_s is not None:
                core.metrics.calls.metadata_wait.since(head.without_metadata_since_s)
                head.without_metadata_since_s = None
            if waits_for is None:
                self._take(topic, None)
            else:
                self._wait(head, for_memory=waits_for is WaitFor.MEMORY, granted=granted)
                return

    def _wait(self, head: PendingSend | PendingTable, *, for_memory: bool, granted: int) -> None:
        core = self._core
        topic = head.topic
        if for_memory:
            size = head.memory_needed(core)
            head.waiter = core.pool.wait(size, lambda: self._call_from_thread(lambda: self._go_on(topic)))
            core.wakeup()  # callers who wait make every batch sendable
        else:
            if granted:
                core.pool.deallocate(granted)
            if head.without_metadata_since_s is None:
                head.without_metadata_since_s = core.reactor.seconds()
            if not self._watching:
                self._watching = True
                core.metadata.on_change(lambda: self._call_from_thread(self._metadata_changed))
        if isinstance(head, PendingTable):
            self._cancel_timer(topic)  # it got further, and waits anew
        if topic not in self._timers:
            left_ms = max(head.deadline_ms - now_ms_of(core.reactor), 0)
            self._timers[topic] = core.reactor.callLater(left_ms / 1000, self._expire, topic)

    def _metadata_changed(self) -> None:
        self._watching = False
        for topic in list(self._queues):
            self._go_on(topic)

    def _expire(self, topic: str) -> None:
        del self._timers[topic]
        queue = self._queues.get(topic)
        if queue is None:
            return
        head = queue[0]
        if now_ms_of(self._core.reactor) >= head.deadline_ms:
            if head.waiter is None:
                self._take(topic, self._core.metadata_timeout(topic, head.partition))
            elif head.waiter.state is WaiterState.WAITING:
                self._take(topic, self._core.memory_timeout(head.waiter.size_bytes))
        self._go_on(topic)

    def _take(self, topic: str, error: ProducerError | None) -> None:
        """Remove the head: it was appended, or has failed."""
        queue = self._queues[topic]
        head = queue.popleft()
        self._bytes -= head.size_bytes
        self._cancel_timer(topic)
        if not queue:
            del self._queues[topic]
        waiter, head.waiter = head.waiter, None
        if waiter is not None and not waiter.abandon() and waiter.state is WaiterState.GRANTED:
            self._core.pool.deallocate(waiter.size_bytes)
        if error is not None:
            self._core.send_failed(error)
            head.fail(error)
        if not self._queues:
            waiting, self._waiting_for_all = self._waiting_for_all, []
            for appended in waiting:
                appended.callback(None)

    def _cancel_timer(self, topic: str) -> None:
        timer = self._timers.pop(topic, None)
        if timer is not None and timer.active():
            timer.cancel()
