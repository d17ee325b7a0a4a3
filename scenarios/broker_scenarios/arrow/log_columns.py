"""The records of the logs by the column: the value at each offset of a partition, and the values that are in doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from broker_scenarios.arrow.history_table import table_batches
from broker_scenarios.arrow.result_table import LOGS_SCHEMA
from protocol_specs.records.columnar.arrays import np

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
        parts: dict[TopicPartition, list[PartitionLog]] = {}
        for batch in batches:
            truncated.append(batch.filter(batch["truncated"]))
            held = batch.filter(pc.invert(batch["truncated"]))
            for place in pa.Table.from_batches([held]).group_by(["topic", "partition"]).aggregate([]).to_pylist():
                name = place["topic"], place["partition"]
                mine = held.filter(pc.and_(pc.equal(held["topic"], name[0]), pc.equal(held["partition"], name[1])))
                parts.setdefault(name, []).append(_log_of(mine["offset"].to_numpy(), mine["value_id"].to_numpy()))
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


def _log_of(offsets: Ints, values: Ints) -> PartitionLog:
    """Return a part of a log; offsets without gaps are not kept."""
    is_dense = bool((np.diff(offsets) == 1).all())
    return PartitionLog(values.copy() if is_dense else values, int(offsets[0]), None if is_dense else offsets)


def _joined(parts: list[PartitionLog]) -> tuple[PartitionLog, Ints]:
    """Return the log of a partition, and the values that share an offset with another."""
    values = np.concatenate([part.values for part in parts])
    if all(
        part.offsets is None and (at == 0 or part.first == parts[at - 1].first + len(parts[at - 1].values))
        for at, part in enumerate(parts)
    ):
        return PartitionLog(values, parts[0].first, None), np.zeros(0, np.int64)
    offsets = np.concatenate([part.offsets_at(np.arange(len(part.values))) for part in parts])
    order = np.argsort(offsets, kind="stable")
    offsets, values = offsets[order], values[order]
    shared = np.flatnonzero(offsets[1:] == offsets[:-1])
    return _log_of(offsets, values), np.concatenate([values[shared], values[shared + 1]])
