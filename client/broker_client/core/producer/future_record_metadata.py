"""The future of one record. Mirrors FutureRecordMetadata.

One is made for every record, so it is no more than a tuple: the result that the records of its batch share, the
record's index in it, and what was sent. There is no Deferred and no lock a record; `as_deferred` and `result` make what
they need when they are called.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from threading import get_ident
from typing import Any, NamedTuple, TypeAlias

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from broker_client.core.producer.produce_request_result import ProduceRequestResult
from broker_client.errors import ProducerError, WaitExpired
from broker_client.records import NO_OFFSET, NO_TIMESTAMP, UNKNOWN_PARTITION, RecordMetadata, TopicPartition
from sim_runtime.interruptible_waits import Latch

__all__ = ["DeliveryCallback", "FutureRecordMetadata"]

DeliveryCallback: TypeAlias = Callable[[RecordMetadata, ProducerError | None], None]

_log = Logger()


class _SentRecord(NamedTuple):
    """Sizes are -1 for a null key or value."""

    batch_result: ProduceRequestResult
    batch_index: int
    timestamp_ms: int
    key_size: int
    value_size: int


class FutureRecordMetadata(_SentRecord):
    """As concurrent.futures.Future, for one record; it cannot be cancelled."""

    __slots__ = ()

    @classmethod
    def unassigned(cls, topic: str, timestamp_ms: int, key: bytes | None, value: bytes | None) -> FutureRecordMetadata:
        """The future of a record that waits to be appended."""
        result = ProduceRequestResult(TopicPartition(topic, UNKNOWN_PARTITION))
        return cls(result, 0, timestamp_ms, -1 if key is None else len(key), -1 if value is None else len(value))

    @classmethod
    def failed(cls, topic: str, error: ProducerError, on_delivery: DeliveryCallback | None) -> FutureRecordMetadata:
        """The future of a record that was never appended; its callback is called now."""
        future = cls.unassigned(topic, NO_TIMESTAMP, None, None)
        future.fail(error, on_delivery)
        return future

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Wait, at most `timeout` seconds, for the record's place; raises its error, or WaitExpired."""
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self.metadata()

    def exception(self, timeout: float | None = None) -> ProducerError | None:
        """Wait as `result` does; return the record's error or None."""
        if self[0].is_written:
            return None
        if not self.done():
            ended = Latch()
            self.add_done_callback(lambda _: ended.fire())
            if not ended.wait(timeout):
                result, index = self.batch_result.place_of(self.batch_index)
                text = f"record {index} of a batch for {result.topic_partition} is not acknowledged after {timeout} s"
                raise WaitExpired(text, "result(timeout)")
        return self.error()

    def done(self) -> bool:
        """True if the record has ended; within its own callback, too."""
        result, _ = self.batch_result.place_of(self.batch_index)
        return result.completed or (result.completing_thread != 0 and result.completing_thread == get_ident())

    def running(self) -> bool:
        """True if it is not done."""
        return not self.done()

    def cancel(self) -> bool:
        """A record that was sent cannot be taken back."""
        return False

    def cancelled(self) -> bool:
        """Never."""
        return False

    def add_done_callback(self, callback: Callable[[FutureRecordMetadata], object]) -> None:
        """Call once when done, on the network thread; at once when it is done already."""
        self.batch_result.on_record_done(self, callback)

    def as_deferred(self) -> Deferred[RecordMetadata]:
        """The same as a Deferred, for code on the producer's reactor."""
        deferred: Deferred[RecordMetadata] = Deferred()

        def settle(future: FutureRecordMetadata) -> None:
            error = future.error()
            if error is not None:
                deferred.errback(error)
            else:
                deferred.callback(future.metadata())

        self.add_done_callback(settle)
        return deferred

    def __await__(self) -> Generator[Deferred[RecordMetadata], Any, RecordMetadata]:
        """Await the record's place in a coroutine on the producer's reactor."""
        metadata: RecordMetadata = yield self.as_deferred()
        return metadata

    # For the batch

    def metadata(self) -> RecordMetadata:
        """The record's place as far as it is known; -1 where there is none."""
        result, index = self.batch_result.place_of(self.batch_index)
        topic, partition = result.topic_partition
        failed = result.error_of_record is not None
        append_time_ms = result.log_append_time_ms
        return RecordMetadata(
            topic=topic,
            partition=partition,
            offset=result.base_offset + index if result.base_offset != NO_OFFSET else NO_OFFSET,
            timestamp_ms=NO_TIMESTAMP
            if failed
            else self.timestamp_ms
            if append_time_ms == NO_TIMESTAMP
            else append_time_ms,
            serialized_key_size=-1 if failed else self.key_size,
            serialized_value_size=-1 if failed else self.value_size,
        )

    def error(self) -> ProducerError | None:
        """The record's error, None when it has none (yet)."""
        result, index = self.batch_result.place_of(self.batch_index)
        return None if result.error_of_record is None else result.error_of_record(index)

    def deliver(self, callback: DeliveryCallback) -> None:
        """Run the caller's `on_delivery`; what it raises is logged."""
        try:
            callback(self.metadata(), self.error())
        except Exception:  # noqa: BLE001 - a caller's mistake must not stop the other records
            partition = self.batch_result.topic_partition
            _log.failure("on_delivery of a record for {partition} raised", partition=partition)

    def follow(self, appended: FutureRecordMetadata) -> None:
        """The record that waited is appended now."""
        self.batch_result.move([(appended.batch_result, 1, appended.batch_index)])

    def fail(self, error: ProducerError, on_delivery: DeliveryCallback | None) -> None:
        """The record will never be appended."""
        result = self.batch_result
        result.set(NO_OFFSET, NO_TIMESTAMP, lambda _: error)
        if on_delivery is not None:
            self.deliver(on_delivery)
        result.complete()
