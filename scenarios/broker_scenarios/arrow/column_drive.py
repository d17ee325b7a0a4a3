"""One producer's share of a load, sent by the column: tables of rows that are due, and a history in tables.

The same history as drive.drive_share, except for its times: all rows of one table are invoked at one time, and those of
one batch complete at one time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
from twisted.python.runtime import seconds

from broker_client.core.producer.future_table import DeliveredRows
from broker_client.errors import ProducerError
from broker_scenarios.arrow.history_table import HISTORY_SCHEMA
from broker_scenarios.arrow.load_table import LOAD_SCHEMA
from broker_scenarios.arrow.record_id_columns import sent_table
from broker_scenarios.drive import DriveSpec, LoadClock, begun_together
from broker_scenarios.history import NO_OFFSET, NO_PARTITION, EventType
from broker_scenarios.sends import class_of
from protocol_specs.records.columnar.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broker_client.core.producer.future_table import RowsCallback

    Ints = NDArray[np.int64]

__all__ = ["ColumnProducer", "ColumnProducerFactory", "drive_columns"]

_ROWS_MAX: Final = 20_000
_BYTES_MAX: Final = 1 << 22
"""The limits of one table: its values, their copy in batches and its history are in memory until it ends."""
_TYPES: Final = pa.array([each.value for each in EventType])
_TYPE_AT: Final = {each: at for at, each in enumerate(EventType)}


class ColumnProducer(Protocol):
    """The part of broker_client.Producer's interface that a task needs to send tables."""

    def send_batch(self, topic: str, table: Any, *, on_delivery: RowsCallback | None) -> object:
        """Accept the rows of a table; calls `on_delivery` once with each of them."""

    def close(self, timeout: float, /) -> None:
        """Send the buffered records, report every record and close, within `timeout` seconds."""


ColumnProducerFactory = Callable[[Mapping[str, str]], ColumnProducer]


