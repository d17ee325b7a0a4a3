"""`--json`, `--junit` and `--markdown` of `broker-sim run` and `sweep`, and the command that reproduces a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from broker_scenarios.cli import main
from broker_scenarios.result_files import ResultFiles, RunResult
from broker_scenarios.verdict import COUNT_NAMES

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
    (suite,) = ET.parse(junit).getroot()
    assert (suite.tag, suite.get("tests"), suite.get("failures")) == ("testsuite", "2", "0")
    assert [case.get("name") for case in suite] == ["my case seed 3"] * 2


def test_a_run_that_is_not_as_expected_is_a_failure_with_the_command_that_reproduces_it(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit = tmp_path / "junit.xml"
    assert main(["run", str(scenario), "--records", "20", "--junit", str(junit)]) == 1
    command = f"broker-sim run '{scenario}' --virtual --seed 0 --records 20"
    assert f"my case: reproduce: {command}" in capsys.readouterr().out
    (failure,) = ET.parse(junit).getroot().iter("failure")
    assert failure.get("message") == "acked 20, expected exactly 30"
    latency, miss, reproduce = (failure.text or "").splitlines()
    assert latency.startswith("my case: acknowledgement latency: ")
    assert miss == "my case: not as expected: acked 20, expected exactly 30"
    assert reproduce == f"my case: reproduce: {command}"


def test_a_summary_is_appended_with_failures_first(scenario: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    assert main(["run", str(scenario), "--records", "30", "--markdown", str(summary)]) == 0
    first = summary.read_text()
    assert "## broker-sim: 1 of 1 run as expected\n" in first
    assert "| my case seed 0 | 30 |" in first
    assert main(["sweep", str(scenario), "--seeds", "2", "--records", "20", "--markdown", str(summary)]) == 1
    second = summary.read_text().removeprefix(first)
    assert "## broker-sim: 0 of 2 runs as expected\n" in second
    assert second.count("| valid | NO |") == 2
    command = f"broker-sim run '{scenario}' --virtual --seed 1 --records 20"
    assert "### my case seed 1\n\n    my case: acknowledgement" in second
    assert f"    my case: reproduce: {command}\n" in second


def test_a_long_summary_names_what_it_leaves_out(tmp_path: Path) -> None:
    files = ResultFiles(markdown=tmp_path / "summary.md")
    files.write([result(f"seed {number}", misses=("missed",)) for number in range(60)])
    text = (tmp_path / "summary.md").read_text()
    assert "10 more runs: `--json` has all." in text
    assert (text.count("### "), "50 more failures: `--junit` has all." in text) == (10, True)


def test_characters_that_xml_does_not_permit_are_replaced(tmp_path: Path) -> None:
    files = ResultFiles(junit=tmp_path / "junit.xml")
    files.write([result("odd\x00|name", misses=("red \x1b[31m\ufffe",))])
    (case,) = ET.parse(tmp_path / "junit.xml").getroot().iter("testcase")
    assert case.get("name") == "odd\ufffd|name"
    assert case[0].get("message") == "red \ufffd[31m\ufffd"


def result(name: str, misses: tuple[str, ...]) -> RunResult:
    values = {"counts": dict.fromkeys(COUNT_NAMES, 0), "verdict": "valid"}
    return RunResult(
        name=name, seconds=1.0, misses=misses, reproduce="broker-sim run", explanation=misses, values=values
    )


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
