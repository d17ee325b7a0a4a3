"""`make demo`: the line of the Makefile, run as make runs it; and its scenarios on virtual time, with many records."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.interop.kafka_release import java_tool
from tests.interop.served_cluster import command, environment

ROOT = Path(__file__).parents[2]
DEMO_SECONDS_MAX = 230
RECORDS = 50_000


def demo_arguments() -> list[str]:
    line = re.search(r"^DEMO := broker-sim (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert line is not None
    return line[1].split()


def test_the_demo_ends_as_its_scenarios_expect_and_writes_its_report(tmp_path: Path) -> None:
    java_tool("java")
    report = tmp_path / "report.html"
    arguments = [str(report) if argument == "report.html" else argument for argument in demo_arguments()]
    run = subprocess.run(
        command(*arguments),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=DEMO_SECONDS_MAX,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    for scenario in ("leader-crash-acks-1", "leader-crash-acks-all"):
        assert scenario in run.stdout
    assert str(report) in run.stdout.replace("\n", "")
    html = report.read_text()
    assert not re.search(r"""(?:src|href)=["']https?://""", html), "the report loads something from outside"


@pytest.mark.parametrize("scenario", [argument for argument in demo_arguments() if argument.endswith(".yaml")])
def test_a_scenario_of_the_demo_ends_as_it_expects_on_virtual_time(scenario: str) -> None:
    run = subprocess.run(
        command("run", scenario, "--virtual", "--seed", "7", "--records", str(RECORDS)),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=DEMO_SECONDS_MAX,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "digest: " in run.stdout
