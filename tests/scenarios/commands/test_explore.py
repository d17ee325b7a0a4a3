from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from broker_scenarios.cli import main
from tests.scenarios.exploring.scopes import small_scope

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[3]


def test_a_finding_is_printed_and_written_as_a_schedule_that_is_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, schedule = str(small_scope(tmp_path, "1").path), tmp_path / "schedule.yaml"
    assert main(["explore", path, "--depth", "2", "--schedule", str(schedule)]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("small: the first 2 choice points of each schedule (--depth)\n")
    assert "schedule: lost 1, expected exactly 0\nthe shortest schedule:\n    1  app:" in printed
    assert printed.endswith(": Produce request\n    2  rule crash: kill\n")
    assert main(["explore", path, "--replay", str(schedule)]) == 1
    assert capsys.readouterr().out == "small: lost 1, expected exactly 0\n" + "".join(
        f"{line}\n" for line in printed.splitlines()[-2:]
    )


def test_a_search_without_a_finding_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(small_scope(tmp_path, "all").path)
    assert main(["explore", path, "--runs", "2"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("small: stopped after 2 schedules (--runs)\n  2 schedules run, 2 to the end\n")
    assert printed.endswith("nothing found: each schedule ended as the file expects\n")


def test_what_cannot_be_used_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, schedule = str(small_scope(tmp_path, "1").path), tmp_path / "schedule.yaml"
    schedule.write_text("{scenario: other, seed: 0, losses: 0, choices: []}")
    assert main(["explore", path, "--replay", str(schedule)]) == 2
    assert "the schedule is one of 'other', not of 'small'" in capsys.readouterr().err
    assert main(["explore", path, "--replay", str(schedule), "--depth", "3"]) == 2
    assert "--depth: --replay runs one schedule" in capsys.readouterr().err


def test_the_page_shows_what_the_commands_print(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario, schedule = str(ROOT / "scenarios" / "explore" / "acks-1.yaml"), str(tmp_path / "loss.yaml")
    page = (ROOT / "docs" / "how-to" / "explore-a-small-scope.md").read_text()
    for options, written in (
        (["--depth", "2", "--schedule", schedule], "--depth 2 --schedule loss.yaml"),
        (["--replay", schedule], "--replay loss.yaml"),
    ):
        assert main(["explore", scenario, *options]) == 1
        printed = capsys.readouterr().out
        assert f"$ broker-sim explore scenarios/explore/acks-1.yaml {written}\n{printed}```" in page


def test_the_shipped_scope_with_acks_all_begins_without_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(ROOT / "scenarios" / "explore" / "acks-all.yaml"), "--depth", "2"]) == 0
    assert "nothing found: each schedule ended as the file expects" in capsys.readouterr().out
