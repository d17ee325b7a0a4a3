"""Judges a history that is a table of sends: each partition by itself, so that it is the unit of work of every engine.

A send belongs to one partition, and without polls and transactions no check looks beyond it, with one exception: the
cycles of `G0-process` and `G0-realtime`, which are always permitted, are those within a partition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from broker_scenarios.errors import ScenarioError
from broker_scenarios.garbage import without_collections
from broker_scenarios.histories.history_verdict import HistoryVerdict
from broker_scenarios.histories.judge import (
    add_log,
    is_table,
    judge_history,
    read_logs,
    sorted_findings,
)
from broker_scenarios.histories.neutral_fold import NeutralFold
from broker_scenarios.history import NO_OFFSET, LogRecord
from broker_scenarios.operations import split_key
from broker_scenarios.verdict import Validity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from broker_scenarios.arrow.send_table import TablePart
    from broker_scenarios.histories.circumstances import Circumstances
    from broker_scenarios.operations import Op

__all__ = ["AddLogs", "TableJudge", "add_table", "judge_table"]

AddLogs: TypeAlias = Callable[["NeutralFold"], None]
"""Adds what the log of one partition holds to its fold."""
_VALUES_END: Final = 2**63
"""The values of a table are below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableJudge:
    """Judges one partition after another of a table. Times are microseconds of the clock of the table."""

    history: str
    """The path of the table, for messages."""
    circumstances: Circumstances
    begin_us: int
    end_us: int

    def part(self, key: str, operations: Iterable[Op], numbers: Mapping[int, int], add_logs: AddLogs) -> HistoryVerdict:
        """Judge the operations of a partition, in the order of their times; `numbers` has that of each send by its `i`.

        Raises:
            HistoryError: an operation does not fit those before it.
            ScenarioError: the logs are malformed.
        """
        circumstances = self._circumstances_of(key)
        fold = NeutralFold(circumstances.partitions)
        with without_collections():
            for op in operations:
                fold.add(op, f"{self.history}: event {op.index}")
            for call in fold.calls:
                for send in call.sends:
                    send.index = numbers[call.index]
            add_logs(fold)
            fold.start_us, fold.end_us = 0, self.end_us - self.begin_us
            verdict = judge_history(fold.whole(circumstances), circumstances)
        # Calls and their sends refer to each other: the memory of partition after partition would add up.
        for call in fold.calls:
            call.sends = ()
        return verdict

    def merged(self, verdicts: Mapping[str, HistoryVerdict]) -> HistoryVerdict:
        """Return the verdict on the whole table from those on its partitions, by their keys."""
        parts = dict(verdicts)
        for key in self.circumstances.limits.healthy or ():
            if key not in parts:
                parts[key] = self.part(key, (), {}, lambda _: None)
        ordered = [parts[key] for key in sorted(parts)]
        validities = {part.validity for part in ordered}
        worst = (Validity.BROKEN, Validity.UNKNOWN, Validity.VALID)
        return HistoryVerdict(
            validity=next(each for each in worst if each in validities),
            findings=tuple(sorted_findings(finding for part in ordered for finding in part.findings)),
            unknown=tuple(dict.fromkeys(reason for part in ordered for reason in part.unknown)),
            calls=sum(part.calls for part in ordered),
        )

    def _circumstances_of(self, key: str) -> Circumstances:
        limits = self.circumstances.limits
        if limits.healthy is None:
            return self.circumstances
        healthy = [each for each in limits.healthy if each == key]
        return replace(self.circumstances, limits=replace(limits, healthy=healthy))


def judge_table(history: Path, circumstances: Circumstances, logs: Path | Mapping[str, Any] | None) -> HistoryVerdict:
    """Judge a table of sends in this process; memory holds the columns, and the objects of one partition.

    Raises:
        ScenarioError: an input is malformed (HistoryError for the history).
    """
    # pyarrow is not installed everywhere.
    from broker_scenarios.arrow.result_table import logs_table
    from broker_scenarios.arrow.send_table import (
        SendTable,
        operations_of,
        read_logs_table,
        read_send_table,
        send_numbers,
    )

    events = read_send_table(history)
    where = str(logs) if isinstance(logs, Path) else "logs"
    held: Mapping[str, Any] = {}
    if isinstance(logs, Path) and is_table(logs):
        log_rows = read_logs_table(logs)
    else:
        held = read_logs(logs) if isinstance(logs, Path) else logs or {}
        log_rows = logs_table(_records(held, where))
    table = SendTable(events, log_rows)
    begin_us, end_us = table.span_us()
    judge = TableJudge(history=str(history), circumstances=circumstances, begin_us=begin_us, end_us=end_us)
    verdicts: dict[str, HistoryVerdict] = {}
    for part in table.parts():
        if isinstance(logs, Path) and is_table(logs):
            add_logs: AddLogs = partial(add_table, part, where)
        else:
            add_logs = partial(_add_json, part.key, held, where)
        operations = operations_of(part.events, part.key, begin_us)
        verdicts[part.key] = judge.part(part.key, operations, send_numbers(part.events), add_logs)
    for key in held:
        if key not in verdicts:
            verdicts[key] = judge.part(key, (), {}, partial(_add_json, key, held, where))
    return judge.merged(verdicts)


def add_table(part: TablePart, where: str, fold: NeutralFold) -> None:
    """Add what the table of logs has of a partition. A partition without a row in it is empty."""
    from broker_scenarios.arrow.send_table import add_records

    add_records(fold.analysis_of(part.key, where, "logs"), part.logs)


def _add_json(key: str, held: Mapping[str, Any], where: str, fold: NeutralFold) -> None:
    if key in held:
        add_log(fold, key, held[key], where)


def _records(held: Mapping[str, Any], where: str) -> Iterator[LogRecord]:
    """Return the values by which the partition of a send is found; the checks read the logs themselves."""
    for key, records in held.items():
        try:
            topic, partition = split_key(key)
        except ValueError as error:
            raise ScenarioError(f"{where}: {error}") from None
        for record in records if isinstance(records, list) else ():
            value = record[1] if isinstance(record, list) and len(record) > 1 else None
            if type(value) is int and -_VALUES_END <= value < _VALUES_END:
                yield LogRecord(topic, partition, NO_OFFSET, value)
