"""Sweeps on Spark by the command: shrinking in tasks, and folders that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from broker_scenarios.cli import main

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

CATALOG = Path(__file__).parents[3] / "scenarios" / "catalog"


def test_the_command_shrinks_one_seed_of_each_reason_in_tasks(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, shrunk = tmp_path / "strict.yaml", tmp_path / "shrunk"
    path.write_text(
        f"base: {os.path.relpath(CATALOG / 'lost-ack-duplicate.yaml', tmp_path)}\nexpect: {{duplicated: 0}}\n"
    )
    arguments = ["--seeds", "3", "--spark", "--shrink", str(shrunk)]
    assert main(["sweep", str(path), *arguments]) == 1
    printed = capsys.readouterr().out
    assert "strict: 0 of 3 seeds ended as expected" in printed
    assert "3 seeds from 0 on: duplicated N, expected exactly N" in printed
    assert f"shrunk: {shrunk / 'strict-seed-0.yaml'}" in printed
    assert main(["run", str(shrunk / "strict-seed-0.yaml")]) == 1


def test_a_folder_that_cannot_be_used_is_one_line(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    (tmp_path / "folder").mkdir()
    arguments = ["sweep", str(CATALOG / "lost-ack-duplicate.yaml"), "--seeds", "1", "--spark", "--out"]
    no_folder = "/proc/none (--out): no folder can be made there"
    for out, message in (
        (f"{file}/out", "file"),
        ("/proc/none", no_folder),
        ("zz://x", 'zz://x (--out): No FileSystem for scheme "zz"'),
    ):
        assert main([*arguments, out]) == 2
        printed = capsys.readouterr().err
        assert "attempt" not in printed
        last = printed.splitlines()[-1]
        assert message in last
        assert out in last
