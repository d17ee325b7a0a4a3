"""A correct history of sends with anomalies at known places, as Parquet files of any size: batch after batch.

Sixteen processes send to 64 partitions, one record per millisecond; acknowledgements take up to 50 ms, so that several
sends of a process are open. Invocations name no partition, as with a producer that chooses it later. One send of a
thousand ends with an error, and half of these are stored: a correct history has that too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from broker_scenarios.arrow.history_table import HISTORY_SCHEMA
from broker_scenarios.arrow.result_table import LOGS_SCHEMA
from broker_scenarios.findings import FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

__all__ = ["KINDS", "PARTITIONS", "PROMISES", "TOPIC", "Place", "write_planted_history"]

TOPIC: Final = "orders"
PARTITIONS: Final = 64
PROCESSES: Final = 16
SEND_EVERY_US: Final = 1_000
ACKNOWLEDGED_WITHIN_US: Final = 50_000
PROMISES: Final = {
    "topics": {TOPIC: PARTITIONS}, "acks": "all", "enable.idempotence": True, "replication.factor": 3,
    "min.insync.replicas": 2, "delivery.timeout.ms": 100,
}  # fmt: skip
SENDS_WITHOUT_ANOMALY: Final = 200
"""At the end: a send without an outcome is an anomaly after `delivery.timeout.ms`."""
SENDS_PER_ANOMALY_MIN: Final = 3 * PROCESSES
SENDS_PER_BATCH: Final = 100_000
EVENTS_PER_FILE: Final = 2_000_000
FOREIGN_VALUES: Final = 10**12
"""The first value that no client has sent."""

KINDS: Final = (
    FindingKind.LOST_WRITE,
    FindingKind.SET_LOSS,
    FindingKind.DUPLICATE,
    FindingKind.NONMONOTONIC_SEND,
    FindingKind.INCONSISTENT_OFFSETS,
    FindingKind.OFFSET_ORACLE,
    FindingKind.MISDELIVERED,
    FindingKind.FAILED_BUT_STORED,
    FindingKind.UNRESOLVED,
    FindingKind.DOUBLE_COMPLETION,
)
"""The kinds that are planted, one after another."""
_TWO_OFFSETS: Final = (FindingKind.DUPLICATE, FindingKind.OFFSET_ORACLE, FindingKind.MISDELIVERED)
_OF_TWO_SENDS: Final = (FindingKind.NONMONOTONIC_SEND, FindingKind.INCONSISTENT_OFFSETS)
_OK, _FAIL, _INFO, _NEVER = range(4)
_COMPLETIONS: Final = pa.array(["ok", "fail", "info"])


class Place(NamedTuple):
    """A finding that the checks are to report: its name, partition and values, in ascending order.

    A finding that is only counted has no values, but one that names the operations: the rows of the history.
    """

    name: str
    key: str
    values: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass(slots=True)
class _Batch:
    """Columns of consecutive sends, one element per send. Times in microseconds."""

    value: Numbers
    partition: Numbers
    invoke_us: Numbers
    complete_us: Numbers
    outcome: Numbers
    slots: Numbers
    """How many offsets the send uses up."""
    planted: dict[int, FindingKind] = field(default_factory=dict)
    """The kind by the place in the batch."""
    stored: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    """The offset in the log."""
    acked: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    """The offset of the acknowledgement."""
    is_stored: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))


def write_planted_history(folder: Path, *, events: int, anomalies: int, seed: int) -> tuple[list[Place], list[Place]]:
    """Write `history/*.parquet` and `logs/*.parquet`, and return the places of what was planted.

    Returns:
        The findings that break a promise, and the values whose outcome is unknown and that are stored (permitted).

    Raises:
        ValueError: there are too few events for that many anomalies.
    """
    sends = events // 2
    spaced = (sends - SENDS_WITHOUT_ANOMALY) // max(anomalies, 1)
    if spaced < SENDS_PER_ANOMALY_MIN:
        needed = 2 * (anomalies * SENDS_PER_ANOMALY_MIN + SENDS_WITHOUT_ANOMALY)
        raise ValueError(f"{anomalies} anomalies need {needed:,} events or more, not {events:,}")
    chance = np.random.default_rng(seed)
    kinds = {}
    for number in range(anomalies):
        first = number * spaced + int(chance.integers(PROCESSES, spaced - PROCESSES))
        # The two sends of an anomaly are in one batch.
        if first % SENDS_PER_BATCH >= SENDS_PER_BATCH - PROCESSES:
            first -= PROCESSES
        kinds[first] = KINDS[number % len(KINDS)]
    broken: list[Place] = []
    recovered: list[Place] = []
    ends = np.zeros(PARTITIONS, np.int64)
    writer, logs_writer = _Files(folder / "history", HISTORY_SCHEMA), _Files(folder / "logs", LOGS_SCHEMA)
    for start in range(0, sends, SENDS_PER_BATCH):
        end = min(start + SENDS_PER_BATCH, sends)
        batch = _batch(chance, start, end, {at - start: kind for at, kind in kinds.items() if start <= at < end})
        _assign_offsets(batch, ends)
        table, row_of_completion = _history_rows(batch, start)
        first_row = writer.rows
        logs_writer.write(_log_rows(batch, chance))
        writer.write(table)
        rows = np.where(row_of_completion >= 0, row_of_completion + first_row, -1)
        broken += _places(batch, rows)
        recovered += _recovered(batch)
    writer.close()
    logs_writer.close()
    return broken, recovered


def _batch(chance: np.random.Generator, start: int, end: int, planted: dict[int, FindingKind]) -> _Batch:
    size = end - start
    value = np.arange(start, end, dtype=np.int64)
    invoke_us = value * SEND_EVERY_US
    outcome = np.zeros(size, np.int64)
    slots = np.ones(size, np.int64)
    lot = chance.integers(4_000, size=size)
    for drawn, result, used in ((0, _INFO, 1), (1, _INFO, 1), (2, _INFO, 0), (3, _FAIL, 0)):
        outcome[lot == drawn], slots[lot == drawn] = result, used
    batch = _Batch(
        value=value,
        partition=chance.integers(PARTITIONS, size=size),
        invoke_us=invoke_us,
        complete_us=invoke_us + chance.integers(1_000, ACKNOWLEDGED_WITHIN_US, size=size),
        outcome=outcome,
        slots=slots,
        planted=planted,
    )
    for at, kind in planted.items():
        outcome[at], slots[at] = _OK, 1
        if kind in _TWO_OFFSETS:
            slots[at] = 2
        elif kind is FindingKind.SET_LOSS:
            slots[at] = 0
        elif kind is FindingKind.FAILED_BUT_STORED:
            outcome[at] = _FAIL
        elif kind is FindingKind.UNRESOLVED:
            outcome[at] = _NEVER
        elif kind in _OF_TWO_SENDS:
            # The next send of the same process, to the same partition.
            after = at + PROCESSES
            outcome[after], slots[after], batch.partition[after] = _OK, 1, batch.partition[at]
    return batch


def _assign_offsets(batch: _Batch, ends: Numbers) -> None:
    order = np.argsort(batch.partition, kind="stable")
    slots = batch.slots[order]
    before = np.cumsum(slots) - slots
    per_partition = np.bincount(batch.partition, weights=batch.slots, minlength=PARTITIONS).astype(np.int64)
    firsts = np.cumsum(per_partition) - per_partition
    batch.stored = np.empty_like(before)
    batch.stored[order] = before + (ends - firsts)[batch.partition[order]]
    ends += per_partition
    stored = batch.stored
    for at, kind in batch.planted.items():
        if kind is FindingKind.NONMONOTONIC_SEND:
            stored[at], stored[at + PROCESSES] = stored[at + PROCESSES], stored[at]
    acked = batch.acked = np.where(batch.outcome == _OK, stored, -1)
    batch.is_stored = batch.slots > 0
    for at, kind in batch.planted.items():
        if kind is FindingKind.LOST_WRITE:
            batch.is_stored[at] = False
        elif kind is FindingKind.SET_LOSS:
            acked[at] = -1
        elif kind is FindingKind.OFFSET_ORACLE:
            acked[at] += 1
        elif kind is FindingKind.INCONSISTENT_OFFSETS:
            acked[at + PROCESSES] = acked[at]


def _history_rows(batch: _Batch, start: int) -> tuple[pa.Table, Numbers]:
    """Return the rows in the order of their times, and the row of the last completion of each send (-1 without one)."""
    size = len(batch.value)
    done = np.flatnonzero(batch.outcome != _NEVER)
    twice = np.array([at for at, kind in batch.planted.items() if kind is FindingKind.DOUBLE_COMPLETION], np.int64)
    sends = np.concatenate([np.arange(size), done, twice])
    event = np.repeat([0, 1, 2], [size, len(done), len(twice)])
    time_us = np.choose(event, [batch.invoke_us[sends], batch.complete_us[sends], batch.complete_us[sends] + 7])
    order = np.argsort(time_us, kind="stable")
    sends, event, time_us = sends[order], event[order], time_us[order]
    outcome = batch.outcome[sends]
    is_ack = (event > 0) & (outcome == _OK)
    number = sends + start
    texts = pa.array(["invoke", "ok", "fail", "info"])
    errors = pa.array([None, None, "RecordTooLargeException", "TimeoutException"], pa.string())
    kind = pa.array(np.where(event == 0, 0, outcome + 1))
    process = (number % PROCESSES).astype(np.int32)
    columns = {
        "run_id": _constant("planted", len(sends)),
        "process": process,
        "producer_id": process,
        "index": number // PROCESSES,
        "type": texts.take(kind),
        "time_us": time_us,
        "topic": _constant(TOPIC, len(sends)),
        "partition": np.where(is_ack, batch.partition[sends], -1).astype(np.int32),
        "key": pa.nulls(len(sends), pa.binary()),
        "value_id": batch.value[sends],
        "size_bytes": np.full(len(sends), 100, np.int32),
        "offset": np.where(is_ack, batch.acked[sends], -1),
        "timestamp_ms": np.full(len(sends), -1, np.int64),
        "error_code": np.zeros(len(sends), np.int16),
        "error": errors.take(kind),
    }
    row_of_completion = np.full(size, -1, np.int64)
    completions = np.flatnonzero(event == 1)
    row_of_completion[sends[completions]] = completions
    return pa.table(columns, schema=HISTORY_SCHEMA), row_of_completion


def _log_rows(batch: _Batch, chance: np.random.Generator) -> pa.Table:
    """Return the records of the logs in any order, as several readers would have written them."""
    partition, offset = batch.partition[batch.is_stored], batch.stored[batch.is_stored]
    value = batch.value[batch.is_stored]
    second = [(at, kind) for at, kind in batch.planted.items() if kind in _TWO_OFFSETS]
    second = [(at, kind) for at, kind in second if kind is not FindingKind.OFFSET_ORACLE]
    places = np.array([at for at, _ in second], np.int64)
    foreign = np.array([kind is FindingKind.MISDELIVERED for _, kind in second], np.int64)
    partition = np.concatenate([partition, batch.partition[places]])
    offset = np.concatenate([offset, batch.stored[places] + 1])
    value = np.concatenate([value, batch.value[places] + FOREIGN_VALUES * foreign])
    order = chance.permutation(len(value))
    columns = {
        "topic": _constant(TOPIC, len(value)),
        "partition": partition[order].astype(np.int32),
        "offset": offset[order],
        "value_id": value[order],
        "truncated": np.zeros(len(value), np.bool_),
    }
    return pa.table(columns, schema=LOGS_SCHEMA)


def _places(batch: _Batch, rows: Numbers) -> Iterator[Place]:
    for at, kind in batch.planted.items():
        key, value = f"{TOPIC}-{batch.partition[at]}", int(batch.value[at])
        named: tuple[int, ...] = ()
        values: tuple[int, ...] = (value,)
        if kind is FindingKind.NONMONOTONIC_SEND:
            values, named = (), (int(rows[at]), int(rows[at + PROCESSES]))
        elif kind is FindingKind.INCONSISTENT_OFFSETS:
            values = (value, value + PROCESSES)
            yield Place(FindingKind.OFFSET_ORACLE.value, key, (value + PROCESSES,), ())
        elif kind is FindingKind.MISDELIVERED:
            values = (value + FOREIGN_VALUES,)
        yield Place(kind.value, key, values, named)


def _recovered(batch: _Batch) -> Iterator[Place]:
    unknown = (batch.outcome == _INFO) | (batch.outcome == _NEVER)
    for at in np.flatnonzero(unknown & batch.is_stored):
        key = f"{TOPIC}-{batch.partition[at]}"
        yield Place(FindingKind.RECOVERED.value, key, (int(batch.value[at]),), ())


def _constant(text: str, size: int) -> pa.Array:
    return pa.array([text]).take(pa.array(np.zeros(size, np.int64)))


class _Files:
    """A folder of Parquet files; the names sort in the order of writing."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        folder.mkdir(parents=True)
        self.rows = 0
        self._folder = folder
        self._schema = schema
        self._numbers = count()
        self._left = 0
        self._writer: pq.ParquetWriter | None = None

    def write(self, table: pa.Table) -> None:
        if self._writer is None or self._left <= 0:
            self.close()
            path = self._folder / f"part-{next(self._numbers):05}.parquet"
            self._writer, self._left = pq.ParquetWriter(path, self._schema, compression="zstd"), EVENTS_PER_FILE
        self._writer.write_table(table)
        self._left -= len(table)
        self.rows += len(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
