"""A history as Parquet files, divided into plain sends, which are counted, and the others, which the checks fold.

Each file is read once if all sends are plain, otherwise until no further send has to be set apart (plain_sends).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from broker_scenarios.arrow.history_table import HISTORY_SCHEMA, parquet_files, read_table
from broker_scenarios.arrow.log_columns import LogColumns
from broker_scenarios.arrow.plain_sends import FileFold, SetApart, fold_file
from broker_scenarios.arrow.result_table import LOGS_SCHEMA
from broker_scenarios.arrow.send_order import Stretch, disordered_ranges, inside_ranges, joined_ranges
from broker_scenarios.findings import Outcome, RecordResult
from broker_scenarios.history import NO_OFFSET, EventType
from protocol_specs.records.columnar.arrays import np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from broker_scenarios.arrow.plain_sends import Group

    Ints = NDArray[np.int64]
    FoldAll = Callable[[Callable[[int], FileFold], int], list[FileFold]]

__all__ = ["DividedHistory", "divide"]

_NO_VALUE: Final = -1
"""The value and the process of a result that stands for several records."""
_ROUNDS_MAX: Final = 8
"""The most times that a history is read to find what has to be set apart; beyond it, everything is."""
_PLACED_COLUMNS: Final = ["type", "process", "index", "topic", "value_id"]


@dataclass(frozen=True, slots=True)
class DividedHistory:
    """The events and log rows that the checks fold, and the results of the plain sends."""

    events: Path | None
    """The folder of the events that are no plain sends; None if all are."""
    logs: pa.Table
    """The log rows that no plain send explains."""
    plain: list[RecordResult]
    """One result for the plain sends of a partition with the same times."""


def divide(history: Path, logs: Path, folder: Path, fold_all: FoldAll) -> DividedHistory:
    """Divide a history and its logs, both as Parquet. `folder` gets the events that are set apart.

    `fold_all` calls a function with each number below a count, in this process or in others, and returns the results.

    Raises:
        HistoryError: a file cannot be read.
    """
    files = [path for path, _ in parquet_files(history, "history", HISTORY_SCHEMA)]
    columns = LogColumns.read(logs)
    apart, placed = SetApart(), 0
    for number in range(_ROUNDS_MAX):
        rest = folder / str(number) if len(apart) else None
        if rest is not None:
            rest.mkdir()
        folds = fold_all(_fold_of(files, logs, apart, rest), len(files))
        grown, claims = _merged(folds, columns, apart)
        left = _unclaimed(columns, claims)
        if len(grown) > len(apart):
            apart = grown
        elif rest is None or placed == len(apart):
            return DividedHistory(rest, left, list(_counted(folds)))
        else:
            placed = len(apart)
            apart = _with_places(apart, read_table(rest, "history", HISTORY_SCHEMA, _PLACED_COLUMNS), left)
    return DividedHistory(history, read_table(logs, "logs", LOGS_SCHEMA, LOGS_SCHEMA.names), [])


def _fold_of(files: list[Path], logs: Path, apart: SetApart, rest: Path | None) -> Callable[[int], FileFold]:
    def fold(number: int) -> FileFold:
        return fold_file(files[number], logs, apart, rest and rest / f"part-{number:05}.parquet")

    return fold


def _merged(folds: Iterable[FileFold], logs: LogColumns, apart: SetApart) -> tuple[SetApart, dict[Any, Any]]:
    """Return the sends that have to be set apart now, and how often each record of each log is claimed."""
    claims = {name: np.zeros(len(log.values), np.uint8) for name, log in logs.partitions.items()}
    values, keys = [apart.values], [apart.keys]
    stretches: dict[Group, list[Stretch]] = {}
    for fold in folds:
        for name, bits in fold.claims.items():
            claims[name] += np.unpackbits(bits, count=len(claims[name]))
        values.append(fold.apart.values)
        keys.append(fold.apart.keys)
        for group, mine in fold.stretches.items():
            stretches.setdefault(group, []).extend(mine)
    for name, count in claims.items():
        values.append(logs.partitions[name].values[count > 1])
    ranges = dict(apart.ranges)
    for group, mine in stretches.items():
        found = disordered_ranges(_with_placed(mine, apart.placed.get(group)))
        if len(found):
            ranges[group] = joined_ranges(ranges.get(group, found), found)
    merged = SetApart(np.unique(np.concatenate(values)), np.unique(np.concatenate(keys)), ranges)
    return merged, claims


def _with_placed(stretches: list[Stretch], placed: tuple[Ints, Ints] | None) -> list[Stretch]:
    """Add the sends that are set apart and that no stretch includes."""
    if placed is None:
        return stretches
    ranges = joined_ranges(
        np.array([(each.first_index, each.last_index + 1) for each in stretches], np.int64).ravel(),
        np.zeros(0, np.int64),
    )
    outside = ~inside_ranges(ranges, placed[0])
    pairs = zip(placed[0][outside].tolist(), placed[1][outside].tolist(), strict=True)
    return [*stretches, *(Stretch(index, index, offset, offset, is_ordered=True) for index, offset in pairs)]


def _unclaimed(logs: LogColumns, claims: dict[Any, Any]) -> pa.Table:
    """Return the rows of the logs that no plain send explains."""
    parts = [logs.truncated]
    for (topic, partition), log in logs.partitions.items():
        left = np.flatnonzero(claims[topic, partition] == 0)
        parts.append(
            pa.table(
                {
                    "topic": pa.repeat(topic, len(left)),
                    "partition": np.full(len(left), partition, np.int32),
                    "offset": log.offsets_at(left),
                    "value_id": log.values[left],
                    "truncated": np.zeros(len(left), np.bool_),
                },
                schema=LOGS_SCHEMA,
            )
        )
    return pa.concat_tables(parts)


def _with_places(apart: SetApart, events: pa.Table, logs: pa.Table) -> SetApart:
    """Add the places of the sends that are set apart: of the events and of the log rows that are."""
    held = logs.filter(pc.invert(logs["truncated"])).group_by(["topic", "value_id", "partition"])
    invokes = events.filter(pc.equal(events["type"], EventType.INVOKE.value))
    found = invokes.select(["process", "index", "topic", "value_id"]).join(
        held.aggregate([("offset", "min")]), ["topic", "value_id"], join_type="inner"
    )
    placed: dict[Group, tuple[Ints, Ints]] = {}
    groups = found.group_by(["process", "topic", "partition"]).aggregate([("index", "list"), ("offset_min", "list")])
    for place in groups.to_pylist():
        order = np.argsort(place["index_list"])
        arrays = np.array(place["index_list"], np.int64)[order], np.array(place["offset_min_list"], np.int64)[order]
        placed[place["process"], place["topic"], place["partition"]] = arrays
    return SetApart(apart.values, apart.keys, apart.ranges, placed)


def _counted(folds: Iterable[FileFold]) -> Iterator[RecordResult]:
    """Return the plain sends of all files: one result for those of a partition with the same times."""
    for fold in folds:
        for group in () if fold.counted is None else fold.counted.to_pylist():
            yield RecordResult(
                topic=group["topic"],
                partition=group["partition"],
                value_id=_NO_VALUE,
                process=_NO_VALUE,
                producer_id=_NO_VALUE,
                index=_NO_VALUE,
                outcome=Outcome.ACKED,
                invoke_us=group["invoke_us"],
                complete_us=group["complete_us"],
                ack_offset=NO_OFFSET,
                copies=1,
                lost=False,
                duplicated=False,
                reordered=False,
                count=group["count"],
            )
