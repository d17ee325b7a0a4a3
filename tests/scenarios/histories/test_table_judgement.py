"""A table of sends, judged partition by partition: it has the findings of the whole history, at the planted places."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.planted_anomalies import differences, places_of
from benchmarks.planted_history import FOREIGN_VALUES, KINDS, PROMISES, Place, write_planted_history
from broker_scenarios.arrow.history_table import write_history
from broker_scenarios.arrow.result_table import logs_table
from broker_scenarios.arrow.send_table import SendTable, operations_of, read_logs_table, read_send_table
from broker_scenarios.cli import main
from broker_scenarios.errors import ScenarioError
from broker_scenarios.findings import FindingKind
from broker_scenarios.histories.judge import check_history
from broker_scenarios.history import LogRecord

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.histories.history_verdict import HistoryVerdict
    from tests.scenarios.conftest import Story

EVENTS, ANOMALIES = 4_000, 30


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Place]]:
    folder = tmp_path_factory.mktemp("planted")
    broken, recovered = write_planted_history(folder, events=EVENTS, anomalies=ANOMALIES, seed=5)
    return folder, broken + recovered


def facts(verdict: HistoryVerdict) -> list[Any]:
    """The findings without cycles, which have other components in a part of a history."""
    return [each.as_json() for each in verdict.findings if not each.name.startswith("G0")]


def json_logs(folder: Path) -> dict[str, list[list[int]]]:
    found: dict[str, list[list[int]]] = {}
    for row in pq.read_table(folder / "logs").sort_by("offset").to_pylist():
        found.setdefault(f"{row['topic']}-{row['partition']}", []).append([row["offset"], row["value_id"]])
    return found


def test_all_planted_anomalies_are_found_and_no_others(planted: tuple[Path, list[Place]]) -> None:
    folder, places = planted
    verdict = check_history(folder / "history", PROMISES, folder / "logs")
    assert differences(places_of(verdict.as_json()), places) == []
    assert {place.name for place in places} == {*map(str, KINDS), FindingKind.RECOVERED}
    assert (verdict.calls, verdict.unknown) == (EVENTS // 2, ())


def test_each_partition_by_itself_has_the_findings_of_the_whole_history(planted: tuple[Path, list[Place]]) -> None:
    folder, _ = planted
    table = SendTable(read_send_table(folder / "history"), read_logs_table(folder / "logs"))
    operations = [op for part in table.parts() for op in operations_of(part.events, part.key, table.span_us()[0])]
    operations.sort(key=lambda op: (op.time_ms, op.type != "invoke", op.index))
    whole = check_history(operations, PROMISES, json_logs(folder))
    assert facts(whole) == facts(check_history(folder / "history", PROMISES, folder / "logs"))


def test_logs_may_be_json_and_the_order_of_the_rows_is_of_no_importance(
    planted: tuple[Path, list[Place]], tmp_path: Path
) -> None:
    folder, places = planted
    (tmp_path / "logs.json").write_text(json.dumps(json_logs(folder)))
    history = pq.read_table(folder / "history")
    pq.write_table(history.take(pa.array(range(len(history) - 1, -1, -1))), tmp_path / "history.parquet")
    verdict = check_history(tmp_path / "history.parquet", PROMISES, tmp_path / "logs.json").as_json()
    renamed = [place._replace(rows=tuple(len(history) - 1 - row for row in place.rows)) for place in places]
    assert differences(places_of(verdict), renamed) == []


def test_a_difference_is_missed_or_invented() -> None:
    place, other = Place("lost-write", "orders-0", (1,), ()), Place("duplicate", "orders-0", (1,), ())
    assert differences([place, place], [place, other]) == [f"missed: {other}", f"invented: {place}"]


def test_too_few_events_for_the_anomalies_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"30 anomalies need 3,280 events or more, not 3,000"):
        write_planted_history(tmp_path, events=3_000, anomalies=30, seed=0)


def logs_file(folder: Path, *records: LogRecord) -> Path:
    pq.write_table(logs_table(records), folder / "logs.parquet")
    return folder / "logs.parquet"


def test_a_record_that_a_replica_cut_off_explains_its_offset(tmp_path: Path, story: Story) -> None:
    write_history(tmp_path / "history.parquet", story.acked(1).history())
    again, cut = LogRecord("orders", 0, 7, 1), LogRecord("orders", 0, 0, 1, truncated=True)
    logs = logs_file(tmp_path, again)
    verdict = check_history(tmp_path / "history.parquet", {}, logs)
    assert [each.name for each in verdict.findings] == ["offset-oracle"]
    assert check_history(tmp_path / "history.parquet", {}, logs_file(tmp_path, again, cut)).findings == ()


def test_a_partition_without_a_row_in_the_logs_is_empty(tmp_path: Path, story: Story) -> None:
    write_history(tmp_path / "history.parquet", story.acked(1).history())
    verdict = check_history(tmp_path / "history.parquet", {}, logs_file(tmp_path, LogRecord("other", 3, 0, 9)))
    assert [(each.name, each.key) for each in verdict.findings] == [
        ("lost-write", "orders-0"),
        ("misdelivered", "other-3"),
    ]


def test_a_healthy_partition_without_events_is_not_alive(tmp_path: Path, story: Story) -> None:
    events = story.acked(1).history()
    write_history(tmp_path / "history.parquet", events)
    deadline_ms = (events[-1].time_us - events[0].time_us) / 1_000
    promises = {"liveness.deadline.ms": deadline_ms, "healthy": ["orders-0", "orders-4"]}
    found = check_history(tmp_path / "history.parquet", promises).found("liveness")
    assert [each.key for each in found] == ["orders-4"]


def test_logs_of_a_partition_that_is_not_promised_are_refused(tmp_path: Path, story: Story) -> None:
    write_history(tmp_path / "history.parquet", story.acked(1).history())
    logs = logs_file(tmp_path, LogRecord("orders", 3, 0, FOREIGN_VALUES))
    with pytest.raises(ScenarioError, match=r"logs\.parquet: 'logs': 'orders-3' is not among the promised topics"):
        check_history(tmp_path / "history.parquet", {"topics": {"orders": 2}}, logs)


@pytest.mark.parametrize(
    ("history", "logs", "options", "problem"),
    [
        ("history.jsonl", "logs.parquet", (), "a table of logs belongs to a history that is a table"),
        ("history.jsonl", None, ("--spark",), "history.jsonl (the history) is no table"),
        ("history.parquet", "logs.json", ("--spark",), "logs.json (--logs) is no table"),
        ("history.parquet", "missing", ("--spark",), "missing (--logs): no such file or folder"),
        ("history.parquet", None, ("--master", "local[2]"), "--master local[2,4] is for Spark"),
    ],
)
def test_a_file_of_another_form_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], history: str, logs: str | None, options: Any, problem: str
) -> None:
    (tmp_path / "promises.json").write_text("{}")
    for name in ("history.jsonl", "history.parquet", "logs.json", "logs.parquet"):
        (tmp_path / name).touch()
    files = [str(tmp_path / history), "--promises", str(tmp_path / "promises.json")]
    files += [] if logs is None else ["--logs", str(tmp_path / logs)]
    assert main(["check", *files, *options]) == 2
    assert problem in capsys.readouterr().err


def test_the_text_names_the_rows_of_a_finding(
    planted: tuple[Path, list[Place]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, places = planted
    (tmp_path / "promises.json").write_text(json.dumps(PROMISES))
    files = [str(folder / "history"), "--promises", str(tmp_path / "promises.json"), "--logs", str(folder / "logs")]
    assert main(["check", *files]) == 1
    place = next(each for each in places if each.name == FindingKind.NONMONOTONIC_SEND)
    event = pq.read_table(folder / "history").slice(place.rows[0], 1).to_pylist()[0]
    line = {"i": place.rows[0], "process": event["process"], "type": "ok", "f": "send"}
    mops = [["send", place.key, [event["offset"], event["value_id"]]]]
    shown = json.dumps({**line, "mops": mops, "t_ms": event["time_us"] / 1_000})
    assert f"    {shown}\n" in capsys.readouterr().out
