"""`--json` and `--junit` of `broker-sim run` and `sweep`, and the command that reproduces a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from broker_scenarios.cli import main

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
title: Every record is acknowledged and stored
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
load: {records: 5000, producers: 1, rate_per_second: 1000}
expect: {acked: 30, lost: 0}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "my case.yaml"
    path.write_text(SCENARIO)
    return path


def test_results_are_written_as_json_lines_and_junit(scenario: Path, tmp_path: Path) -> None:
    results, junit = tmp_path / "deep" / "results.jsonl", tmp_path / "junit.xml"
    options = ["--seed", "3", "--records", "30", "--json", str(results), "--junit", str(junit)]
    assert main(["run", str(scenario), str(scenario), *options]) == 0
    first, second = map(json.loads, results.read_text().splitlines())
    assert first == second
    assert (first["scenario"], first["as_expected"], first["verdict"]) == ("my case", True, "valid")
    assert (first["counts"]["acked"], first["counts"]["lost"], first["errors"]) == (30, 0, [])
    assert first["latency_ms"]["p50"] > 0
    assert first["reproduce"] == f"broker-sim run '{scenario}' --virtual --seed 3 --records 30"
    suite = ET.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")


def test_a_run_that_is_not_as_expected_is_a_failure_with_the_command_that_reproduces_it(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit = tmp_path / "junit.xml"
    assert main(["run", str(scenario), "--records", "20", "--junit", str(junit)]) == 1
    command = f"broker-sim run '{scenario}' --virtual --seed 0 --records 20"
    assert f"my case: reproduce: {command}" in capsys.readouterr().out
    (failure,) = ET.parse(junit).getroot().iter("failure")
    assert failure.get("message") == "acked 20, expected exactly 30"
    assert f"reproduce: {command}" in (failure.text or "")


def test_a_sweep_writes_a_result_per_seed(scenario: Path, tmp_path: Path) -> None:
    results, junit = tmp_path / "results.jsonl", tmp_path / "junit.xml"
    options = ["--seeds", "2", "--first-seed", "5", "--records", "20", "--json", str(results), "--junit", str(junit)]
    assert main(["sweep", str(scenario), *options]) == 1
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert [(line["facts"]["seed"], line["as_expected"], line["counts"]["acked"]) for line in lines] == [
        ("5", False, 20),
        ("6", False, 20),
    ]
    command = f"broker-sim run '{scenario}' --virtual --seed 6 --records 20"
    assert lines[1]["reproduce"] == command
    suite = ET.parse(junit).getroot()
    assert [case.get("name") for case in suite.iter("testcase")] == ["my case seed 5", "my case seed 6"]
    assert [f"reproduce: {command}" in (failure.text or "") for failure in suite.iter("failure")] == [False, True]


def test_a_result_file_that_cannot_be_written_is_one_line(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(scenario), "--records", "30", "--json", str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith(f"cannot write {tmp_path} (--json): Is a directory\n")
