"""The scenarios and histories that how-to pages show: each ends with the result that the page states."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from broker_scenarios.cli import main

HOW_TO: Final = Path(__file__).parents[2] / "docs" / "how-to"
SCENARIO: Final = re.compile(r"^```yaml\n(title: .*?)^```$", re.MULTILINE | re.DOTALL)
FILE: Final = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN: Final = [
    pytest.param(text, id=text.splitlines()[0].removeprefix("title: "))
    for page in sorted(HOW_TO.glob("*.md"))
    for text in SCENARIO.findall(page.read_text())
]


@pytest.mark.parametrize("text", SHOWN)
def test_a_shown_scenario_ends_as_it_expects(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "shown.yaml"
    path.write_text(text)
    assert main(["run", str(path)]) == 0, capsys.readouterr().out


def test_the_smallest_scenario_runs_on_tcp(tmp_path: Path) -> None:
    path = tmp_path / "smallest.yaml"
    path.write_text(SCENARIO.findall((HOW_TO / "write-a-scenario.md").read_text())[0])
    assert main(["run", str(path), "--local"]) == 0


@pytest.mark.parametrize(
    "command", [["run", "FILE", "--local"], ["run", "FILE", "--seed", "7"], ["sweep", "FILE", "--seeds", "20"]]
)
def test_the_shown_foreign_client_runs(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [(name, text)] = FILE.findall((HOW_TO / "drive-a-foreign-client.md").read_text())
    (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main([name if part == "FILE" else part for part in command]) == 0


def test_the_shown_history_has_the_shown_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (HOW_TO / "judge-a-history.md").read_text()
    for name, text in FILE.findall(page):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    line, output = shown_command(page, "broker-sim check")
    assert main(line.split()[1:]) == 1
    assert capsys.readouterr().out == output


def test_the_catalogue_is_searched_and_run_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (HOW_TO / "find-an-anomaly.md").read_text()
    (tmp_path / "scenarios").symlink_to(HOW_TO.parents[1] / "scenarios")
    monkeypatch.chdir(tmp_path)
    line, _ = shown_command(page, "broker-sim catalog list")
    assert main(line.split()[1:]) == 0
    assert "lost-ack-duplicate" in capsys.readouterr().out
    line, output = shown_command(page, "broker-sim catalog run")
    assert main(line.split()[1:]) == 0
    assert capsys.readouterr().out.replace(str(tmp_path), "/home/you") == output
    assert "lost-ack-duplicate" in (tmp_path / "index.html").read_text()
    line, _ = shown_command(page, "broker-sim run")
    assert main(line.split()[1:]) == 0


def shown_command(page: str, begin: str) -> tuple[str, str]:
    """The first command of a page that begins so, and the lines that the page shows below it."""
    found = re.search(rf"^\$ ({begin}.*)\n((?:.*\n)*?)^```$", page, re.MULTILINE)
    assert found is not None
    return found[1], found[2]
