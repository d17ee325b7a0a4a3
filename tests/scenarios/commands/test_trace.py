from __future__ import annotations

from pathlib import Path

import pytest

from broker_scenarios.cli import main
from broker_scenarios.scenario import load_scenario
from broker_scenarios.virtual_run import VirtualRun
from broker_sim.control.journal_file import JournalWriter

SCENARIO = Path(__file__).parents[3] / "scenarios" / "catalog" / "leader-crash-acks-1.yaml"


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("trace") / "journal.jsonl"
    run = VirtualRun(load_scenario(SCENARIO).with_records(200), 3)
    writer = JournalWriter(path, run.cluster.journal)
    run.run(None)
    writer.close()
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["trace", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_scenario_and_the_journal_of_the_same_run_tell_the_same(
    journal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    again = printed(capsys, str(SCENARIO), "--records", "200", "--seed", "3")
    assert again == printed(capsys, journal)


def test_the_list_names_what_can_be_traced(journal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows = printed(capsys, journal, "--list", "3", "--api", "Produce", "--broker", "2")
    assert head.split() == ["request", "at", "broker", "api", "version", "client", "took"]
    assert [row.split()[3:5] for row in rows] == [["2", "Produce"]] * 3
    page = tmp_path / "trace.html"
    lines = printed(capsys, journal, "--request", rows[0].split()[0], "--html", str(page))
    assert lines[0].startswith("Produce v13 from producer-")
    assert lines[-1] == f"page: {page}"
    assert "<svg" in page.read_text()


def test_what_brokers_say_to_each_other_is_traced_too(journal: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "link:" in printed(capsys, journal, "--between-brokers", "--api", "Fetch")[1]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--api", "Prduce"], "no request is 'Prduce' (--api); did you mean 'Produce'?"),
        (["--broker", "9"], "has no requests of clients to broker 9 (--broker)"),
        (["--request", "1"], "event 1 of the journal is no request (--request)"),
    ],
)
def test_what_is_not_there_is_refused(
    journal: str, arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", journal, *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_an_empty_journal_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    for arguments in ([], ["--list"], ["--request", "1"]):
        assert main(["trace", str(empty), *arguments]) == 2
    assert f"{empty} has no requests of clients" in capsys.readouterr().err
