"""Record batches of magic 2: records of 100 bytes written one by one and by the column, and read by the column.

Writing record by record is measured in records per second, and columns against it. Reading is compared with aiokafka's
reader, which is C made by Cython. All calls of a comparison alternate, with a slice of time each. The figure of a
comparison is the median of the ratios of all rounds, that of a rate is its median. Seconds are CPU time of this
process, because a rate would otherwise depend on other work of the machine.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from aiokafka.record._crecords import DefaultRecordBatch, DefaultRecordBatchBuilder

from benchmarks.result import Result, table
from protocol_specs.records.columnar.builder import build_batches
from protocol_specs.records.columnar.columns import RecordColumns
from protocol_specs.records.columnar.reader import read_columns
from protocol_specs.records.record_batch import Record, RecordBatchBuilder, read_records

RECORDS: Final = 1000
VALUE_BYTES: Final = 100
RECORDS_PER_MS: Final = 10
START_MS: Final = 1_700_000_000_000
PER_RECORD_TARGET: Final = 2.5
COLUMNAR_TARGET: Final = 2.0
READ_TARGET: Final = 1.0
# Arrow tables are turned into numpy's arrays and back; with varied sizes, records are followed one by one.
ARROW_WRITE_TARGET: Final = 1.0
ARROW_READ_TARGET: Final = 0.5
VARIED_READ_TARGET: Final = 0.5
SLICE_SECONDS: Final = 0.005

Call = Callable[[], Any]


def equal_records() -> list[Record]:
    """Values of 100 bytes without keys, ten in a millisecond."""
    return [
        Record(offset=index, timestamp=START_MS + index // RECORDS_PER_MS, key=None, value=bytes(VALUE_BYTES))
        for index in range(RECORDS)
    ]


def keyed_records() -> list[Record]:
    """Likewise with keys of 8 bytes."""
    return [
        Record(offset=at, timestamp=START_MS + at // RECORDS_PER_MS, key=b"k%07d" % at, value=bytes(VALUE_BYTES))
        for at in range(RECORDS)
    ]


def varied_records() -> list[Record]:
    """Keys of 5 to 30 bytes and values of 50 to 150: no two neighbours alike."""
    chance = random.Random(1)
    return [
        Record(
            offset=index,
            timestamp=START_MS + index // RECORDS_PER_MS,
            key=chance.randbytes(chance.randint(5, 30)),
            value=chance.randbytes(chance.randint(50, 150)),
        )
        for index in range(RECORDS)
    ]


LOADS: Final = (
    ("100 B values", equal_records, READ_TARGET),
    ("keys and 100 B values", keyed_records, READ_TARGET),
    ("varied sizes", varied_records, VARIED_READ_TARGET),
)


def run(rounds: int) -> list[Result]:
    """Rates and ratios, in this order: written, written by the column, read by the column."""
    results = _written(equal_records(), rounds)
    for name, make, target in LOADS:
        results += _read(name, make(), target, rounds)
    return results


def _written(records: list[Record], rounds: int) -> list[Result]:
    tuples = [(record.timestamp, record.key, record.value, record.headers) for record in records]
    columns = RecordColumns.of_records(records)
    arrow = columns.to_arrow()

    def append() -> bytes:
        builder = RecordBatchBuilder()
        add = builder.append
        for timestamp, key, value, _ in tuples:
            add(timestamp, key, value)
        return builder.build()

    def append_many() -> bytes:
        builder = RecordBatchBuilder()
        builder.append_many(tuples)
        return builder.build()

    def columnar() -> bytes:
        return build_batches(columns)[0]

    def from_arrow() -> bytes:
        return build_batches(RecordColumns.from_arrow(arrow))[0]

    def aiokafka() -> bytes:
        builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1 << 24)
        for index, (timestamp, key, value, _) in enumerate(tuples):
            builder.append(index, timestamp, key, value, [])
        return bytes(builder.build())

    calls = (append, append_many, columnar, from_arrow, aiokafka)
    assert len({call() for call in calls[:-1]}) == 1, "our writers disagree"
    seconds = _rounds(calls, rounds)
    one, many, arrays, table_seconds, peer = (statistics.median(column) for column in zip(*seconds, strict=True))
    rates = [
        _rate("write 100 B records, append", one, peer),
        _rate("write 100 B records, append_many", many, peer),
    ]
    columnar_ratios, arrow_ratios = [row[0] / row[2] for row in seconds], [row[0] / row[3] for row in seconds]
    what = "write 100 B records in columns"
    return [
        *rates,
        _ratio(f"{what}, numpy, beside append", arrays, one, columnar_ratios, COLUMNAR_TARGET),
        _ratio(f"{what}, Arrow, beside append", table_seconds, one, arrow_ratios, ARROW_WRITE_TARGET),
    ]


def _read(name: str, records: list[Record], target: float, rounds: int) -> list[Result]:
    builder = RecordBatchBuilder()
    builder.append_many((record.timestamp, record.key, record.value, ()) for record in records)
    batch = builder.build()
    assert read_columns(batch).to_records() == read_records(batch) == records

    def aiokafka() -> None:
        for record in DefaultRecordBatch(batch):
            _ = record.offset, record.timestamp, record.key, record.value

    calls = (lambda: read_columns(batch), lambda: read_columns(batch).to_arrow(), aiokafka)
    seconds = _rounds(calls, rounds)
    arrays, arrow, peer = (statistics.median(column) for column in zip(*seconds, strict=True))
    array_ratios, arrow_ratios = [row[2] / row[0] for row in seconds], [row[2] / row[1] for row in seconds]
    return [
        _ratio(f"read {name} into numpy, beside aiokafka", arrays, peer, array_ratios, target),
        _ratio(f"read {name} into Arrow, beside aiokafka", arrow, peer, arrow_ratios, ARROW_READ_TARGET * target),
    ]


def _rate(name: str, ours: float, other: float) -> Result:
    return Result(
        name=f"{name}, aiokafka's C beside it",
        ours=_of_record(ours),
        other=_of_record(other),
        figure=1e-6 / ours,
        target=PER_RECORD_TARGET,
        at_least=True,
        unit=" M/s",
    )


def _ratio(name: str, ours: float, other: float, ratios: list[float], target: float) -> Result:
    return Result(
        name=name,
        ours=_of_record(ours),
        other=_of_record(other),
        figure=statistics.median(ratios),
        target=target,
        at_least=True,
        unit="x",
    )


def _of_record(seconds: float) -> str:
    return f"{seconds * 1e9:.0f} ns"


def _rounds(calls: tuple[Call, ...], rounds: int) -> list[list[float]]:
    """Return the seconds per record of each call, for each round."""
    repeats = [max(1, int(SLICE_SECONDS / _seconds(call, 3) / RECORDS)) for call in calls]
    return [[_seconds(call, count) for call, count in zip(calls, repeats, strict=True)] for _ in range(rounds)]


def _seconds(call: Call, count: int) -> float:
    started = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - started) / count / RECORDS


if __name__ == "__main__":
    print(table(run(rounds=61)))
