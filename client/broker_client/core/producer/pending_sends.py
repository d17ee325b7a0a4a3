"""Records and tables of reactor code that wait to be appended: one queue per topic, in order.

In Kafka the calling thread waits instead. The head of a queue waits for metadata or memory, and what stands behind it
waits for the head. Each record has its own deadline (max.block.ms after its send), and all records together hold at
most buffer.memory bytes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from broker_client.core.network.reactor_signal import ReactorSignal
from broker_client.core.producer.future_record_metadata import FutureRecordMetadata
from broker_client.core.producer.wait_for_room import WaitForRoom, WaitingRecord, WaitingTable
from broker_client.errors import BufferExhausted, ProducerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.python.failure import Failure

    from broker_client.core.batching.columnar_send import ColumnarSend
    from broker_client.core.producer.future_table import FutureTable
    from broker_client.core.producer.producer_core import ProducerCore

__all__ = ["PendingSends"]

_log = Logger()


@dataclass(slots=True, kw_only=True)
class _PendingRecord:
    """`future` follows the record once it is appended."""

    item: WaitingRecord
    future: FutureRecordMetadata

    @property
    def size_bytes(self) -> int:
        return self.item.size_bytes

    def appended(self) -> None:
        assert self.item.future is not None
        self.future.follow(self.item.future)

    def fail(self, error: ProducerError) -> None:
        self.future.fail(error, self.item.on_delivery)


@dataclass(slots=True, kw_only=True)
class _PendingTable:
    """No other record of the topic comes between the parts of a table. Its memory is the caller's own."""

    item: WaitingTable
    size_bytes = 0

    @property
    def future(self) -> FutureTable:
        return self.item.sending.future

    def appended(self) -> None:
        """The parts have moved their rows' futures already."""

    def fail(self, error: ProducerError) -> None:
        self.item.sending.fail(error)


_Pending: TypeAlias = _PendingRecord | _PendingTable


class PendingSends:
    """The queues of one producer; on the reactor's thread."""

    __slots__ = ("_bytes", "_core", "_queues", "_room", "_runs", "_waiting_for_all")

    def __init__(self, core: ProducerCore, call_from_thread: Callable[[Callable[[], None]], object]) -> None:
        self._core = core
        self._room = WaitForRoom(core, lambda: ReactorSignal(core.reactor, call_from_thread))
        self._queues: dict[str, deque[_Pending]] = {}
        self._runs: dict[str, Deferred[None]] = {}
        self._bytes = 0
        self._waiting_for_all: list[Deferred[None]] = []

    def has(self, topic: str) -> bool:
        """True if records of the topic wait: the next one must not overtake them."""
        return topic in self._queues

    @property
    def has_any(self) -> bool:
        """True if any record waits."""
        return bool(self._queues)

    def add(self, record: WaitingRecord) -> FutureRecordMetadata:
        """Queue a record and return its future."""
        if self._bytes + record.size_bytes > self._core.pool.memory_bytes:
            text = f"{self._bytes} bytes of records wait for metadata or memory already"
            error = BufferExhausted(text, "buffer.memory")
            return FutureRecordMetadata.failed(record.topic, error, record.on_delivery)
        assert record.timestamp_ms is not None, "a record that waits keeps the time of its send"
        future = FutureRecordMetadata.unassigned(record.topic, record.timestamp_ms, record.key, record.value)
        self._queue(record.topic, _PendingRecord(item=record, future=future))
        return future

    def add_table(self, sending: ColumnarSend, max_block_ms: int) -> FutureTable:
        """Queue a table and return its future; without anything before it, it is appended at once."""
        deadline_s = self._core.reactor.seconds() + max_block_ms / 1000
        item = WaitingTable(sending=sending, max_block_ms=max_block_ms, deadline_s=deadline_s)
        self._queue(sending.topic, _PendingTable(item=item))
        return sending.future

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
        """Fail everything that waits."""
        for topic in list(self._queues):
            run = self._runs.pop(topic, None)
            if run is not None:
                run.cancel()
            while topic in self._queues:
                self._remove_head(topic, error)

    def _queue(self, topic: str, pending: _Pending) -> None:
        self._bytes += pending.size_bytes
        queue = self._queues.get(topic)
        if queue is not None:
            queue.append(pending)
            return
        self._queues[topic] = queue = deque([pending])
        run = Deferred.fromCoroutine(self._append_all(topic, queue))
        if self._queues.get(topic) is queue:
            self._runs[topic] = run
        run.addErrback(_log_unless_cancelled)

    async def _append_all(self, topic: str, queue: deque[_Pending]) -> None:
        """Append from the head of a queue until it is empty."""
        while queue:
            error: ProducerError | None = None
            try:
                await self._room.append(queue[0].item)
            except ProducerError as raised:
                error = raised
            run = self._runs.pop(topic, None)  # while it runs callbacks it must not be cancelled
            self._remove_head(topic, error)
            if run is not None and queue:
                self._runs[topic] = run

    def _remove_head(self, topic: str, error: ProducerError | None) -> None:
        """Remove a head that was appended or has failed."""
        queue = self._queues[topic]
        head = queue.popleft()
        self._bytes -= head.size_bytes
        if not queue:
            del self._queues[topic]
            self._runs.pop(topic, None)
        if error is None:
            head.appended()
        else:
            self._core.send_failed(error)
            head.fail(error)
        if not self._queues:
            waiting, self._waiting_for_all = self._waiting_for_all, []
            for appended in waiting:
                appended.callback(None)


def _log_unless_cancelled(failure: Failure) -> None:
    if failure.check(CancelledError) is None:
        _log.failure("producer: appending records that waited raised", failure)
