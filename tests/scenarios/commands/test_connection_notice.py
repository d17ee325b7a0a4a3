from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.cli import main
from broker_scenarios.commands import connection_notice
from broker_scenarios.commands.connection_notice import ConnectionNotice
from sim_runtime.reactor_thread import ReactorThread, ReactorThreadError

if TYPE_CHECKING:
    from pathlib import Path


class Client:
    def __init__(self, problems: list[str] | Exception | None) -> None:
        self.problems = problems

    def connection_problems(self) -> list[str] | None:
        if isinstance(self.problems, Exception):
            raise self.problems
        return self.problems


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        (None, ""),
        ([], "waiting up to 15 s (--timeout) for kafka:9092\n"),
        (["refused", "lost"], "waiting up to 15 s (--timeout) for kafka:9092 (refused; lost)\n"),
        (ReactorThreadError("the client is closed"), ""),
    ],
)
def test_a_client_without_metadata_has_a_line_with_the_problems(
    problems: Any, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ConnectionNotice(Client(problems), "kafka:9092", 15).write()
    assert capsys.readouterr().err == expected


def test_a_thread_that_is_stopped_refuses_calls() -> None:
    with ReactorThread("ended") as thread:
        pass
    with pytest.raises(ReactorThreadError):
        thread.call(lambda: None)


@pytest.mark.parametrize("command", [["topics", "list"], ["consume", "-t", "x"], ["groups", "list"], ["records", "x"]])
def test_a_command_without_a_broker_reports_early_what_it_waits_for(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(connection_notice, "NOTICE_AFTER_S", 0.01)
    assert main([*command, "-b", "127.0.0.1:1", "--timeout", "1"]) == 1
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("waiting up to 1 s (--timeout) for 127.0.0.1:1")
    assert last.startswith("no metadata from bootstrap.servers after ")


def test_the_producer_reports_it_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(connection_notice, "NOTICE_AFTER_S", 0.01)
    (tmp_path / "lines").write_text("a\n")
    with (tmp_path / "lines").open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        assert main(["produce", "-t", "x", "-b", "127.0.0.1:1", "--timeout", "1"]) == 1
    assert capsys.readouterr().err.startswith("waiting up to 1 s (--timeout) for 127.0.0.1:1")
