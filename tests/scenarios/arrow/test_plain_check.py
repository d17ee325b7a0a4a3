"""A divided history has the results of the whole one: the same findings, and the same counts."""

from __future__ import annotations

from collections import Counter
from itertools import count, islice
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from broker_scenarios.arrow.history_table import history_batch, read_history
from broker_scenarios.arrow.plain_check import divide
from broker_scenarios.arrow.result_table import log_records, logs_table
from broker_scenarios.checks.partition_check import check_all
from broker_scenarios.findings import CheckResult, Outcome
from broker_scenarios.history import EventType, HistoryEvent, HistoryRecorder, LogRecord

if TYPE_CHECKING:
    from pathlib import Path

FATES = ("lost", "lost suffix", "doubled", "moved", "late", "overtaking", "fail", "fail stored", "info", "info stored",
         "open", "resent", "twice completed", "cut off", "other offset", "foreign", "no offset")  # fmt: skip


class Run:
    """Writes a history of several processes, correct but for the fates that are drawn."""

    def __init__(self, seed: int, fates: tuple[str, ...], share: float) -> None:
        self.chance = Random(seed)
        self.recorder = HistoryRecorder("run-1")
        self.logs: list[LogRecord] = []
        self.used: dict[tuple[str, int], set[int]] = {place: set() for place in [("a", 0), ("a", 1), ("b", 0)]}
        self.indexes = dict.fromkeys(range(3), -1)
        self.now_us = 0
        for value_id in range(160):
            fate = self.chance.choice(fates) if fates and self.chance.random() < share else "kept"
            self.send(value_id, fate)

    def next_offset(self, topic: str, partition: int, *, ahead: int) -> int:
        """The free offset of that number; one that is passed over is used by a later record."""
        used = self.used[topic, partition]
        free = (offset for offset in count() if offset not in used)
        offset = next(islice(free, ahead - 1, None))
        used.add(offset)
        return offset

    def send(self, value_id: int, fate: str) -> None:
        process = self.chance.randrange(3)
        topic, partition = self.chance.choice(list(self.used))
        self.indexes[process] += 1
        self.now_us += 10
        fields: dict[str, Any] = {"process": process, "producer_id": process, "index": self.indexes[process],
                                  "topic": topic, "value_id": value_id, "size_bytes": 100, "key": b"k"}  # fmt: skip
        self.recorder.record(EventType.INVOKE, time_us=self.now_us, **fields)
        if fate == "open":
            return
        offset = self.next_offset(topic, partition, ahead=4 if fate == "overtaking" else 1)
        acked = {"other offset": max(offset - 1, 0), "no offset": -1}.get(fate, offset)
        event = {"fail": EventType.FAIL, "info": EventType.INFO}.get(fate.split(maxsplit=1)[0], EventType.OK)
        known = partition if event is EventType.OK else -1
        for _ in range(2 if fate == "twice completed" else 1):
            self.recorder.record(
                event, time_us=self.now_us + 5, partition=known, offset=acked if known >= 0 else -1, **fields
            )
        stored = LogRecord(topic, partition, offset, value_id)
        if fate in {"lost", "fail", "info"}:
            return
        if fate == "cut off":
            self.logs.append(stored._replace(truncated=True))
        elif fate == "moved":
            self.logs.append(stored._replace(topic="b", partition=0, offset=offset + 500))
        elif fate == "late":
            self.logs.append(stored._replace(offset=offset + 1_000))
        elif fate == "foreign":
            self.logs += [stored, stored._replace(offset=offset + 2_000, value_id=value_id + 100_000)]
        else:
            self.logs += [stored, stored._replace(offset=offset + 3_000)] if fate == "doubled" else [stored]
        if fate == "resent":
            self.send(value_id, "kept")


def divided(folder: Path, history: list[HistoryEvent], logs: list[LogRecord]) -> tuple[CheckResult, int]:
    """Check with several files of few events per row group; return the result and how many events were checked."""
    (folder / "history").mkdir()
    (folder / "rest").mkdir()
    for number in range(2):
        mine = [event for event in history if event.process % 2 == number]
        table = pa.Table.from_batches([history_batch(mine)])
        pq.write_table(table, folder / "history" / f"{number}.parquet", row_group_size=61)
    pq.write_table(logs_table(logs), folder / "logs.parquet")
    found = divide(
        folder / "history", folder / "logs.parquet", folder / "rest", lambda fold, count: list(map(fold, range(count)))
    )
    events = [] if found.events is None else read_history(found.events)
    result = check_all(events, log_records(found.logs))
    result.records += found.plain
    result.sort()
    return result, len(events)


def counts(result: CheckResult) -> Counter[tuple[Any, ...]]:
    counted: Counter[tuple[Any, ...]] = Counter()
    for each in result.records:
        place = each.topic, each.partition, each.outcome, each.copies, each.lost, each.duplicated, each.reordered
        counted[(*place, each.invoke_us, each.complete_us, each.error)] += each.count
    return counted


@pytest.mark.parametrize("share", [0.02, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_divided_history_has_the_results_of_the_whole(tmp_path: Path, seed: int, share: float) -> None:
    run = Run(seed, FATES, share)
    history = run.recorder.drain()
    whole = check_all(history, run.logs)
    whole.sort()
    result, _ = divided(tmp_path, history, run.logs)
    assert result.findings == whole.findings
    assert result.crashes == whole.crashes
    assert counts(result) == counts(whole)


def test_plain_sends_are_counted_and_not_checked(tmp_path: Path) -> None:
    run = Run(1, (), 0)
    result, checked = divided(tmp_path, run.recorder.drain(), run.logs)
    assert checked == 0
    assert not result.findings
    assert sum(each.count for each in result.records) == 160
    assert {each.outcome for each in result.records} == {Outcome.ACKED}


def test_a_lost_record_does_not_set_its_neighbours_apart(tmp_path: Path) -> None:
    run = Run(2, ("lost",), 0.02)
    result, checked = divided(tmp_path, run.recorder.drain(), run.logs)
    assert checked == 2 * len(result.findings) > 0


def test_a_record_out_of_order_is_set_apart_with_those_that_it_overtook(tmp_path: Path) -> None:
    run = Run(3, (), 0)
    history = run.recorder.drain()
    group = [event for event in history if event.type == "ok" and (event.process, event.topic) == (1, "b")]
    swapped = {group[3].value_id: group[4].offset, group[4].value_id: group[3].offset}
    for event in group:
        event.offset = swapped.get(event.value_id, event.offset)
    logs = [each._replace(offset=swapped.get(int(each.value_id), each.offset)) for each in run.logs]
    result, checked = divided(tmp_path, history, logs)
    assert [(finding.kind, finding.process) for finding in result.findings] == [("nonmonotonic-send", 1)]
    assert checked == 4


def test_a_malformed_history_is_a_crash_as_in_the_whole(tmp_path: Path) -> None:
    run = Run(4, (), 0)
    history = run.recorder.drain()
    result, _ = divided(tmp_path, [*history, history[0]], run.logs)
    assert [crash.detail for crash in result.crashes] == [
        f"HistoryError: {history[0].topic}: process {history[0].process} invokes send 0 twice"
    ]
