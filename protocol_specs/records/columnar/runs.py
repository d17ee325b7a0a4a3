"""Columns of batches of nearly equal records, as producers mostly send them. DefaultRecord.readFrom by runs.

Records of one layout are at equal distances (record_runs checks them), so that the positions of their keys and values
are arithmetic sequences, and only the timestamps are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import MalformedVarint
from protocol_specs.records.columnar.arrays import np
from protocol_specs.records.columnar.columns import NULL_SIZE, StringColumn
from protocol_specs.records.record_runs import Layout, count_run
from protocol_specs.records.varints import decode_varint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.records.columnar.arrays import Bytes, Ints

_TIMESTAMP_BYTES: Final = 8
# The limit on records outside runs, and one more per this many records in runs.
_ALONE: Final = 3
_RECORDS_FOR_ONE_ALONE: Final = 64


@dataclass(slots=True, kw_only=True)
class Run:
    """Records of one layout without headers, `size` bytes apart; the other numbers count from the start."""

    start: int
    size: int
    count: int
    timestamp: int
    timestamp_width: int
    key: int
    key_size: int
    value: int
    value_size: int


def find_runs(section: bytes, count: int) -> list[Run] | None:
    """Find runs that cover `count` records, whose offset deltas are 0, 1, 2 ..., and the whole section.

    Returns None if too many records are outside runs, one has headers or anything is unusual.
    """
    runs: list[Run] = []
    position = index = alone = 0
    while index < count:
        if alone > _ALONE + index // _RECORDS_FOR_ONE_ALONE:
            return None
        try:
            run = _one(section, position, index)
        except (IndexError, MalformedVarint):
            return None
        if run is None:
            return None
        following = count_run(section, Layout(section, position), run.size, index + 1, count)
        if following:
            run.count += following
        else:
            alone += 1
        runs.append(run)
        index += run.count
        position += run.count * run.size
    return runs if position == len(section) else None


def timestamp_deltas(section: bytes, runs: Sequence[Run]) -> Ints | None:
    """Read the timestamp deltas of all records; None if one has another width than the first of its run."""
    raws: list[Ints] = []
    for run in runs:
        raw: Ints | None = None
        for at in range(run.timestamp_width):
            first = run.start + run.timestamp + at
            column = section[first : first + (run.count - 1) * run.size + 1 : run.size]
            bits = np.frombuffer(column, np.uint8).astype(np.int64)
            if at == run.timestamp_width - 1:
                if not column.isascii():
                    return None
            else:
                bits ^= 0x80
                if int(bits.max()) > 0x7F:
                    return None
            raw = bits if raw is None else raw | bits << 7 * at
        assert raw is not None
        raws.append(raw)
    raw = np.concatenate(raws)
    return (raw >> 1) ^ -(raw & 1)


def keys_of(data: Bytes, runs: Sequence[Run]) -> StringColumn:
    """Return the column of keys."""
    return _strings(data, runs, [run.key for run in runs], [run.key_size for run in runs])


def values_of(data: Bytes, runs: Sequence[Run]) -> StringColumn:
    """Return the column of values."""
    return _strings(data, runs, [run.value for run in runs], [run.value_size for run in runs])


def _one(data: bytes, start: int, index: int) -> Run | None:
    """Read a valid record without headers whose offset delta is its index; None for others."""
    length, body = decode_varint(data, start)
    timestamp = body + 1
    offset_at = timestamp
    while data[offset_at] > 127:
        offset_at += 1
    offset_at += 1
    offset, key_at = decode_varint(data, offset_at)
    key_size, key = decode_varint(data, key_at)
    value_size, value = decode_varint(data, key + max(key_size, 0))
    end = value + max(value_size, 0)
    if offset != index or data[end] or end + 1 != body + length or offset_at - timestamp > _TIMESTAMP_BYTES:
        return None
    return Run(
        start=start,
        size=end + 1 - start,
        count=1,
        timestamp=timestamp - start,
        timestamp_width=offset_at - timestamp,
        key=key - start,
        key_size=max(key_size, NULL_SIZE),
        value=value - start,
        value_size=max(value_size, NULL_SIZE),
    )


def _strings(data: Bytes, runs: Sequence[Run], places: Sequence[int], sizes: Sequence[int]) -> StringColumn:
    starts = [
        np.arange(run.start + place, run.start + place + run.count * run.size, run.size)
        for run, place in zip(runs, places, strict=True)
    ]
    counts = [run.count for run in runs]
    return StringColumn(data, np.concatenate(starts), np.repeat(np.array(sizes, np.int64), counts))
