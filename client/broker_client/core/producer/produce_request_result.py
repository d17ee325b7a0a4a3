"""The shared result of a batch's records: where they were written, or why not. Mirrors ProduceRequestResult.

It is completed exactly once, which wakes the waiters for its records. Records that move to other batches,
because theirs was split, are followed there.
"""

from __future__ import annotations

from bisect import bisect_right
from threading import Lock, get_ident
from typing import TYPE_CHECKING, TypeAlias

from twisted.logger import Logger

from broker_client.records import NO_OFFSET, NO_TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_client.core.producer.future_record_metadata import FutureRecordMetadata
    from broker_client.errors import ProducerError
    from broker_client.records import TopicPartition

    DoneCallback: TypeAlias = Callable[[FutureRecordMetadata], object]

__all__ = ["ProduceRequestResult"]

_log = Logger()


class ProduceRequestResult:
    """Base offset and time, or an error for each record by its index in the batch."""

    __slots__ = (
        "_lock",
        "_moved_to",
        "_waiting",
        "_waiting_futures",
        "base_offset",
        "completed",
        "completing_thread",
        "error_of_record",
        "is_written",
        "log_append_time_ms",
        "topic_partition",
    )

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.base_offset = NO_OFFSET
        self.log_append_time_ms = NO_TIMESTAMP
        self.error_of_record: Callable[[int], ProducerError] | None = None
        self.completed = False
        self.is_written = False
        """True if all its records were written here, which is the most frequent check of a record that has ended."""
        self.completing_thread = 0
        self._lock = Lock()
        self._waiting: list[Callable[[], object]] = []
        self._waiting_futures: list[tuple[FutureRecordMetadata, DoneCallback]] = []
        self._moved_to: tuple[Sequence[int], Sequence[ProduceRequestResult], Sequence[int]] | None = None

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
        """From now on the records' fate is known."""
        with self._lock:
            self.is_written = self.error_of_record is None and self._moved_to is None
            self.completed = True
            waiting, self._waiting = self._waiting, []
            futures, self._waiting_futures = self._waiting_futures, []
        for notify in waiting:
            notify()
        for future, callback in futures:
            _call(callback, future)

    def on_completion(self, notify: Callable[[], object]) -> None:
        """Call once when completed; at once when it is."""
        with self._lock:
            if not self.completed:
                self._waiting.append(notify)
                return
        notify()

    def on_record_done(self, future: FutureRecordMetadata, callback: DoneCallback) -> None:
        """Call back with a future of this batch once its record is done, wherever it is by then; at once when it is."""
        with self._lock:
            if not self.completed and self._moved_to is None:
                self._waiting_futures.append((future, callback))
                return
        if self._moved_to is None:
            _call(callback, future)
        else:
            self.place_of(future.batch_index)[0].on_record_done(future, callback)

    def move(self, parts: Sequence[tuple[ProduceRequestResult, int, int]]) -> None:
        """The records are elsewhere now: for each part its result, how many records, the index of their first there."""
        starts, results, first_indexes, start = [], [], [], 0
        for result, count, first_index in parts:
            starts.append(start)
            results.append(result)
            first_indexes.append(first_index)
            start += count
        with self._lock:
            self._moved_to = starts, results, first_indexes
            futures, self._waiting_futures = self._waiting_futures, []
        for future, callback in futures:
            self.place_of(future.batch_index)[0].on_record_done(future, callback)

    def moved_to(self) -> Sequence[ProduceRequestResult]:
        """The results of the batches that the records moved to; none when they did not."""
        return self._moved_to[1] if self._moved_to is not None else ()

    def moved_parts(self) -> Sequence[tuple[ProduceRequestResult, slice]]:
        """The parts of a batch that was split: for each its result, and the indexes here of its records, in order."""
        if self._moved_to is None:
            return ()
        starts, results, _ = self._moved_to
        return [
            (result, slice(start, end)) for result, start, end in zip(results, starts, [*starts[1:], None], strict=True)
        ]

    def place_of(self, index: int) -> tuple[ProduceRequestResult, int]:
        """Where the record of that index is now: the result of its batch, and its index there."""
        moved = self._moved_to
        if moved is None:
            return self, index
        starts, results, first_indexes = moved
        part = bisect_right(starts, index) - 1
        return results[part].place_of(first_indexes[part] + index - starts[part])


def _call(callback: DoneCallback, future: FutureRecordMetadata) -> None:
    try:
        callback(future)
    except Exception:  # noqa: BLE001 - a caller's mistake must not stop the other records
        _log.failure("a done callback of a record raised")
