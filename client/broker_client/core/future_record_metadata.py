"""The future of one record, and what the records of a batch share.

Mirrors FutureRecordMetadata and ProduceRequestResult.
A record costs one slotted object: its future is its thunk too. There is no Deferred and no lock a record; `as_deferred`
and `result` make what they need when they are called.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from threading import Event, Lock, get_ident
from typing import Any, TypeAlias

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from broker_client.errors import ProducerError, WaitExpired
from broker_client.records import NO_OFFSET, NO_TIMESTAMP, UNKNOWN_PARTITION, RecordMetadata, TopicPartition

__all__ = ["DeliveryCallback", "FutureRecordMetadata", "ProduceRequestResult"]

DeliveryCallback: TypeAlias = Callable[[RecordMetadata, ProducerError | None], None]

_log = Logger()


class ProduceRequestResult:
    """What became of a batch: base offset and time, or an error for each record. Completed exactly once."""

    __slots__ = (
        "_lock",
        "_waiting",
        "base_offset",
        "completed",
        "completing_thread",
        "error_of_record",
        "log_append_time_ms",
        "topic_partition",
    )

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.base_offset = NO_OFFSET
        self.log_append_time_ms = NO_TIMESTAMP
        self.error_of_record: Callable[[int], ProducerError] | None = None
        self.completed = False
        self.completing_thread = 0
        self._lock = Lock()
        self._waiting: list[Callable[[], object]] = []

    def set(
        self,
        base_offset: int,
        log_append_time_ms: int,
        error_of_record: Callable[[int], ProducerError] | None,
    ) -> None:
        """The values, for the callbacks that run before `complete`."""
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.error_of_record = error_of_record
        self.completing_thread = get_ident()

    def complete(self) -> None:
        """From now on the futures are done."""
        with self._lock:
            self.completed = True
            waiting, self._waiting = self._waiting, []
        for notify in waiting:
            notify()

    def on_completion(self, notify: Callable[[], object]) -> None:
        """Call once when completed; at once when it is."""
        with self._lock:
            if not self.completed:
                self._waiting.append(notify)
                return
        notify()

    def register(self, future: FutureRecordMetadata, callback: Callable[[FutureRecordMetadata], object]) -> bool:
        """Keep a callback of `future` until completion; False when that is past."""
        with self._lock:
            if self.completed:
                return False
            future.add_waiting(callback)
            return True


class FutureRecordMetadata:
    """As concurrent.futures.Future, for one record; it cannot be cancelled."""

    __slots__ = (
        "_index",
        "_key_size",
        "_result",
        "_timestamp_ms",
        "_value_size",
        "_waiting",
        "on_delivery",
    )

    def __init__(
        self,
        result: ProduceRequestResult,
        index: int,
        timestamp_ms: int,
        key_size: int,
        value_size: int,
        on_delivery: DeliveryCallback | None,
    ) -> None:
        self._result = result
        self._index = index
        self._timestamp_ms = timestamp_ms
        self._key_size = key_size
        self._value_size = value_size
        self._waiting: list[Callable[[FutureRecordMetadata], object]] | None = None
        self.on_delivery = on_delivery

    @classmethod
    def failed(cls, topic: str, error: ProducerError, on_delivery: DeliveryCallback | None) -> FutureRecordMetadata:
        """The future of a record that was never appended; its callback hears of it now."""
        future = cls.unassigned(topic, on_delivery)
        future.fail(error)
        return future

    @classmethod
    def unassigned(cls, topic: str, on_delivery: DeliveryCallback | None) -> FutureRecordMetadata:
        """The future of a record that waits to be appended."""
        result = ProduceRequestResult(TopicPartition(topic, UNKNOWN_PARTITION))
        return cls(result, 0, NO_TIMESTAMP, -1, -1, on_delivery)

    def assign(
        self, result: ProduceRequestResult, index: int, timestamp_ms: int, key_size: int, value_size: int
    ) -> None:
        """The record has its place in a batch now."""
        self._result = result
        self._index = index
        self._timestamp_ms = timestamp_ms
        self._key_size = key_size
        self._value_size = value_size

    def fail(self, error: ProducerError) -> None:
        """The record will never be appended."""
        self._result.set(NO_OFFSET, NO_TIMESTAMP, lambda _: error)
        self.deliver()
        self._result.complete()
        self.release()

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Wait, at most `timeout` seconds, for the record's place; raises its error, or WaitExpired."""
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self.metadata()

    def exception(self, timeout: float | None = None) -> ProducerError | None:
        """Wait as `result` does; answers the record's error or None."""
        if not self.done():
            done = Event()
            self.add_done_callback(lambda _: done.set())
            if not done.wait(timeout):
                place = f"record {self._index} of a batch for {self._result.topic_partition}"
                text = f"{place} is not acknowledged after {timeout} s"
                raise WaitExpired(text, "result(timeout)")
        return self.error()

    def done(self) -> bool:
        """Whether the record's fate is known. True within its own callback."""
        result = self._result
        return result.completed or (result.completing_thread != 0 and result.completing_thread == get_ident())

    def running(self) -> bool:
        """Whether it is not done."""
        return not self.done()

    def cancel(self) -> bool:
        """A record that was sent cannot be taken back."""
        return False

    def cancelled(self) -> bool:
        """Never."""
        return False

    def add_done_callback(self, callback: Callable[[FutureRecordMetadata], object]) -> None:
        """Call once when done, on the network thread; at once when it is done already."""
        while True:
            result = self._result
            if result.register(self, callback):
                return
            if result is self._result:  # else the batch was split meanwhile: wait for its successor
                _call(callback, self)
                return

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
        result = self._result
        topic, partition = result.topic_partition
        failed = result.error_of_record is not None
        append_time_ms = result.log_append_time_ms
        return RecordMetadata(
            topic=topic,
            partition=partition,
            offset=result.base_offset + self._index if result.base_offset != NO_OFFSET else NO_OFFSET,
            timestamp_ms=NO_TIMESTAMP
            if failed
            else self._timestamp_ms
            if append_time_ms == NO_TIMESTAMP
            else append_time_ms,
            serialized_key_size=-1 if failed else self._key_size,
            serialized_value_size=-1 if failed else self._value_size,
        )

    def error(self) -> ProducerError | None:
        """The record's error, None when it has none (yet)."""
        errors = self._result.error_of_record
        return errors(self._index) if errors is not None else None

    def chain(self, result: ProduceRequestResult, index: int) -> None:
        """The record moved to another batch: its batch was split."""
        self._result = result
        self._index = index

    def add_waiting(self, callback: Callable[[FutureRecordMetadata], object]) -> None:
        """Under the result's lock."""
        if self._waiting is None:
            self._waiting = [callback]
        else:
            self._waiting.append(callback)

    def deliver(self) -> None:
        """Run the caller's `on_delivery`; what it raises is logged."""
        callback = self.on_delivery
        if callback is None:
            return
        self.on_delivery = None
        try:
            callback(self.metadata(), self.error())
        except Exception:  # noqa: BLE001 - a caller's mistake must not stop the other records
            _log.failure("on_delivery of a record for {partition} raised", partition=self._result.topic_partition)

    def release(self) -> None:
        """After completion: wake whoever waits."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            for callback in waiting:
                _call(callback, self)


def _call(callback: Callable[[FutureRecordMetadata], object], future: FutureRecordMetadata) -> None:
    try:
        callback(future)
    except Exception:  # noqa: BLE001 - a caller's mistake must not stop the other records
        _log.failure("a done callback of a record raised")
