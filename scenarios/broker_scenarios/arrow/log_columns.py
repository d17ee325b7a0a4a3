"""The records of the logs by the column: the value at each offset of a partition, and the values that are in doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from broker_scenarios.arrow.history_table import table_batches
from broker_scenarios.arrow.result_table import LOGS_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from broker_scenarios.checks.analysis import TopicPartition

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

__all__ = ["LogColumns", "PartitionLog"]


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """The records that one log holds, sorted by offset: eight bytes per record if the offsets have no gaps."""

    values: Ints
    first: int
    offsets: Ints | None
    """None if they have no gaps."""

    def offsets_at(self, positions: Ints) -> Ints:
        """Return the offsets of these positions."""
        return positions + self.first if self.offsets is None else self.offsets[positions]

    def positions_of(self, offsets: Ints) -> Ints:
        """Return the position of each offset; -1 for one that is not in the log."""
        count = len(self.values)
        if not count:
            return np.full(len(offsets), -1, np.int64)
        at = offsets - self.first if self.offsets is None else np.searchsorted(self.offsets, offsets)
        inside = np.clip(at, 0, count - 1)
        return np.where(self.offsets_at(inside) == offsets, inside, -1)


class LogColumns:
    """The logs of all partitions."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self.partitions: dict[TopicPartition, PartitionLog] = {}
        truncated: list[pa.RecordBatch] = []
        parts: dict[TopicPartition, list[tuple[Ints, Ints]]] = {}
        for batch in batches:
            truncated.append(batch.filter(batch["truncated"]))
            held = batch.filter(pc.invert(batch["truncated"]))
            for place in pa.Table.from_batches([held]).group_by(["topic", "partition"]).aggregate([]).to_pylist():
                name = place["topic"], place["partition"]
                mine = held.filter(pc.and_(pc.equal(held["topic"], name[0]), pc.equal(held["partition"], name[1])))
                parts.setdefault(name, []).append((mine["offset"].to_numpy(), mine["value_id"].to_numpy()))
        self.truncated = pa.Table.from_batches(truncated, LOGS_SCHEMA)
        """The rows of LOGS_SCHEMA that a replica cut off."""
        doubtful = [self.truncated["value_id"].to_numpy()]
        for name in sorted(parts):
            log, shared = _joined(parts.pop(name))
            self.partitions[name] = log
            doubtful.append(shared)
        everything = np.concatenate([np.zeros(0, np.int64), *(each.values for each in self.partitions.values())])
        everything.sort()
        doubtful.append(everything[1:][everything[1:] == everything[:-1]])
        self.doubtful = np.unique(np.concatenate(doubtful).astype(np.int64))
        """The values, sorted, that the logs hold more than once, that a replica cut off, or that share an offset."""

    @classmethod
    def read(cls, path: Path) -> LogColumns:
        """Read a table of LOGS_SCHEMA. Raises HistoryError if it cannot be read."""
        return cls(table_batches(path, "logs", LOGS_SCHEMA))


def _joined(parts: list[tuple[Ints, Ints]]) -> tuple[PartitionLog, Ints]:
    """Return the log of a partition, and the values that share an offset with another."""
    offsets, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    steps = np.diff(offsets)
    if (steps < 0).any():
        order = np.argsort(offsets, kind="stable")
        offsets, values = offsets[order], values[order]
        steps = np.diff(offsets)
    shared = np.flatnonzero(steps == 0)
    is_dense = bool((steps == 1).all())
    log = PartitionLog(values, int(offsets[0]), None if is_dense else offsets)
    return log, np.concatenate([values[shared], values[shared + 1]])
