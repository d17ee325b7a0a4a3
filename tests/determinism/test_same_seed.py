from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

GOSSIP = Path(__file__).parent / "gossip.py"
ROOT = Path(__file__).parents[2]
SEEDS = ("1", "2", "3")


@pytest.fixture(scope="module")
def fingerprints() -> list[str]:
    fingerprint = runpy.run_path(str(GOSSIP))["fingerprint"]
    return [fingerprint(int(seed)) for seed in SEEDS]


def test_a_seed_gives_the_same_run_twice(fingerprints):
    fingerprint = runpy.run_path(str(GOSSIP))["fingerprint"]
    assert [fingerprint(int(seed)) for seed in SEEDS] == fingerprints


def test_seeds_give_different_runs_in_which_much_happens(fingerprints):
    assert len(dict.fromkeys(fingerprints)) == len(SEEDS)
    assert all(int(line.split()[1]) > 500 for line in fingerprints)


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_another_process_with_other_hashes_gives_the_same_run(fingerprints, hash_seed):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, str(GOSSIP), *SEEDS], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.splitlines() == fingerprints
