"""The fast paths of the protocol, each against the path below it: the gains in docs/design/fast-paths.md.

Both paths do the same work in turns, a slice of CPU time each; a figure is the median over the rounds of how many times
faster the fast path is. Loads that a fast path does not help are measured too: there the figure is what it costs.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.codec import produce_request
from protocol_specs.codec import decode_writer
from protocol_specs.codec.code_generator import decoder_for
from protocol_specs.messages.produce import ProduceRequest
from protocol_specs.records import batch_walk, record_rows
from protocol_specs.records.batch_peek import RECORD_BATCH_OVERHEAD, peek_header
from protocol_specs.records.columnar import joined_reader
from protocol_specs.records.columnar.joined_reader import read_joined
from protocol_specs.records.columnar.reader import _SectionReader, read_columns
from protocol_specs.records.record_batch import RecordBatchBuilder
from protocol_specs.records.record_rows import read_rows

ROUNDS: Final = 61
SLICE_SECONDS: Final = 0.005
FETCHED_BATCHES: Final = 60
START_MS: Final = 1_700_000_000_000

Call = Callable[[], Any]
Slow = Callable[[], AbstractContextManager[Any]]
Batches = tuple[tuple[str, bytes], ...]


def batch(count: int, low: int, high: int, *, keys: bool = False) -> bytes:
    """A batch of values of `low` to `high` bytes, ten records per millisecond."""
    chance = random.Random(1)
    builder = RecordBatchBuilder()
    for index in range(count):
        key = chance.randbytes(chance.randint(5, 20)) if keys else None
        builder.append(START_MS + index // 10, key, bytes(chance.randint(low, high)))
    return builder.build()


def walked(data: bytes) -> Call:
    """The walk over the records of an appended batch."""
    count = peek_header(data).records_count
    return lambda: batch_walk.walk_records(data, count, start=RECORD_BATCH_OVERHEAD)


def without(name: str) -> Slow:
    """The walk without one of its speeds."""
    return lambda: patch.object(batch_walk, name, lambda *_: None)


def comparisons() -> list[tuple[str, str, Call, Call, Slow]]:
    """Fast path, load, fast call, slow call, and the context of the slow call."""
    body = produce_request().encode(9)
    with patch.object(decode_writer, "alike_fields", lambda _: None):
        one_by_one = decoder_for(ProduceRequest, 9)
    decode = decoder_for(ProduceRequest, 9)
    rows: list[tuple[str, str, Call, Call, Slow]] = [
        (
            "alike elements",
            "15 partitions, 1 KiB each",
            lambda: decode(body, 0),
            lambda: one_by_one(body, 0),
            nullcontext,
        ),
    ]
    for name, function, loads in walks():
        rows += [(name, load, walked(data), walked(data), without(function)) for load, data in loads]
    for name, call, slow, batches in reads():
        rows += [(name, load, call(data), call(data), slow) for load, data in batches]
    return rows


def walks() -> tuple[tuple[str, str, Batches], ...]:
    """Fast path of the walk, the function that it is, and its loads."""
    return (
        ("lone record", "walk_lone", (("1 record of 100 B", batch(1, 100, 100)),)),
        (
            "records alike",
            "alike_deltas",
            (
                ("3 records of 100 B", batch(3, 100, 100)),
                ("5 records of 100 B", batch(5, 100, 100)),
                ("10 records of 100 B", batch(10, 100, 100)),
                ("60 records of 1 kB", batch(60, 1000, 1000)),
                ("10 keyed records of 30 to 150 B", batch(10, 30, 150, keys=True)),
            ),
        ),
        (
            "runs of one layout",
            "measure_run",
            (
                ("100 records of 100 B", batch(100, 100, 100)),
                ("1000 records of 16 B", batch(1000, 16, 16)),
                ("100 records of 30 to 150 B", batch(100, 30, 150, keys=True)),
            ),
        ),
        (
            "records of one shape",
            "follow_shape",
            (
                ("32 records of 100 to 200 B", batch(32, 100, 200)),
                ("500 records of 100 to 200 B", batch(500, 100, 200)),
                ("100 keyed records of 100 to 1000 B", batch(100, 100, 1000, keys=True)),
                ("100 keyed records of 30 to 150 B", batch(100, 30, 150, keys=True)),
            ),
        ),
    )


def reads() -> tuple[tuple[str, Callable[[bytes], Call], Slow, Batches], ...]:
    """Fast path of a reader, its call for a batch, the context of the slow call, and its loads."""
    mixed = ("100 keyed records of 30 to 150 B", batch(100, 30, 150, keys=True))
    equal = ("1000 records of 100 B", batch(1000, 100, 100))
    return (
        (
            "columns by run",
            lambda data: lambda: read_columns(data),
            lambda: patch.object(_SectionReader, "_read_runs", lambda _: None),
            (equal, mixed),
        ),
        (
            "rows by run",
            lambda data: lambda: read_rows(data),
            lambda: patch.object(record_rows, "_measured_runs", lambda *_: None),
            (
                ("40 records of 100 B", batch(40, 100, 100)),
                ("100 records of 1 kB", batch(100, 1000, 1000)),
                equal,
                mixed,
            ),
        ),
        (
            "joined batches",
            joined,
            lambda: patch.object(joined_reader, "_read_runs", lambda _: None),
            (
                ("60 batches of 16 records of 1 kB", batch(16, 1000, 1000)),
                ("60 batches of 140 records of 100 B", batch(140, 100, 100)),
                ("60 batches of mixed sizes, keyed", mixed[1]),
            ),
        ),
        (
            "records in place",
            joined,
            lambda: patch.object(joined_reader, "_sections_in_place", lambda *_: None),
            (
                ("60 batches of 16 records of 1 kB", batch(16, 1000, 1000)),
                ("60 batches of 140 records of 100 B", batch(140, 100, 100)),
            ),
        ),
        (
            "records in place",
            lambda data: lambda: read_joined([memoryview(data)]).to_arrow(),
            lambda: patch.object(joined_reader, "_sections_in_place", lambda *_: None),
            (
                ("1000 records of 1 kB", batch(1000, 1000, 1000)),
                ("9000 records of 100 B", batch(9000, 100, 100)),
            ),
        ),
    )


def joined(data: bytes) -> Call:
    """The columns of 60 copies of a batch in one buffer, packed as for a table."""
    whole = memoryview(data * FETCHED_BATCHES)
    batches = [whole[start : start + len(data)] for start in range(0, len(whole), len(data))]
    return lambda: read_joined(batches).to_arrow()


def run(rounds: int) -> None:
    """Print one line per fast path and load."""
    print(f"{'fast path':<22}{'load':<37}{'fast':>10}{'slow':>10}  slow/fast")
    for name, load, fast, slow, context in comparisons():
        fast_s, slow_s, ratio, error = compared(fast, slow, context, rounds)
        print(f"{name:<22}{load:<37}{fast_s * 1e6:>7.1f} us{slow_s * 1e6:>7.1f} us  {ratio:.2f} +- {error:.2f}")


def compared(
    fast: Call, slow: Call, context: Slow, rounds: int, clean: Call = lambda: None
) -> tuple[float, float, float, float]:
    """Return median CPU seconds of the fast and of the slow call, the median of slow / fast, and its standard error.

    The calls take turns; the slow one runs within `context`. `clean` is called between the slices, outside of the time.
    """
    fast()
    count = max(1, int(SLICE_SECONDS / _seconds(fast, 3)))
    times: list[tuple[float, float]] = []
    for _ in range(rounds):
        clean()
        fast_s = _seconds(fast, count)
        clean()
        with context():
            times.append((fast_s, _seconds(slow, count)))
    ratios = [slow_s / fast_s for fast_s, slow_s in times]
    error = 1.25 * statistics.stdev(ratios) / len(ratios) ** 0.5
    fast_s, slow_s = (statistics.median(column) for column in zip(*times, strict=True))
    return fast_s, slow_s, statistics.median(ratios), error


def _seconds(call: Call, count: int) -> float:
    started = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - started) / count


if __name__ == "__main__":
    run(ROUNDS)
