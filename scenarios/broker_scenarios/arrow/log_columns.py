"""The records of the logs by the column: the value at each offset of a partition, and the values that are in doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from broker_scenarios.arrow.history_table import read_table
from broker_scenarios.arrow.result_table import LOGS_SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from broker_scenarios.checks.analysis import TopicPartition

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

__all__ = ["LogColumns", "PartitionLog"]


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """The records that one log holds, sorted by offset."""

    offsets: Ints
    values: Ints
    is_dense: bool
    """The offsets have no gaps."""

    def positions_of(self, offsets: Ints, values: Ints) -> Ints:
        """Return the position of each offset that holds the value beside it; -1 for the others."""
        count = len(self.offsets)
        if not count:
            return np.full(len(offsets), -1, np.int64)
        at = offsets - self.offsets[0] if self.is_dense else np.searchsorted(self.offsets, offsets)
        inside = np.clip(at, 0, count - 1)
        matches = (at == inside) & (self.offsets[inside] == offsets) & (self.values[inside] == values)
        return np.where(matches, inside, -1)


class LogColumns:
    """The logs of all partitions."""

    def __init__(self, table: pa.Table) -> None:
        self.partitions: dict[TopicPartition, PartitionLog] = {}
        self.doubtful = np.zeros(0, np.int64)
        """The values, sorted, that the logs hold more than once, that a replica cut off, or that share an offset."""
        doubtful: list[Any] = []
        held = table.filter(pc.invert(table["truncated"]))
        doubtful.append(table.filter(table["truncated"])["value_id"].to_numpy())
        places = held.group_by(["topic", "partition"]).aggregate([([], "count_all")]).to_pylist()
        for place in sorted(places, key=lambda each: (each["topic"], each["partition"])):
            topic, partition = place["topic"], place["partition"]
            mine = held.filter((pc.field("topic") == topic) & (pc.field("partition") == partition))
            offsets, values = mine["offset"].to_numpy(), mine["value_id"].to_numpy()
            steps = np.diff(offsets)
            if (steps < 0).any():
                order = np.argsort(offsets, kind="stable")
                offsets, values = offsets[order], values[order]
                steps = np.diff(offsets)
            shared = np.flatnonzero(steps == 0)
            doubtful += [values[shared], values[shared + 1]]
            self.partitions[topic, partition] = PartitionLog(offsets, values, bool((steps == 1).all()))
        everything = np.sort(np.concatenate([each.values for each in self.partitions.values()] or [self.doubtful]))
        doubtful.append(everything[1:][everything[1:] == everything[:-1]])
        self.doubtful = np.unique(np.concatenate(doubtful).astype(np.int64))

    @classmethod
    def read(cls, path: Path) -> LogColumns:
        """Read a table of LOGS_SCHEMA. Raises HistoryError if it cannot be read."""
        return cls(read_table(path, "logs", LOGS_SCHEMA, LOGS_SCHEMA.names))
