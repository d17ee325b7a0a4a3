"""The future of a table of records: where each row was written, or why not. FutureRecordMetadata, by the column.

Its result is an Arrow table with a row for each row that was sent, in the same order: `partition` (int32), `offset` and
`timestamp` (int64, -1 where there is none) and `error` (a text, null for a row that was written).
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from broker_client.errors import WaitExpired
from broker_client.records import NO_OFFSET, NO_TIMESTAMP
from protocol_specs.records.columnar.arrays import np
from sim_runtime.interruptible_waits import Latch

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from broker_client.core.producer.produce_request_result import ProduceRequestResult
    from broker_client.errors import ProducerError
    from protocol_specs.records.columnar.arrays import Ints

    Rows: TypeAlias = Ints | slice
    RowsCallback: TypeAlias = Callable[["DeliveredRows"], object]

__all__ = ["DeliveredRows", "FutureTable"]

_NO_PARTITION: Final = -1
_log = Logger()


class DeliveredRows(NamedTuple):
    """Rows of a table that have ended together: the records of one batch, or rows that were refused."""

    rows: Ints
    """Their numbers in the table, in the order of the batch."""
    partition: int
    """-1 if none was chosen."""
    offsets: Ints
    """-1 where there is none."""
    timestamps_ms: Ints
    """-1 for rows that failed."""
    errors: Sequence[ProducerError] | None
    """The error of each of the rows; None for rows that were written."""


class FutureTable:
    """As concurrent.futures.Future; it cannot be cancelled. What went wrong with a row stands in its row."""

    __slots__ = ("_callbacks", "_lock", "_on_delivery", "_parts", "_pending", "_refused", "_table", "_timestamps")

    def __init__(self, timestamps: Ints, on_delivery: RowsCallback | None = None) -> None:
        self._timestamps = timestamps
        self._on_delivery = on_delivery
        self._lock = Lock()
        # One for the appending thread, and one for each batch that has not ended.
        self._pending = 1
        self._parts: list[tuple[Rows, ProduceRequestResult]] = []
        self._refused: list[tuple[Rows, str]] = []
        self._callbacks: list[Callable[[FutureTable], object]] = []
        self._table: Any = None

    def result(self, timeout: float | None = None) -> Any:
        """Wait, at most `timeout` seconds, for the end of every row and return the table; raises WaitExpired."""
        if not self.done():
            done = Latch()
            self.add_done_callback(lambda _: done.fire())
            if not done.wait(timeout):
                text = f"a table of {len(self._timestamps)} rows is not acknowledged after {timeout} s"
                raise WaitExpired(text, "result(timeout)")
        if self._table is None:
            self._table = self._made()
        return self._table

    def done(self) -> bool:
        """True if every row has ended."""
        return self._pending == 0

    def add_done_callback(self, callback: Callable[[FutureTable], object]) -> None:
        """Call once when done, on the network thread; at once when it is done already."""
        with self._lock:
            if self._pending:
                self._callbacks.append(callback)
                return
        callback(self)

    def as_deferred(self) -> Deferred[Any]:
        """The table as a Deferred, for code on the producer's reactor."""
        deferred: Deferred[Any] = Deferred()
        self.add_done_callback(lambda future: deferred.callback(future.result(0)))
        return deferred

    def __await__(self) -> Generator[Deferred[Any], Any, Any]:
        """Await the table in a coroutine on the producer's reactor."""
        table = yield self.as_deferred()
        return table

    # For the appending thread

    def follow(self, rows: Rows, result: ProduceRequestResult) -> None:
        """These rows are in a batch now."""
        with self._lock:
            self._parts.append((rows, result))
            self._pending += 1
        result.on_completion(lambda: self._batch_ended(rows, result))

    def refuse(self, rows: Rows, error: ProducerError) -> None:
        """These rows will never be appended."""
        self._refused.append((rows, str(error)))
        if self._on_delivery is not None:
            numbers = _numbers(rows)
            nothing = np.full(len(numbers), -1, np.int64)
            self._deliver(DeliveredRows(numbers, _NO_PARTITION, nothing, nothing, [error] * len(numbers)))

    def all_appended(self) -> None:
        """No further row will come."""
        self._one_less()

    # Details

    def _batch_ended(self, rows: Rows, result: ProduceRequestResult) -> None:
        moved = result.moved_parts()
        if moved:
            numbers = _numbers(rows)
            with self._lock:
                self._pending += len(moved)
            for part, indexes in moved:
                self._follow_part(numbers[indexes], part)
        elif self._on_delivery is not None:
            self._deliver(self._delivered(_numbers(rows), result))
        self._one_less()

    def _follow_part(self, rows: Ints, part: ProduceRequestResult) -> None:
        part.on_completion(lambda: self._batch_ended(rows, part))

    def _delivered(self, rows: Ints, result: ProduceRequestResult) -> DeliveredRows:
        count, base, append_time_ms = len(rows), result.base_offset, result.log_append_time_ms
        offsets = np.full(count, NO_OFFSET) if base == NO_OFFSET else np.arange(base, base + count)
        partition = result.topic_partition.partition
        if result.error_of_record is not None:
            errors = [result.error_of_record(index) for index in range(count)]
            return DeliveredRows(rows, partition, offsets, np.full(count, NO_TIMESTAMP), errors)
        has_own = append_time_ms == NO_TIMESTAMP
        timestamps = self._timestamps[rows] if has_own else np.full(count, append_time_ms)
        return DeliveredRows(rows, partition, offsets, timestamps, None)

    def _deliver(self, delivered: DeliveredRows) -> None:
        assert self._on_delivery is not None, "the caller has checked it"
        try:
            self._on_delivery(delivered)
        except Exception:  # noqa: BLE001 - a caller's mistake must not stop the network thread
            _log.failure("on_delivery of a table raised")

    def _one_less(self) -> None:
        with self._lock:
            self._pending -= 1
            if self._pending:
                return
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback(self)
            except Exception:  # noqa: BLE001 - a caller's mistake must not stop the network thread
                _log.failure("a done callback of a table raised")

    def _made(self) -> Any:
        count = len(self._timestamps)
        partition = np.full(count, _NO_PARTITION, np.int32)
        offset = np.full(count, NO_OFFSET, np.int64)
        timestamp = self._timestamps.copy()
        errors: dict[int, str] = {}
        for rows, text in self._refused:
            timestamp[rows] = NO_TIMESTAMP
            errors.update(dict.fromkeys(_indexes(rows), text))
        for rows, result in self._parts:
            if result.moved_to() or result.error_of_record is not None:
                self._fill_one_by_one(rows, result, partition, offset, timestamp, errors)
                continue
            partition[rows] = result.topic_partition.partition
            if result.base_offset != NO_OFFSET:
                size = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
                offset[rows] = np.arange(result.base_offset, result.base_offset + size)
            if result.log_append_time_ms != NO_TIMESTAMP:
                timestamp[rows] = result.log_append_time_ms
        texts = [errors.get(row) for row in range(count)] if errors else pa.nulls(count, pa.string())
        return pa.table(
            {"partition": partition, "offset": offset, "timestamp": timestamp, "error": pa.array(texts, pa.string())}
        )

    @staticmethod
    def _fill_one_by_one(
        rows: Rows, whole: ProduceRequestResult, partition: Any, offset: Ints, timestamp: Ints, errors: dict[int, str]
    ) -> None:
        """Rows whose batch was split, or failed, perhaps with an error for each (KIP-467)."""
        for nth, row in enumerate(_indexes(rows)):
            result, index = whole.place_of(nth)
            partition[row] = result.topic_partition.partition
            if result.error_of_record is not None:
                timestamp[row] = NO_TIMESTAMP
                errors[row] = str(result.error_of_record(index))
                continue
            if result.base_offset != NO_OFFSET:
                offset[row] = result.base_offset + index
            if result.log_append_time_ms != NO_TIMESTAMP:
                timestamp[row] = result.log_append_time_ms


def _indexes(rows: Rows) -> list[int]:
    return list(range(rows.start, rows.stop)) if isinstance(rows, slice) else rows.tolist()


def _numbers(rows: Rows) -> Ints:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
