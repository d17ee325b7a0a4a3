from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from broker_scenarios.cli import main

ROOT = Path(__file__).parents[3]
CATALOG = ROOT / "scenarios" / "catalog"
HOW_TO = ROOT / "docs" / "how-to" / "shrink-a-failing-seed.md"
PAIR = str(CATALOG / "lost-ack-duplicate.yaml")


def test_the_command_prints_a_scenario_that_can_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shrink", PAIR, "--finding", "duplicate"]) == 0
    printed, progress = capsys.readouterr()
    document = yaml.safe_load(printed)
    assert document["clients"]["app"]["script"] == [{"send": {"wait": True}}]
    assert "3 records, 3 events -> 1 record, 2 events, in " in progress

    path = tmp_path / "smallest.yaml"
    assert main(["shrink", PAIR, "--finding", "duplicate", "--output", str(path)]) == 0
    assert path.read_text() == printed
    assert main(["run", str(path)]) == 0


def test_the_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["shrink", str(CATALOG / "acks1-leader-crash-loss.yaml"), "--finding", "lost-write"]
    assert main(arguments) == 0
    command = "$ broker-sim shrink scenarios/catalog/acks1-leader-crash-loss.yaml --finding lost-write"
    assert f"{command}\n{capsys.readouterr().out}```" in HOW_TO.read_text()


def test_what_cannot_be_shrunk_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shrink", PAIR, "--seed", "4"]) == 2
    assert "seed 4 ends as the file expects and breaks nothing" in capsys.readouterr().err
    assert main(["shrink", PAIR, "--records", "5"]) == 2
    assert "--records needs one load" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["shrink", PAIR, "--finding", "loss"])
    assert "--finding: invalid" in capsys.readouterr().err


def test_a_sweep_shrinks_the_first_seed_of_each_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = CATALOG / "leader-crash-any-time-acks-1.yaml"
    path, folder = tmp_path / "strict.yaml", tmp_path / "shrunk"
    path.write_text(f"base: {os.path.relpath(base, tmp_path)}\nexpect: {{lost: 0}}\n")
    arguments = ["sweep", str(path), "--first-seed", "1", "--seeds", "2", "--records", "60", "--shrink", str(folder)]
    assert main(arguments) == 1
    printed = capsys.readouterr().out
    smallest = folder / "strict-seed-2.yaml"
    assert "1 seed from 2 on: lost N, expected exactly N" in printed
    assert "seed 2: 60 records, 4 events -> " in printed
    assert f"shrunk: {smallest}" in printed
    assert "runs: lost 1, expected exactly 0" in printed
    assert [*folder.iterdir()] == [smallest]
    assert main(["run", str(smallest)]) == 1
