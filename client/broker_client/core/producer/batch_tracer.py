"""Turns the steps of each batch into trace events; only a producer with `trace=` has one.

Events come from whichever thread makes them: a trace must not call the producer. A trace that raises gets no more
events, and the producer goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.logger import Logger

from broker_client.core.batching.batch_observer import BatchObserver
from broker_client.core.producer.trace import BatchEvent, BatchEventKind, ReadyReason, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from broker_client.core.batching.buffer_pool import BufferPool
    from broker_client.core.batching.partition_queue import PartitionQueue
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.network.in_flight_requests import InFlightRequest

__all__ = ["BatchTracer"]

_log = Logger()


class BatchTracer(BatchObserver):
    """`trace` gets the events, stamped with `seconds`."""

    __slots__ = (
        "_appends",
        "_client_id",
        "_has_raised",
        "_linger_ms",
        "_pool",
        "_ready",
        "_seconds",
        "_trace",
        "_unwritten",
        "_written",
    )

    def __init__(
        self, *, trace: Trace, client_id: str, seconds: Callable[[], float], pool: BufferPool, linger_ms: int
    ) -> None:
        self._trace = trace
        self._client_id = client_id
        self._seconds = seconds
        self._pool = pool
        self._linger_ms = linger_ms
        self._has_raised = False
        self._appends: dict[ProducerBatch, list[tuple[int, int]]] = {}
        """The times and counts of the records of each batch that was not drained yet."""
        self._ready: dict[ProducerBatch, object] = {}
        """The batches that have their READY event and are not retried or freed since."""
        self._unwritten: dict[int, tuple[int, list[ProducerBatch]]] = {}
        """The newest request of each node: it is written before there is another."""
        self._written: dict[int, InFlightRequest] = {}
        """The newest request of each node that was written before its SENT events."""

    def created(self, batch: ProducerBatch, *, waited: bool) -> None:
        """As BatchObserver."""
        detail = (
            f"{batch.granted_bytes:,} bytes{' after a wait' if waited else ''}, {self._pool.available_bytes:,} left"
        )
        self._emit(BatchEventKind.CREATED, batch, detail)

    def ready_made(self, batch: ProducerBatch) -> None:
        """As BatchObserver."""
        self.created(batch, waited=False)
        self._emit(BatchEventKind.APPENDED, batch, appends=((self._now_us(), batch.record_count),))
        self.closed(batch)

    def appended(self, batch: ProducerBatch) -> None:
        """As BatchObserver; records that come at the same time are one entry."""
        now_us = self._now_us()
        appends = self._appends.setdefault(batch, [])
        if appends and appends[-1][0] == now_us:
            appends[-1] = now_us, appends[-1][1] + 1
        else:
            appends.append((now_us, 1))
        if batch.is_full:
            self.closed(batch)

    def closed(self, batch: ProducerBatch) -> None:
        """As BatchObserver."""
        if batch not in self._ready and not batch.attempts and not batch.in_flight:
            self._emit_ready(batch, ReadyReason.FULL)

    def checked(self, queue: PartitionQueue, ready_now: ReadyReason | None, now_ms: int) -> None:
        """As BatchObserver."""
        batch = queue.head()
        if batch is not None and batch not in self._ready:
            reason = self._reason(queue, batch, ready_now, now_ms)
            if reason is not None:
                self._emit_ready(batch, reason)

    def drained(self, node: int, batches: Sequence[ProducerBatch]) -> None:
        """As BatchObserver."""
        for batch in batches:
            if batch not in self._ready:
                self._emit_ready(batch, ReadyReason.ALONG)
            appends = self._appends.pop(batch, None)
            if appends:
                self._emit(BatchEventKind.APPENDED, batch, appends=tuple(appends))
            self._emit(BatchEventKind.DRAINED, batch, node=node)

    def sent(self, batches: Iterable[ProducerBatch], node: int, correlation_id: int) -> None:
        """As BatchObserver."""
        sent = list(batches)
        self._unwritten[node] = correlation_id, sent
        for batch in sent:
            self._emit(BatchEventKind.SENT, batch, node=node, correlation_id=correlation_id)
        written = self._written.pop(node, None)
        if written is not None and written.correlation_id == correlation_id:
            self.written(written)

    def written(self, request: InFlightRequest) -> None:
        """Report that a request is written."""
        correlation_id, batches = self._unwritten.pop(request.node_id, (-1, []))
        if correlation_id != request.correlation_id:
            self._written[request.node_id] = request
            return
        detail = f"{request.request.NAME} v{request.api_version}"
        for batch in batches:
            self._emit(BatchEventKind.IN_FLIGHT, batch, detail, node=request.node_id, correlation_id=correlation_id)

    def completed(self, kind: BatchEventKind, batch: ProducerBatch, detail: str = "", *, error: str = "") -> None:
        """As BatchObserver."""
        if kind is BatchEventKind.RETRIED:
            self._ready.pop(batch, None)
        base_offset = batch.result.base_offset if kind is BatchEventKind.ACKNOWLEDGED else -1
        self._emit(kind, batch, detail, error=error, base_offset=base_offset)

    def split(self, batch: ProducerBatch, parts: Sequence[ProducerBatch]) -> None:
        """As BatchObserver."""
        first_record = 0
        for part in parts:
            self._emit(BatchEventKind.CREATED, part, part_of=batch.number, first_record=first_record)
            first_record += part.record_count

    def freed(self, batch: ProducerBatch, size_bytes: int) -> None:
        """As BatchObserver."""
        self._ready.pop(batch, None)
        self._appends.pop(batch, None)
        if size_bytes:
            self._emit(BatchEventKind.FREED, batch, f"{size_bytes:,} bytes")

    # Details

    def _emit_ready(self, batch: ProducerBatch, reason: ReadyReason) -> None:
        mine = object()
        if self._ready.setdefault(batch, mine) is mine:  # the Sender and a caller may find it ready at once
            self._emit(BatchEventKind.READY, batch, reason.value)

    def _reason(
        self, queue: PartitionQueue, batch: ProducerBatch, ready_now: ReadyReason | None, now_ms: int
    ) -> ReadyReason | None:
        """Return why the batch is ready, in the order of batchReady; None while it is not."""
        if batch.attempts:
            return None if batch.is_backing_off(now_ms) else ReadyReason.BACKED_OFF
        if batch.is_full or len(queue.batches) > 1:
            return ReadyReason.FULL
        if batch.waited_ms(now_ms) >= self._linger_ms:
            return ReadyReason.LINGERED
        return ready_now

    def _now_us(self) -> int:
        return round(self._seconds() * 1e6)

    def _emit(
        self,
        kind: BatchEventKind,
        batch: ProducerBatch,
        detail: str = "",
        *,
        appends: tuple[tuple[int, int], ...] = (),
        base_offset: int = -1,
        correlation_id: int = -1,
        error: str = "",
        first_record: int = 0,
        node: int = -1,
        part_of: int = -1,
    ) -> None:
        if self._has_raised:
            return
        event = BatchEvent(
            kind=kind,
            time_us=self._now_us(),
            client_id=self._client_id,
            topic_partition=batch.topic_partition,
            batch=batch.number,
            records=batch.record_count,
            size_bytes=batch.estimated_size_in_bytes,
            attempts=batch.attempts,
            backoff_ms=batch.retry_backoff_ms if kind is BatchEventKind.RETRIED else -1,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            base_offset=base_offset,
            node=node,
            correlation_id=correlation_id,
            part_of=part_of,
            first_record=first_record,
            appends=appends,
            error=error,
            detail=detail,
        )
        try:
            self._trace(event)
        except Exception:  # noqa: BLE001 - a trace must not stop the producer
            self._has_raised = True
            _log.failure("producer trace: the callback raised, it gets no more events")
