"""Foreign clients on virtual time: a run is a pure function of the seed, in any process."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from broker_scenarios.run_comparison import compare_runs, scenario_command

FOLDER = Path(__file__).parent
ROOT = Path(__file__).parents[2]
SEEDS = ("1", "2")
RECORDS = {"aiokafka": "600", "kafka_python": "150"}


def lines_in_another_process(client: str, hash_seed: str) -> list[str]:
    path = os.pathsep.join(map(str, (ROOT, ROOT / "client", ROOT / "scenarios")))
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
    command = [sys.executable, str(FOLDER / f"{client}_run.py"), *SEEDS]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    return run.stdout.splitlines()


@pytest.fixture(scope="module", params=sorted(RECORDS))
def client(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def fingerprints(client: str) -> list[str]:
    return lines_in_another_process(client, "0")


def test_every_record_is_acknowledged_and_read_through_the_death_of_a_leader(
    client: str, fingerprints: list[str]
) -> None:
    assert [line.split()[2:] for line in fingerprints] == [[RECORDS[client]] * 2] * len(SEEDS)
    assert len({line.split()[0] for line in fingerprints}) == len(SEEDS)


def test_another_hash_seed_gives_the_same_run(client: str, fingerprints: list[str]) -> None:
    assert lines_in_another_process(client, "31337") == fingerprints


def test_this_process_gives_the_same_run_twice(client: str, fingerprints: list[str]) -> None:
    fingerprint = runpy.run_path(str(FOLDER / f"{client}_run.py"))["fingerprint"]
    assert [fingerprint(1), fingerprint(1)] == [fingerprints[0]] * 2


def test_producers_groups_and_transactions_under_faults_are_the_same_run() -> None:
    compared = compare_runs(scenario_command(FOLDER / "ordinary-faults.yaml", 3, None))
    assert compared.equal, compared.text()