def drive_columns(
    batches: Iterable[pa.RecordBatch],
    spec: DriveSpec,
    make_producer: ColumnProducerFactory,
    *,
    start_together: Callable[[], object] = lambda: None,
    now_s: Callable[[], float] = seconds,
    wait_s: Callable[[float], object] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Send the rows of these batches (LOAD_SCHEMA) when they are due, and yield their history (HISTORY_SCHEMA).

    Rows that are due together are sent together. `start_together` returns when all other shares are ready too.

    Raises:
        ScenarioError: a record is later than `spec.deadline_s`.
    """
    clock = LoadClock(spec, now_s, wait_s)
    task = _Task(spec, make_producer, clock)
    try:
        for batch in begun_together(batches, clock, start_together):
            yield from task.send(batch)
    finally:
        task.close()
    yield from task.history(whole=True)


class _Table:
    """The rows of one call of send_batch: the invokes, and the reports so far."""

    def __init__(self, rows: pa.RecordBatch, first_index: int, run_id: str, now_us: Callable[[], int]) -> None:
        self._rows = rows
        self._first_index = first_index
        self._run_id = run_id
        self._now_us = now_us
        self._invoked_us = now_us()
        self._reports: list[tuple[int, DeliveredRows]] = []

    @property
    def ended(self) -> bool:
        """True if every row was reported."""
        count: int = self._rows.num_rows
        return sum(len(rows.rows) for _, rows in self._reports) >= count

    def delivered(self, rows: DeliveredRows) -> None:
        """Note rows that have ended; list.append is atomic, so no lock is needed."""
        self._reports.append((self._now_us(), rows))

    def refused(self, error: ProducerError) -> None:
        """Note that the client has refused the rows that it has not reported, so that it will not call back."""
        left = np.ones(self._rows.num_rows, np.bool_)
        for _, rows in self._reports:
            left[rows.rows] = False
        numbers = np.flatnonzero(left)
        nothing = np.full(len(numbers), -1, np.int64)
        self.delivered(DeliveredRows(numbers, NO_PARTITION, nothing, nothing, [error] * len(numbers)))

    def history(self) -> pa.RecordBatch:
        """Return the events of all rows: their invokes, and their completions in the order of the reports."""
        count, reports = self._rows.num_rows, [*self._reports]
        rows = np.concatenate([np.arange(count), *(each.rows for _, each in reports)])
        counts = [count, *(len(each.rows) for _, each in reports)]
        none = np.full(count, -1, np.int64)
        repeated = self._rows.take(pa.array(rows))
        columns: dict[str, Any] = {
            "run_id": pa.repeat(self._run_id, len(rows)),
            "process": repeated["producer_id"],
            "index": rows + self._first_index,
            "time_us": np.repeat([self._invoked_us, *(time_us for time_us, _ in reports)], counts),
            "partition": np.repeat([NO_PARTITION, *(each.partition for _, each in reports)], counts).astype(np.int32),
            "offset": np.concatenate([none, *(_offsets(each) for _, each in reports)]),
            "timestamp_ms": np.concatenate([none, *(each.timestamps_ms for _, each in reports)]),
            **_outcomes(count, [each for _, each in reports]),
        }
        arrays = [
            pa.array(columns[field.name], field.type) if field.name in columns else repeated[field.name]
            for field in HISTORY_SCHEMA
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=HISTORY_SCHEMA)


class _Task:
    """The state of one task: the clients of its rows (one, as the load is divided) and the tables that are open."""

    def __init__(self, spec: DriveSpec, make_producer: ColumnProducerFactory, clock: LoadClock) -> None:
        self._spec = spec
        self._make_producer = make_producer
        self._clock = clock
        self._clients: dict[int, ColumnProducer] = {}
        self._invoked: dict[int, int] = {}
        self._tables: deque[_Table] = deque()

    def send(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Send the rows when they are due, and yield the history of the tables that have ended."""
        due_us = batch["due_us"].to_numpy()
        bytes_before = np.cumsum(batch["size_bytes"].to_numpy(), dtype=np.int64) - batch["size_bytes"].to_numpy()
        first = 0
        while first < len(due_us):
            self._clock.await_due(int(due_us[first]))
            due_end = int(np.searchsorted(due_us, self._clock.due_us(), "right"))
            bytes_end = int(np.searchsorted(bytes_before, bytes_before[first] + _BYTES_MAX))
            end = max(first + 1, min(due_end, bytes_end, first + _ROWS_MAX))
            for part in _split(batch.slice(first, end - first)):
                self._send_table(part)
            first = end
            yield from self.history()

    def history(self, *, whole: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield the history of each table that has ended, in the order of sending; of all tables if `whole`."""
        while self._tables and (whole or self._tables[0].ended):
            yield self._tables.popleft().history()

    def close(self) -> None:
        """Close every client; a record that its client does not complete in time stays unresolved."""
        for client in self._clients.values():
            with suppress(ProducerError):
                client.close(self._spec.close_timeout_s)

    def _send_table(self, rows: pa.RecordBatch) -> None:
        producer_id, topic = rows["producer_id"][0].as_py(), rows["topic"][0].as_py()
        client = self._clients.get(producer_id)
        if client is None:
            client = self._clients[producer_id] = self._make_producer(self._spec.client_config(producer_id))
        sent = sent_table(rows, self._spec.run_id)
        first_index = self._invoked.get(producer_id, 0)
        self._invoked[producer_id] = first_index + rows.num_rows
        table = _Table(rows.select(LOAD_SCHEMA.names), first_index, self._spec.run_id, self._clock.now_us)
        self._tables.append(table)
        try:
            client.send_batch(topic, sent, on_delivery=table.delivered)
        except ProducerError as error:
            table.refused(error)


def _split(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Return the runs of rows of one producer to one topic."""
    producers, topics = rows["producer_id"].to_numpy(), rows["topic"].dictionary_encode().indices.to_numpy()
    changes = np.flatnonzero((np.diff(producers) != 0) | (np.diff(topics) != 0)) + 1
    for first, end in zip([0, *changes.tolist()], [*changes.tolist(), rows.num_rows], strict=True):
        yield rows.slice(first, end - first)


def _offsets(delivered: DeliveredRows) -> Ints:
    return delivered.offsets if delivered.errors is None else np.full(len(delivered.rows), NO_OFFSET, np.int64)


def _outcomes(invoked: int, reports: list[DeliveredRows]) -> dict[str, Any]:
    """Return the columns `type`, `error_code` and `error`: of the invokes, then of each report."""
    types = [np.full(invoked, _TYPE_AT[EventType.INVOKE], np.int32)]
    codes = [np.zeros(invoked, np.int16)]
    texts: list[str | None] = []
    for report in reports:
        count = len(report.rows)
        if report.errors is None:
            types.append(np.full(count, _TYPE_AT[EventType.OK], np.int32))
            codes.append(np.zeros(count, np.int16))
            continue
        types.append(np.array([_TYPE_AT[class_of(error)] for error in report.errors], np.int32))
        codes.append(np.array([int(error.error_code) for error in report.errors], np.int16))
    total = sum(map(len, types))
    if any(report.errors is not None for report in reports):
        texts = [None] * invoked
        for report in reports:
            errors = report.errors
            texts += [None] * len(report.rows) if errors is None else [f"{type(e).__name__}: {e}" for e in errors]
    return {
        "type": pa.DictionaryArray.from_arrays(pa.array(np.concatenate(types)), _TYPES).cast(pa.string()),
        "error_code": np.concatenate(codes),
        "error": pa.array(texts, pa.string()) if texts else pa.nulls(total, pa.string()),
    }
