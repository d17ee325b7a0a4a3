"""The asyncio futures of appended records, completed per batch. The counterpart of FutureRecordMetadata for a loop.

A record costs one future and one entry in two lists; the result of its batch is read once for all of them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from broker_client.errors import ProducerClosed
from broker_client.records import NO_OFFSET, NO_TIMESTAMP, RecordMetadata

if TYPE_CHECKING:
    import asyncio

    from broker_client.core.producer.future_record_metadata import FutureRecordMetadata
    from broker_client.core.producer.produce_request_result import ProduceRequestResult

__all__ = ["AsyncFutures"]


class _OfOneBatch:
    """The futures of one batch, and their records at the same indexes."""

    __slots__ = ("futures", "records")

    def __init__(self) -> None:
        self.futures: list[asyncio.Future[RecordMetadata]] = []
        self.records: list[FutureRecordMetadata] = []


class AsyncFutures:
    """The futures of one producer, grouped by batch."""

    __slots__ = ("_batches", "_create")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._create = loop.create_future
        self._batches: dict[ProduceRequestResult, _OfOneBatch] = {}

    def of(self, record: FutureRecordMetadata) -> asyncio.Future[RecordMetadata]:
        """Return a new future of an appended record."""
        future = self._create()
        result = record.batch_result
        batch = self._batches.get(result)
        if batch is not None:
            batch.futures.append(future)
            batch.records.append(record)
            return future
        batch = self._batches[result] = _OfOneBatch()
        batch.futures.append(future)
        batch.records.append(record)
        result.on_completion(partial(self._ended, result))
        return future

    def of_reported(self, record: FutureRecordMetadata) -> asyncio.Future[RecordMetadata]:
        """Return a new future of a record with `on_delivery`: asyncio does not log its error as never retrieved."""
        future = self._create()
        record.add_done_callback(partial(_settle_reported, future))
        return future

    def _ended(self, result: ProduceRequestResult) -> None:
        batch = self._batches.pop(result)
        if result.is_written:
            topic, partition = result.topic_partition
            base_offset, append_time_ms = result.base_offset, result.log_append_time_ms
            for future, (_, index, timestamp_ms, key_size, value_size) in zip(
                batch.futures, batch.records, strict=True
            ):
                if not future.done():  # the caller may have cancelled it
                    future.set_result(
                        RecordMetadata(
                            topic=topic,
                            partition=partition,
                            offset=base_offset + index if base_offset != NO_OFFSET else NO_OFFSET,
                            timestamp_ms=timestamp_ms if append_time_ms == NO_TIMESTAMP else append_time_ms,
                            serialized_key_size=key_size,
                            serialized_value_size=value_size,
                        )
                    )
            return
        for future, record in zip(batch.futures, batch.records, strict=True):
            record.add_done_callback(
                partial(_settle, future)
            )  # immediately, or when the batch that it moved to has ended


def _settle(future: asyncio.Future[RecordMetadata], record: FutureRecordMetadata) -> None:
    if future.done():
        return
    error = record.error()
    if error is None:
        future.set_result(record.metadata())
        return
    future.set_exception(error)
    if isinstance(error, ProducerClosed):
        future.exception()  # the caller of close() knows: asyncio need not log each unread future


def _settle_reported(future: asyncio.Future[RecordMetadata], record: FutureRecordMetadata) -> None:
    _settle(future, record)
    if not future.cancelled():
        future.exception()
