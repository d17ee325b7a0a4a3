"""A run on virtual time is a pure function of (scenario, seed): the journal's digest proves it, in any process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.virtual_run import VirtualRun

ROOT = Path(__file__).parents[2]
CATALOG = ROOT / "scenarios" / "catalog"
CRASH = "leader-crash-any-time-acks-1.yaml"


def fingerprint(seed: int, *, records: int = 600) -> tuple[str, str]:
    run = VirtualRun(load_scenario(CATALOG / CRASH).with_records(records), seed)
    evidence = run.run(None)
    return evidence.facts["digest"], run.world.fingerprint()


def test_the_same_seed_gives_the_same_digest_and_another_seed_another() -> None:
    first = fingerprint(7)
    assert fingerprint(7) == first
    assert fingerprint(8) != first


def test_encrypted_connections_have_the_same_digest_for_another_hash_seed() -> None:
    path = CATALOG / "cert-expires-midrun.yaml"
    ran = subprocess.run(
        [sys.executable, "-m", "broker_scenarios.cli", "run", str(path), "--virtual", "--seed", "7"],
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    digest = VirtualRun(load_scenario(path), 7).run(None).facts["digest"]
    assert f"digest: {digest}" in ran.stdout.splitlines()


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_the_command_prints_the_same_digest_for_any_hash_seed(hash_seed: str) -> None:
    command = [sys.executable, "-m", "broker_scenarios.cli", "run", str(CATALOG / CRASH), "--virtual", "--seed", "7"]
    ran = subprocess.run(
        [*command, "--records", "600"],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"digest: {fingerprint(7)[0]}" in ran.stdout.splitlines()
