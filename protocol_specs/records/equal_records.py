"""Finds the runs of equal records in a batch, for readers that read a run as a whole.

Producers mostly send records of equal sizes without headers; `record_runs` checks them column by column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from protocol_specs.errors import MalformedVarint
from protocol_specs.records.record_runs import Layout, count_run
from protocol_specs.records.varints import decode_varint

__all__ = ["NULL_SIZE", "Run", "begins_with_equal_sizes", "find_runs"]

NULL_SIZE: Final = -1
"""The size of a null key or value."""
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


def begins_with_equal_sizes(section: bytes) -> bool:
    """True if the second record seems to have the size of the first one, so that a search for runs is worth it."""
    try:
        length, body = decode_varint(section, 0)
    except MalformedVarint:
        return False
    return section.startswith(section[:body], body + length)


def find_runs(data: bytes, count: int, start: int = 0, end: int | None = None) -> list[Run] | None:
    """Find runs that cover `count` records, whose offset deltas are 0, 1, 2 ..., from `start` exactly to `end`.

    Returns None if too many records are outside runs, one has headers or anything is unusual.
    """
    runs: list[Run] = []
    position, index, alone = start, 0, 0
    end = len(data) if end is None else end
    while index < count:
        if alone > _ALONE + index // _RECORDS_FOR_ONE_ALONE:
            return None
        try:
            run = _one(data, position, index)
        except (IndexError, MalformedVarint):
            return None
        if run is None:
            return None
        # Most records of other sizes differ in the first byte of their lengths already.
        following = 0
        if data[position + run.size : position + run.size + 1] == data[position : position + 1]:
            following = count_run(data, Layout(data, position), run.size, index + 1, count, end)
        if following:
            run.count += following
        else:
            alone += 1
        runs.append(run)
        index += run.count
        position += run.count * run.size
    return runs if position == end else None


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
