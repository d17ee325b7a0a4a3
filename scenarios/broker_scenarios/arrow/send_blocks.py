"""The sends of a history file, block by block: invokes joined with their completions without an object per event.

A send is plain if it has one invoke and one completion `ok`, with a partition and an offset, and if the log holds its
value there and nowhere else. A completion that does not follow its invoke in the file, as in histories of other
programs, makes a send not plain, never wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from broker_scenarios.history import EventType
from protocol_specs.records.columnar.arrays import np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from broker_scenarios.arrow.log_columns import LogColumns
    from broker_scenarios.checks.analysis import TopicPartition

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

__all__ = ["JOINED_COLUMNS", "SendBlock", "send_blocks"]

JOINED_COLUMNS: Final = ["process", "index", "type", "time_us", "topic", "partition", "value_id", "offset"]
"""The columns of HISTORY_SCHEMA that the join needs."""
_INDEX_BITS: Final = 40
_TYPES: Final = pa.array([EventType.INVOKE.value, EventType.OK.value])


@dataclass(frozen=True, slots=True)
class SendBlock:
    """The events of one block, and which of them are plain sends."""

    events: pa.Table
    """The events that were not in an earlier block, and the open invokes of those."""
    invokes: Ints
    """The rows of the invokes of plain sends."""
    completions: Ints
    """The rows of their completions, in the same order."""
    keys: Ints
    """Process and index of each event, as one number; -1 where they do not fit into one."""
    places: dict[TopicPartition, tuple[Ints, Ints]]
    """For each partition which of the plain sends are in it, and where its log has them."""
    carried: Bools
    """The events that come again with the next block."""

    def column(self, name: str) -> Any:
        """Return a column as a numpy array."""
        return self.events[name].to_numpy()


def _keys(processes: Any, indexes: Any) -> Ints:
    """Return process and index as one number; -1 where they do not fit."""
    process, index = processes.astype(np.int64), indexes.astype(np.int64)
    fits = (process >= 0) & (process < 1 << 22) & (index >= 0) & (index < 1 << _INDEX_BITS)
    return np.where(fits, process << _INDEX_BITS | index, -1)


def send_blocks(path: Path, logs: LogColumns, columns: list[str]) -> Iterator[SendBlock]:
    """Read these columns of a Parquet file of a history."""
    carried: pa.Table | None = None
    with pq.ParquetFile(path, read_dictionary=["type", "topic"]) as file:
        groups = file.num_row_groups
        for number in range(groups):
            fresh = file.read_row_group(number, columns=columns)
            events = fresh if carried is None else pa.concat_tables([carried, fresh])
            block = _block(events.unify_dictionaries().combine_chunks(), logs, is_last=number == groups - 1)
            carried = events.filter(pa.array(block.carried))
            yield block


def _block(events: pa.Table, logs: LogColumns, *, is_last: bool) -> SendBlock:
    types = _codes(events["type"], _TYPES)
    keys = _keys(events["process"].to_numpy(), events["index"].to_numpy())
    invokes, completions = np.flatnonzero((types == 0) & (keys >= 0)), np.flatnonzero((types != 0) & (keys >= 0))
    invokes, completions = _sorted(invokes, keys), _sorted(completions, keys)
    single = _only_once(keys[invokes]), _only_once(keys[completions])
    at = np.searchsorted(keys[invokes], keys[completions])
    inside = np.minimum(at, max(len(invokes) - 1, 0))
    paired = np.zeros(len(completions), np.bool_)
    if len(invokes):
        paired = keys[invokes][inside] == keys[completions]
    has_completion = np.zeros(len(events), np.bool_)
    has_completion[invokes[inside[paired]]] = True
    carried = (types == 0) & ~has_completion & (not is_last)
    plain = paired & single[1] & (types[completions] == 1)
    if len(invokes):
        plain &= single[0][inside]
    completions = completions[plain]
    invokes = invokes[inside[plain]]
    topics = events["topic"].combine_chunks()
    names = topics.dictionary.to_pylist()
    topic, value = topics.indices.to_numpy(), events["value_id"].to_numpy()
    same = (topic[invokes] == topic[completions]) & (value[invokes] == value[completions])
    invokes, completions = invokes[same], completions[same]
    kept = np.zeros(len(completions), np.bool_)
    positions = np.full(len(completions), -1, np.int64)
    partition, offset = events["partition"].to_numpy(), events["offset"].to_numpy()
    own = partition[completions]
    for name, log in logs.partitions.items():
        if name[0] not in names:
            continue
        mine = np.flatnonzero((own == name[1]) & (topic[completions] == names.index(name[0])))
        at = log.positions_of(offset[completions[mine]])
        positions[mine] = np.where((at >= 0) & (log.values[at] == value[completions[mine]]), at, -1)
    kept = (positions >= 0) & ~_contains(logs.doubtful, value[completions])
    invokes, completions, positions, own = invokes[kept], completions[kept], positions[kept], own[kept]
    places: dict[TopicPartition, tuple[Ints, Ints]] = {}
    for name in logs.partitions:
        if name[0] in names:
            mine = np.flatnonzero((own == name[1]) & (topic[completions] == names.index(name[0])))
            if len(mine):
                places[name] = mine, positions[mine]
    return SendBlock(events, invokes, completions, keys, places, carried)


def _codes(column: pa.ChunkedArray, values: pa.Array) -> Any:
    """Return the place of each event's type in `values`; -1 for another one."""
    array = column.combine_chunks()
    at = pc.index_in(array.dictionary, values).fill_null(-1).to_numpy(zero_copy_only=False)
    return at[array.indices.to_numpy()]


def _sorted(rows: Ints, keys: Ints) -> Ints:
    mine = keys[rows]
    if (mine[1:] >= mine[:-1]).all():
        return rows
    return rows[np.argsort(mine, kind="stable")]


def _only_once(ordered: Ints) -> Bools:
    once = np.ones(len(ordered), np.bool_)
    same = ordered[1:] == ordered[:-1]
    once[1:] &= ~same
    once[:-1] &= ~same
    return once


def _contains(ordered: Ints, values: Ints) -> Bools:
    if not len(ordered):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    found: Bools = ordered[at] == values
    return found
