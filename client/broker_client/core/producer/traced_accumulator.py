"""A RecordAccumulator that tells each step of each batch's life; only a producer with `trace=` has one.

Events come from whichever thread makes them, those of appends under the lock of the batch's queue: a trace must not
call the producer. One that raises hears nothing more, and changes nothing in the producer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.logger import Logger

from broker_client.core.batching.message_set_batch import MessageSetBatch
from broker_client.core.batching.producer_batch import ProducerBatch
from broker_client.core.batching.record_accumulator import RecordAccumulator
from broker_client.core.producer.trace import BatchEvent, BatchEventKind, ReadyReason, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_client.core.batching.partition_queue import PartitionQueue
    from broker_client.core.batching.record_accumulator import ReadyCheckResult
    from broker_client.core.network.cluster import Cluster
    from broker_client.core.network.in_flight_requests import InFlightRequest
    from broker_client.core.producer.future_record_metadata import DeliveryCallback, FutureRecordMetadata
    from broker_client.records import Headers
    from protocol_specs.records.columnar.builder import RecordsSection

__all__ = ["TracedAccumulator", "TracedBatch"]

_log = Logger()


class TracedBatch(ProducerBatch):
    """A batch that remembers when each of its records came, and says when it is full."""

    __slots__ = ("appends", "filled", "now_us")

    appends: list[tuple[int, int]]
    filled: Callable[[ProducerBatch], None]
    now_us: Callable[[], int]

    def try_append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        on_delivery: DeliveryCallback | None,
        now_ms: int,
    ) -> FutureRecordMetadata | None:
        """As every batch; appends at the same time are one entry."""
        future = super().try_append(timestamp_ms, key, value, headers, on_delivery, now_ms)
        if future is None:
            return None
        now_us, appends = self.now_us(), self.appends
        if appends and appends[-1][0] == now_us:
            appends[-1] = now_us, appends[-1][1] + 1
        else:
            appends.append((now_us, 1))
        if self.is_full:
            self.filled(self)
        return future


class TracedMessageSetBatch(TracedBatch, MessageSetBatch):
    """The same in an older format."""

    __slots__ = ()


class TracedAccumulator(RecordAccumulator):
    """`trace` gets the events, stamped with `seconds`."""

    batch_type = TracedBatch
    message_set_type = TracedMessageSetBatch

    def __init__(self, *, trace: Trace, client_id: str, seconds: Callable[[], float], **parts: Any) -> None:
        super().__init__(**parts)
        self._trace = trace
        self._client_id = client_id
        self._seconds = seconds
        self._has_raised = False
        self._ready: dict[ProducerBatch, object] = {}
        """The batches whose READY is told, and not over."""
        self._unwritten: dict[int, tuple[int, list[ProducerBatch]]] = {}
        """The newest request of each node: it is written before there is another."""
        self._written: dict[int, InFlightRequest] = {}
        """The newest request of each node that was written before anything was told of it: at once."""

    # What happens to a batch, in the order of its life

    def _new_batch(
        self,
        queue: PartitionQueue,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        granted_bytes: int,
        now_ms: int,
    ) -> ProducerBatch | None:
        if queue.batches:
            self._filled(queue.batches[-1])
        batch = super()._new_batch(queue, key, value, headers, granted_bytes, now_ms)
        if isinstance(batch, TracedBatch):
            batch.appends, batch.filled, batch.now_us = [], self._filled, self._now_us
            self._created(batch, waited=granted_bytes > 0)
        return batch

    def ready_made(self, queue: PartitionQueue, section: RecordsSection, size_bytes: int, now_ms: int) -> ProducerBatch:
        """A batch of a table's rows: it is full from the start."""
        if queue.batches:
            self._filled(queue.batches[-1])
        batch = super().ready_made(queue, section, size_bytes, now_ms)
        self._created(batch, waited=False)
        self._tell(BatchEventKind.APPENDED, batch, appends=((self._now_us(), batch.record_count),))
        self._filled(batch)
        return batch

    def _batch_ready(
        self,
        queue: PartitionQueue,
        leader: int,
        cluster: Cluster,
        now_ms: int,
        result: ReadyCheckResult,
        *,
        at_once: bool,
    ) -> None:
        batch = queue.head()
        super()._batch_ready(queue, leader, cluster, now_ms, result, at_once=at_once)
        if batch is not None and batch not in self._ready:
            reason = self._reason(queue, batch, now_ms)
            if reason is not None:
                self._tell_ready(batch, reason)

    def drain(
        self, cluster: Cluster, nodes: Iterable[int], max_size: int, now_ms: int
    ) -> dict[int, list[ProducerBatch]]:
        """As every accumulator."""
        drained = super().drain(cluster, nodes, max_size, now_ms)
        for node, batches in drained.items():
            for batch in batches:
                if batch not in self._ready:
                    self._tell_ready(batch, ReadyReason.ALONG)
                if isinstance(batch, TracedBatch) and batch.appends:
                    appends, batch.appends = tuple(batch.appends), []
                    self._tell(BatchEventKind.APPENDED, batch, appends=appends)
                self._tell(BatchEventKind.DRAINED, batch, node=node)
        return drained

    def tell_sent(self, batches: Iterable[ProducerBatch], node: int, correlation_id: int) -> None:
        """The request of these batches is handed to its connection."""
        sent = list(batches)
        self._unwritten[node] = correlation_id, sent
        for batch in sent:
            self._tell(BatchEventKind.SENT, batch, node=node, correlation_id=correlation_id)
        written = self._written.pop(node, None)
        if written is not None and written.correlation_id == correlation_id:
            self.written(written)

    def written(self, request: InFlightRequest) -> None:
        """A request is written."""
        correlation_id, batches = self._unwritten.pop(request.node_id, (-1, []))
        if correlation_id != request.correlation_id:
            self._written[request.node_id] = request
        else:
            detail = f"{request.request.NAME} v{request.api_version}"
            for batch in batches:
                self._tell(BatchEventKind.IN_FLIGHT, batch, detail, node=request.node_id, correlation_id=correlation_id)

    def tell(self, kind: BatchEventKind, batch: ProducerBatch, detail: str = "", *, error: str = "") -> None:
        """What BatchCompletion decides."""
        if kind is BatchEventKind.RETRIED:
            self._ready.pop(batch, None)
        base_offset = batch.result.base_offset if kind is BatchEventKind.ACKNOWLEDGED else -1
        self._tell(kind, batch, detail, error=error, base_offset=base_offset)

    def split_and_reenqueue(self, batch: ProducerBatch) -> list[ProducerBatch]:
        """As every accumulator; the parts know where they come from."""
        parts = super().split_and_reenqueue(batch)
        first_record = 0
        for part in parts:
            self._tell(BatchEventKind.CREATED, part, part_of=batch.number, first_record=first_record)
            first_record += part.record_count
        return parts

    def deallocate(self, batch: ProducerBatch) -> None:
        """As every accumulator; of a split batch's parts none has memory."""
        freed = batch.granted_bytes
        super().deallocate(batch)
        self._ready.pop(batch, None)
        if freed:
            self._tell(BatchEventKind.FREED, batch, f"{freed:,} bytes")

    # Details

    def _created(self, batch: ProducerBatch, *, waited: bool) -> None:
        left = f"{self.pool.available_bytes:,} left"
        detail = f"{batch.granted_bytes:,} bytes{' after a wait' if waited else ''}, {left}"
        self._tell(BatchEventKind.CREATED, batch, detail)

    def _filled(self, batch: ProducerBatch) -> None:
        if batch not in self._ready and not batch.attempts and not batch.in_flight:
            self._tell_ready(batch, ReadyReason.FULL)

    def _tell_ready(self, batch: ProducerBatch, reason: ReadyReason) -> None:
        mine = object()
        if self._ready.setdefault(batch, mine) is mine:  # the Sender and a caller may see it at once
            self._tell(BatchEventKind.READY, batch, reason.value)

    def _reason(self, queue: PartitionQueue, batch: ProducerBatch, now_ms: int) -> ReadyReason | None:
        """Mirrors batchReady; None while it is not ready."""
        if batch.attempts:
            return None if batch.is_backing_off(now_ms) else ReadyReason.BACKED_OFF
        if batch.is_full or len(queue.batches) > 1:
            return ReadyReason.FULL
        if batch.waited_ms(now_ms) >= self.config.linger_ms:
            return ReadyReason.LINGERED
        if self.pool.queued:
            return ReadyReason.MEMORY
        if self.closed:
            return ReadyReason.CLOSE
        if self._flushes_in_progress:
            return ReadyReason.FLUSH
        if self._transactions is not None and self._transactions.is_completing:
            return ReadyReason.TRANSACTION
        return None

    def _now_us(self) -> int:
        return round(self._seconds() * 1e6)

    def _tell(
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
        except Exception:  # noqa: BLE001 - whoever watches must not stop the producer
            self._has_raised = True
            _log.failure("the trace raised: nothing more is told to it")
