"""The plain sends of one history file, counted by the column, so that the checks fold the others alone.

No check finds anything about a plain send (send_blocks): acknowledged once, and stored once where it was acknowledged.
Those that have to do with a send that is not plain are set apart with it: the same value, the same process and index,
the same offset, or a place in the log that is not in the order of sending. They are therefore judged as in
the whole history (plain_check).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from broker_scenarios.arrow.history_table import HISTORY_SCHEMA
from broker_scenarios.arrow.log_columns import LogColumns
from broker_scenarios.arrow.send_blocks import JOINED_COLUMNS, SendBlock, send_blocks
from broker_scenarios.arrow.send_order import Stretch, inside_ranges, stretches_of
from broker_scenarios.history import EventType
from protocol_specs.records.columnar.arrays import np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from broker_scenarios.arrow.log_columns import Bools
    from broker_scenarios.checks.analysis import TopicPartition

    Ints = NDArray[np.int64]

__all__ = ["FileFold", "Group", "SetApart", "fold_file"]

Group = tuple[int, str, int]
"""A process, a topic and a partition: the scope of the order of sending."""

_GROUPS_MAX: Final = 20_000
"""The counted groups of one file; beyond it, times are rounded."""
_UNIT_MAX_US: Final = 1_000_000_000
_COUNTED: Final = ["topic", "partition", "invoke_us", "complete_us"]


@dataclass(frozen=True, slots=True)
class SetApart:
    """The sends that the checks fold. Arrays are sorted."""

    values: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    keys: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    ranges: dict[Group, Ints] = field(default_factory=dict)
    """Ranges of indexes, each with its end."""
    placed: dict[Group, tuple[Ints, Ints]] = field(default_factory=dict)
    """Index and offset of the sends set apart that have a place, whose order among the plain ones is checked."""

    def __len__(self) -> int:
        indexes = sum(int((each[1::2] - each[::2]).sum()) for each in self.ranges.values())
        return len(self.values) + len(self.keys) + indexes


@dataclass(slots=True)
class FileFold:
    """The result of one file."""

    claims: dict[TopicPartition, Any] = field(default_factory=dict)
    """For each partition one bit per record in its log: set if a plain send claims it."""
    counted: pa.Table | None = None
    """The plain sends that were not set apart: topic, partition, invoke_us, complete_us, count."""
    stretches: dict[Group, list[Stretch]] = field(default_factory=dict)
    apart: SetApart = field(default_factory=SetApart)
    """The sends that have to be set apart."""
    events: int = 0
    """The events that are set apart."""


def fold_file(path: Path, logs_path: Path, apart: SetApart, rest: Path | None) -> FileFold:
    """Fold one Parquet file of a history. The events that are set apart become the file `rest`."""
    logs = LogColumns.read(logs_path)
    fold = _Fold(logs, apart)
    if rest is None:
        for block in send_blocks(path, logs, JOINED_COLUMNS):
            fold.add(block)
    else:
        with pq.ParquetWriter(rest, HISTORY_SCHEMA) as writer:
            for block in send_blocks(path, logs, HISTORY_SCHEMA.names):
                events = fold.add(block)
                if len(events):
                    writer.write_table(events.cast(HISTORY_SCHEMA))
    return fold.result()


class _Fold:
    """The state of folding one file."""

    def __init__(self, logs: LogColumns, apart: SetApart) -> None:
        self._logs = logs
        self._apart = apart
        self._claimed = {name: np.zeros(len(log.values), np.bool_) for name, log in logs.partitions.items()}
        self._counted: list[pa.Table] = []
        self._values: list[Ints] = []
        self._keys: list[Ints] = []
        self._stretches: dict[Group, list[Stretch]] = {}
        self._events = 0

    def add(self, block: SendBlock) -> pa.Table:
        """Fold one block, and return the events of it that are set apart."""
        process, index = block.column("process"), block.column("index")
        value, offset, time_us = block.column("value_id"), block.column("offset"), block.column("time_us")
        ends = block.completions
        kept = ~(_contains(self._apart.values, value[ends]) | _contains(self._apart.keys, block.keys[ends]))
        for (topic, partition), (mine, _) in block.places.items():
            for group, ranges in self._apart.ranges.items():
                if group[1:] == (topic, partition):
                    own = mine[process[ends[mine]] == group[0]]
                    kept[own[inside_ranges(ranges, index[ends[own]])]] = False
        for (topic, partition), (mine, at) in block.places.items():
            chosen = kept[mine]
            rows, positions = ends[mine[chosen]], at[chosen]
            self._claim((topic, partition), positions)
            self._count(topic, partition, time_us[block.invokes[mine[chosen]]], time_us[rows])
            self._divide(topic, partition, process[rows], index[rows], offset[rows])
        is_plain = np.zeros(len(block.events), np.bool_)
        is_plain[block.invokes[kept]] = True
        is_plain[ends[kept]] = True
        rest = np.flatnonzero(~is_plain & ~block.carried)
        self._events += len(rest)
        self._values.append(np.unique(value[rest]))
        self._keys.append(np.unique(block.keys[rest]))
        events = block.events.take(pa.array(rest))
        self._set_apart_at_offsets(events)
        return events

    def result(self) -> FileFold:
        """Return the result of the file."""
        counted = pa.concat_tables(self._counted) if self._counted else None
        keys = np.unique(np.concatenate([*self._keys, self._apart.keys]))
        return FileFold(
            claims={name: np.packbits(claimed) for name, claimed in self._claimed.items()},
            counted=None if counted is None else _grouped(counted),
            stretches=self._stretches,
            apart=SetApart(np.unique(np.concatenate([*self._values, self._apart.values])), keys[keys >= 0]),
            events=self._events,
        )  # fmt: skip

    def _claim(self, name: TopicPartition, positions: Ints) -> None:
        claimed, log = self._claimed[name], self._logs.partitions[name]
        again = claimed[positions]
        ordered = np.sort(positions)
        self._values += [log.values[positions[again]], log.values[ordered[1:][ordered[1:] == ordered[:-1]]]]
        claimed[positions] = True

    def _count(self, topic: str, partition: int, invoke_us: Ints, complete_us: Ints) -> None:
        counted = pa.table({"invoke_us": invoke_us, "complete_us": complete_us})
        counted = counted.group_by(["invoke_us", "complete_us"]).aggregate([([], "count_all")])
        count = len(counted)
        self._counted.append(
            pa.table(
                {
                    "topic": pa.repeat(topic, count),
                    "partition": np.full(count, partition, np.int32),
                    "invoke_us": counted["invoke_us"],
                    "complete_us": counted["complete_us"],
                    "count": counted["count_all"],
                }
            )
        )

    def _divide(self, topic: str, partition: int, process: Any, index: Ints, offset: Ints) -> None:
        """Divide each process's sends, in the order of their indexes, where their offsets ascend."""
        starts = np.flatnonzero(np.diff(process, prepend=-1))
        for first, end in zip(starts.tolist(), [*starts[1:].tolist(), len(process)], strict=False):
            group = int(process[first]), topic, partition
            indexes, offsets = index[first:end], offset[first:end]
            placed = self._apart.placed.get(group)
            if placed is not None:
                inside = (placed[0] > indexes[0]) & (placed[0] < indexes[-1])
                at = np.searchsorted(indexes, placed[0][inside])
                indexes, offsets = np.insert(indexes, at, placed[0][inside]), np.insert(offsets, at, placed[1][inside])
            self._stretches.setdefault(group, []).extend(stretches_of(indexes, offsets))

    def _set_apart_at_offsets(self, events: pa.Table) -> None:
        """Set apart the values at offsets that sends which are set apart were acknowledged at."""
        acked = events.filter(pc.equal(events["type"].cast(pa.string()), EventType.OK.value))
        for (topic, partition), log in self._logs.partitions.items():
            mine = acked.filter((pc.field("topic") == topic) & (pc.field("partition") == partition))
            offsets = mine["offset"].to_numpy()
            at = log.positions_of(offsets)
            self._values.append(log.values[at[at >= 0]])


