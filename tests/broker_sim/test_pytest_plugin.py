from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS_MAX = 60


def run_pytest(folder: Path, text: str) -> str:
    """The output of a pytest of its own, with the plugin and nothing of this repository's configuration."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -p no:cacheprovider\n")
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "broker_sim.pytest_plugin", "test_it.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS_MAX, env=environment
    )
    return run.stdout + run.stderr


def test_the_fixtures_give_fresh_clusters(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import pytest

def test_three_brokers(kafka_cluster):
    assert len(kafka_cluster.bootstrap_servers.split(",")) == 3

@pytest.mark.kafka_cluster(brokers=1, topics=["orders:6:1"])
def test_a_shape_of_its_own(kafka_cluster):
    assert kafka_cluster.leader_of("orders", 5) == 1

def test_two_clusters(kafka_cluster_factory):
    assert kafka_cluster_factory(brokers=1).bootstrap_servers != kafka_cluster_factory(brokers=1).bootstrap_servers
""",
    )
    assert "3 passed" in output, output


def test_a_rule_that_never_struck_fails_its_test_and_is_named(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
def test_it(kafka_cluster_factory):
    rule = {"name": "never-strikes", "select": {"api": "Produce"}, "act": "hold"}
    kafka_cluster_factory(brokers=1).add_rule(rule)
""",
    )
    assert "1 error" in output, output
    assert "never-strikes" in output


def test_the_plugin_imports_nothing_heavy() -> None:
    code = "import sys, broker_sim.pytest_plugin; print([m for m in ('twisted', 'protocol_specs') if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS_MAX,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert run.stdout.strip() == "[]"
