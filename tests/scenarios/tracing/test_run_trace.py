"""`broker-sim trace` reads the files of `broker-sim run --trace`, on virtual time and on TCP."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_scenarios.cli import main

SCENARIO = """
title: Nothing goes wrong
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
load: {records: 60, producers: 1, rate_per_second: 1000}
producer: {acks: all}
expect: {verdict: valid}
"""


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)  # a run on TCP leaves its report where it is
    path = tmp_path / "calm.yaml"
    path.write_text(SCENARIO)
    return str(path)


@pytest.mark.parametrize("where", ["--virtual", "--local"])
def test_a_run_keeps_both_sides_of_each_batch(
    scenario: str, tmp_path: Path, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "traces (of a run)"
    assert main(["run", scenario, where, "--trace", str(folder)]) == 0
    files = [str(folder / f"calm-0.{side}.jsonl") for side in ("producers", "brokers")]
    assert f"trace: broker-sim trace '{files[0]}' '{files[1]}' --batch" in capsys.readouterr().err
    assert main(["trace", *files, "--record", "orders-0@59"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("record orders-0@59: record ")
    assert "the NetworkClient sends it to node 1" in shown
    assert "broker 1: appended to orders-0: " in shown


def test_the_events_of_producers_in_spark_cannot_be_recorded(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scenario, "--spark", "--trace", "traces"]) == 2
    assert capsys.readouterr().err == (
        "--trace records the producers of this process, not those in Spark tasks: use --local\n"
    )


def test_a_folder_that_cannot_be_made_is_named(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scenario, "--virtual", "--trace", f"{scenario}/traces"]) == 2
    assert "calm.yaml/traces (--trace): Not a directory" in capsys.readouterr().err
    Path("calm-0.producers.jsonl").mkdir()
    assert main(["run", scenario, "--virtual", "--trace", "."]) == 2
    assert "cannot write the trace calm-0.producers.jsonl: Is a directory (--trace)" in capsys.readouterr().err
