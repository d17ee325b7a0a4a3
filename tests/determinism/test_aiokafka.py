"""aiokafka on virtual time: a run is a pure function of the seed, in any process."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from broker_scenarios.run_comparison import compare_runs, scenario_command

PROGRAM = Path(__file__).parent / "aiokafka_run.py"
ROOT = Path(__file__).parents[2]
SEEDS = ("1", "2")


def lines_in_another_process(hash_seed: str) -> list[str]:
    path = os.pathsep.join(map(str, (ROOT, ROOT / "client", ROOT / "scenarios")))
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
    run = subprocess.run(
        [sys.executable, str(PROGRAM), *SEEDS], env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    return run.stdout.splitlines()


@pytest.fixture(scope="module")
def fingerprints() -> list[str]:
    return lines_in_another_process("0")


def test_every_record_is_acknowledged_and_read_through_the_death_of_a_leader(fingerprints: list[str]) -> None:
    assert [line.split()[2:] for line in fingerprints] == [["600", "600"]] * len(SEEDS)
    assert len({line.split()[0] for line in fingerprints}) == len(SEEDS)


def test_another_hash_seed_gives_the_same_run(fingerprints: list[str]) -> None:
    assert lines_in_another_process("31337") == fingerprints


def test_producers_groups_and_transactions_under_faults_are_the_same_run() -> None:
    compared = compare_runs(scenario_command(PROGRAM.with_name("ordinary-faults.yaml"), 3, None))
    assert compared.equal, compared.text()


def test_this_process_gives_the_same_run_twice(fingerprints: list[str]) -> None:
    fingerprint = runpy.run_path(str(PROGRAM))["fingerprint"]
    assert [fingerprint(1), fingerprint(1)] == [fingerprints[0]] * 2
