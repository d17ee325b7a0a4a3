"""Columns of batches of nearly equal records, as producers mostly send them. DefaultRecord.readFrom by runs.

Records of one layout are at equal distances (record_runs checks them), so that the positions of their keys and values
are arithmetic sequences, and only the timestamps are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.records.columnar.arrays import np
from protocol_specs.records.columnar.columns import StringColumn
from protocol_specs.records.record_runs import timestamp_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.records.columnar.arrays import Bytes, Ints
    from protocol_specs.records.equal_records import Run


def timestamp_deltas(section: bytes, runs: Sequence[Run]) -> Ints | None:
    """Read the timestamp deltas of all records; None if one has another width than the first of its run."""
    raws: list[Ints] = []
    for run in runs:
        columns = timestamp_columns(section, run.start + run.timestamp, run.size, run.count, run.timestamp_width)
        if len(columns[0]) < run.count:
            return None
        raw = np.frombuffer(columns[0], np.uint8).astype(np.int64)
        for place, column in enumerate(columns[1:], 1):
            raw |= np.frombuffer(column, np.uint8).astype(np.int64) << 7 * place
        raws.append(raw)
    raw = np.concatenate(raws)
    return (raw >> 1) ^ -(raw & 1)


def keys_of(data: Bytes, runs: Sequence[Run]) -> StringColumn:
    """Return the column of keys."""
    return _strings(data, runs, [run.key for run in runs], [run.key_size for run in runs])


def values_of(data: Bytes, runs: Sequence[Run]) -> StringColumn:
    """Return the column of values."""
    return _strings(data, runs, [run.value for run in runs], [run.value_size for run in runs])


def _strings(data: Bytes, runs: Sequence[Run], places: Sequence[int], sizes: Sequence[int]) -> StringColumn:
    starts = [
        np.arange(run.start + place, run.start + place + run.count * run.size, run.size)
        for run, place in zip(runs, places, strict=True)
    ]
    counts = [run.count for run in runs]
    return StringColumn(data, np.concatenate(starts), np.repeat(np.array(sizes, np.int64), counts))