def _grouped(counted: pa.Table) -> pa.Table:
    """Join equal groups; to have at most _GROUPS_MAX, the times of sending are rounded down as far as it takes.

    A latency keeps two digits then: it is reported, while the times only show pauses.
    """
    unit_us = 1
    while True:
        grouped = counted.group_by(_COUNTED).aggregate([("count", "sum")]).rename_columns([*_COUNTED, "count"])
        if len(grouped) <= _GROUPS_MAX or unit_us >= _UNIT_MAX_US:
            return grouped.sort_by([(name, "ascending") for name in _COUNTED])
        unit_us *= 10
        invoke_us = grouped["invoke_us"].to_numpy()
        latency_us = np.maximum(grouped["complete_us"].to_numpy() - invoke_us, 1)
        step_us = 10 ** np.maximum(np.log10(latency_us).astype(np.int64) - 1, 0)
        rounded = {"invoke_us": invoke_us // unit_us * unit_us}
        rounded["complete_us"] = rounded["invoke_us"] + latency_us // step_us * step_us
        for name, times in rounded.items():
            grouped = grouped.set_column(grouped.column_names.index(name), name, pa.array(times))
        counted = grouped


def _contains(ordered: Ints, values: Ints) -> Bools:
    if not len(ordered):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    found: Bools = ordered[at] == values
    return found
