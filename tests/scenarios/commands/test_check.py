"""`broker-sim check`: the verdict, its findings with their operations, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from broker_scenarios.arrow.history_table import history_batch
from broker_scenarios.cli import main
from broker_scenarios.findings import IN_RUNS, FindingKind
from broker_scenarios.histories.judge import check_history
from broker_scenarios.operations import write_operations
from tests.scenarios.checks.neutral_histories import PROMISES, Book, X

if TYPE_CHECKING:
    from tests.scenarios.conftest import Story

LOST = Book().send(0, (X, 1, 0)).send(0, (X, 2, 1)).finally_poll(1, {X: [(1, 2)]})
READ = Book().send(0, (X, 1, 0)).finally_poll(1, {X: [(0, 1)]})
UNREAD = Book().send(0, (X, 1, 0))


def files(folder: Path, book: Book, logs: Any = None) -> list[str]:
    write_operations(folder / "history.jsonl", book.ops)
    (folder / "promises.json").write_text(json.dumps(PROMISES))
    arguments = [str(folder / "history.jsonl"), "--promises", str(folder / "promises.json")]
    if logs is not None:
        (folder / "logs.json").write_text(json.dumps(logs))
        arguments += ["--logs", str(folder / "logs.json")]
    return arguments


@pytest.mark.parametrize(
    ("book", "status", "verdict"), [(READ, 0, "valid"), (LOST, 1, "broken"), (UNREAD, 3, "unknown")]
)
def test_the_exit_status_is_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], book: Book, status: int, verdict: str
) -> None:
    assert main(["check", *files(tmp_path, book)]) == status
    assert capsys.readouterr().out.startswith(f"{verdict}: ")
    assert main(["check", *files(tmp_path, book), "--json"]) == status
    assert json.loads(capsys.readouterr().out)["verdict"] == verdict


def test_the_text_names_the_operations_of_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", *files(tmp_path, LOST)])
    out = capsys.readouterr().out
    assert (
        "lost-write (1): acknowledged, and in no log at the end, or passed by every reader\n  breaks a promise" in out
    )
    assert '    {"i": 1, "process": 0, "type": "ok", "f": "send", "mops": [["send", "x-0", [0, 1]]], "t_ms": 2}' in out


def test_a_detail_does_not_repeat_the_meaning_of_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", *files(tmp_path, LOST, {X: [[1, 2]]})])
    out = capsys.readouterr().out
    assert "  x-0: 1: offset 0, missing in the log\n" in out
    assert "  x-0: 1: offset 0, missing in the final polls\n" in out


def test_the_json_has_names_values_and_reasons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", *files(tmp_path, LOST, {X: [[1, 2]]}), "--json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [(each["name"], each["values"], each["allowed"]) for each in findings] == [
        ("lost-write", [1], None),
        ("unseen", [1], None),
    ]


def test_what_was_not_judged_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", *files(tmp_path, UNREAD)])
    assert "x-0: 1 acknowledged value not read, without a log or final polls" in capsys.readouterr().out


def test_many_findings_are_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = Book().send(0, *((X, n, n) for n in range(30)))
    main(["check", *files(tmp_path, book.finally_poll(1, {}, X))])
    assert "... and 10 more (--json has all)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ({"x": []}, "is not a partition"),
        ({"x-7": []}, "'logs': 'x-7' is not among the promised topics"),
        ({X: {}}, "expected a list of records or null"),
        ({X: [[0]]}, "expected [offset, value]"),
        ({X: [[-1, 2]]}, "expected an offset"),
        ({X: [[0, None]]}, "expected a value at offset 0"),
        ({X: [[0, 1, {"state": "lost"}]]}, "expected a state"),
        ({X: [[0, 1, {"colour": "red"}]]}, "expected a state"),
        ({X: [[0, 1, 7]]}, "expected a state"),
        ([], "expected an object"),
    ],
)
def test_malformed_logs_are_refused_by_file_and_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], logs: Any, message: str
) -> None:
    assert main(["check", *files(tmp_path, READ, logs)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "logs.json: " in error


def test_a_malformed_history_is_refused_by_file_line_and_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = files(tmp_path, READ)
    with (tmp_path / "history.jsonl").open("a") as lines:
        lines.write('{"i": 9, "process": 7, "type": "ok", "f": "poll", "mops": [], "t_ms": 9}\n')
    assert main(["check", *arguments]) == 2
    assert "history.jsonl:5: 'type': process 7 has no open poll to complete" in capsys.readouterr().err
    (tmp_path / "logs.json").write_text("{")
    assert main(["check", *arguments, "--logs", str(tmp_path / "logs.json")]) == 2
    assert main(["check", *arguments[:2], str(tmp_path / "absent.json")]) == 2


ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "how-to" / "judge-a-history.md"


def test_the_document_names_every_anomaly() -> None:
    named = {kind.value for kind in FindingKind if kind not in IN_RUNS}
    assert named == {name for name in named if f"`{name}`" in DOCUMENT.read_text()}


@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows"])
def test_a_table_of_sends_is_a_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], story: Story, ending: str
) -> None:
    table = pa.Table.from_batches([history_batch(story.acked(1, 2).history())])
    path = tmp_path / f"history.{ending}"
    if ending == "arrows":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    else:
        feather.write_feather(table, path) if ending == "arrow" else pq.write_table(table, path)
    (tmp_path / "promises.json").write_text('{"topics": {"orders": 1}}')
    (tmp_path / "logs.json").write_text('{"orders-0": [[0, 1]]}')
    arguments = ["--promises", str(tmp_path / "promises.json"), "--logs", str(tmp_path / "logs.json")]
    assert main(["check", str(path), *arguments]) == 1
    assert "lost-write (1)" in capsys.readouterr().out


def test_a_table_of_another_harness_has_the_columns_that_the_checks_need_alone(tmp_path: Path, story: Story) -> None:
    table = pa.Table.from_batches([history_batch(story.acked(1, 2).history())])
    needed = table.select(["process", "index", "type", "time_us", "topic", "partition", "value_id", "offset"])
    invoked = pa.array([kind == "invoke" for kind in table["type"].to_pylist()])
    for name in ("partition", "offset"):
        column = pc.if_else(invoked, None, table[name])
        needed = needed.set_column(needed.column_names.index(name), name, column)
    pq.write_table(needed, tmp_path / "history.parquet")
    held = {"topic": ["orders"], "partition": [0], "offset": [0], "value_id": [1]}
    pq.write_table(pa.table(held), tmp_path / "logs.parquet")
    verdict = check_history(tmp_path / "history.parquet", {"topics": {"orders": 1}}, tmp_path / "logs.parquet")
    assert [(each.name, each.values) for each in verdict.findings] == [("lost-write", (2,))]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda table: table.drop(["offset"]), "has no column offset"),
        (
            lambda table: table.set_column(11, "offset", pa.array(["x"] * len(table))),
            "column 'offset' has another type than int64",
        ),
        (lambda table: table.set_column(4, "type", pa.array(["okay"] * len(table))), "expected one of invoke, ok"),
        (lambda table: table.slice(0, 0), "the history has no operations"),
    ],
)
def test_a_table_that_is_no_history_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], story: Story, change: Any, problem: str
) -> None:
    path = tmp_path / "history.parquet"
    pq.write_table(change(pa.Table.from_batches([history_batch(story.acked(1).history())])), path)
    (tmp_path / "promises.json").write_text("{}")
    assert main(["check", str(path), "--promises", str(tmp_path / "promises.json")]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1


def test_a_file_without_operations_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *files(tmp_path, Book())]) == 2
    assert "the history has no operations" in capsys.readouterr().err
