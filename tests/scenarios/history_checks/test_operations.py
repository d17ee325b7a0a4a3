from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.cli import main
from broker_scenarios.errors import HistoryError, ScenarioError
from broker_scenarios.history_checks.claims import Claims, read_claims
from broker_scenarios.judge_history import read_logs
from broker_scenarios.operations import calls_of, parse_operations, read_operations, write_operations

if TYPE_CHECKING:
    from pathlib import Path

GOOD = '{"i": 0, "process": 0, "type": "invoke", "f": "send", "mops": [["send", "t-0", 1]], "t_ms": 5}'


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nonsense", "h:1: no JSON"),
        ("[1]", "h:1: expected an object"),
        ('{"type": "ok", "f": "poll"}', "h:1: process: missing"),
        ('{"process": 1, "type": "okay", "f": "poll"}', "h:1: type: expected one of invoke, ok"),
        ('{"process": 1, "type": "ok", "f": "pol"}', "did you mean 'poll'?"),
        ('{"process": 1, "type": "ok", "f": "poll", "mop": []}', "h:1: mop: unknown key"),
        ('{"process": [1], "type": "ok", "f": "poll"}', "h:1: process: expected a number or a text"),
        ('{"process": 1, "type": "ok", "f": "poll", "mops": 7}', "h:1: mops: expected a list"),
        ('{"process": 1, "type": "ok", "f": "poll", "mops": [["pull"]]}', "h:1: mops[0]: expected a list that begins"),
        ('{"process": 1, "type": "ok", "f": "poll", "mops": [["poll", {"t-0": [[1]]}]]}', "mops[0].t-0: expected"),
        ('{"process": 1, "type": "ok", "f": "poll", "mops": [["poll", {"t-0": 3}]]}', "mops[0].t-0: expected a list"),
        ('{"process": 1, "type": "ok", "f": "send", "mops": [["send", "t-0"]]}', "mops[0]: expected ['send'"),
        ('{"process": 1, "type": "ok", "f": "send", "mops": [["send", "t-0", [1, true]]]}', "expected a value"),
        ('{"process": 1, "type": "ok", "f": "send", "mops": [["send", "t-0", ["x", 1]]]}', "expected [offset, value]"),
        ('{"process": 1, "type": "ok", "f": "poll", "t_ms": "now"}', "h:1: t_ms: expected a number"),
        ('{"process": 1, "type": "ok", "f": "poll", "final": 1}', "h:1: final: expected true or false"),
        ('{"process": 1, "type": "ok", "f": "poll", "offsets": {"t-0": 1}}', "h:1: offsets: expected"),
        ('{"process": 1, "type": "ok", "f": "commit", "mops": [["commit", {"t-0": "x"}]]}', "expected ['commit'"),
    ],
)
def test_a_malformed_line_is_named(line: str, problem: str) -> None:
    with pytest.raises(HistoryError) as raised:
        parse_operations([line], "h")
    assert problem in str(raised.value)


def test_operations_that_do_not_fit_together_are_named() -> None:
    completion = '{"process": 1, "type": "ok", "f": "poll"}'
    with pytest.raises(HistoryError, match="op 0: a completion of poll without an invocation by 1"):
        calls_of(parse_operations([completion], "h"))
    twice = [completion.replace("ok", "invoke")] * 2
    with pytest.raises(HistoryError, match="op 1: process 1 has an open poll already"):
        calls_of(parse_operations(twice, "h"))


def test_a_history_is_written_as_it_is_read(tmp_path: Path) -> None:
    line = {
        "i": 0, "process": "a", "type": "ok", "f": "poll", "mops": [["poll", {"t-0": [[0, 1]]}]], "t_ms": 1.5,
        "error": "E", "group": "g", "rebalanced": ["t-0"], "final": True, "assigned": ["t-0"], "auto": True,
        "offsets": {"t-0": {"lso": 1, "hw": 2}},
    }  # fmt: skip
    path = tmp_path / "h"
    write_operations(path, parse_operations([json.dumps(line)], "h"))
    assert json.loads(path.read_text()) == line
    assert [op.process for op in read_operations(path)] == ["a"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"ack": 1}, "promises: ack: unknown key; expected one of acks"),
        ({"acks": 3}, "acks='3': expected all, -1, 0 or 1"),
        ({"isolation.level": "some"}, "isolation.level='some'"),
        ({"exactly-once": "perhaps"}, "exactly-once='perhaps': expected true or false"),
        ({"max.realtime-lag.ms": "soon"}, "max.realtime-lag.ms='soon': expected a number"),
        ({"faults": [{"kind": "crash"}]}, "faults[0]: kind: expected one of leader-crash"),
        ({"faults": [{"kind": "partition", "when": 1}]}, "faults[0]: when: unknown key"),
        ({"log_start": {"t-0": "x"}}, "log_start: expected whole numbers by name"),
    ],
)
def test_a_wrong_promise_is_named(given: dict[str, object], problem: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        Claims.parse(given)
    assert problem in str(raised.value)


def test_the_command_prints_findings_and_returns_their_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history, promises, logs = tmp_path / "h.jsonl", tmp_path / "p.yaml", tmp_path / "l.json"
    history.write_text(f"{GOOD}\n{GOOD.replace('invoke', 'ok').replace('1]]', '[0, 1]]]')}\n")
    promises.write_text("acks: all\nreplication.factor: 3\n")
    logs.write_text('{"t-0": [[0, 2], [1, null, {"control": "commit"}]]}')
    assert main(["check", str(history)]) == 3
    assert "not judged: 1 acknowledged values were not read" in capsys.readouterr().out
    assert main(["check", str(history), "--promises", str(promises), "--logs", str(logs)]) == 1
    assert "lost-write: 1 finding\n  1 in t-0: ops 0, 1" in capsys.readouterr().out
    assert main(["check", str(history), "--promises", str(promises), "--logs", str(logs), "--json"]) == 1
    judgement = json.loads(capsys.readouterr().out)
    assert judgement["verdict"] == "broken"
    assert {"name": "lost-write", "values": [1], "count": 1, "allowed": None, "ops": [[0, 1]]} in judgement["findings"]
    logs.write_text('{"t-0": [[0, 1]]}')
    assert main(["check", str(history), "--logs", str(logs)]) == 0


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "none")]) == 2
    assert "No such file" in capsys.readouterr().err
    bad = tmp_path / "bad"
    bad.write_text("{")
    for reader in (read_claims, read_logs):
        with pytest.raises(ScenarioError, match="bad"):
            reader(bad)
