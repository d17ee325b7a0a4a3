"""The comparison of two recorded runs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.run_comparison import RunComparison, compare_runs, recorded
from broker_sim.virtual_cluster import VirtualCluster

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import os, sys
second = os.environ["PYTHONHASHSEED"] != "0"
lines = sys.argv[2 if second else 1].split(",")
open(sys.argv[3], "w").write("".join(f"{line}\\n" for line in lines if line))
"""
PRINT = '{"kind": "fingerprint", "value": "%s"}'


def compared(first: str, second: str) -> RunComparison:
    return compare_runs(lambda record: (sys.executable, "-c", PROGRAM, first, second, str(record)))


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("a,b", "a,b", "the same run under PYTHONHASHSEED 0 and 31337: 2 events"),
        ("a,b", "a,c", "the runs differ from event 2 on\n  the last equal event: a\n  PYTHONHASHSEED=0: b\n"),
        ("b", "c", "the runs differ from event 1 on\n  PYTHONHASHSEED=0: b\n  PYTHONHASHSEED=31337: c"),
        ("a,b", "a", "  PYTHONHASHSEED=0: b\n  PYTHONHASHSEED=31337: the end"),
    ],
)
def test_the_first_line_that_differs_is_found(first: str, second: str, text: str) -> None:
    found = compared(first, second)
    assert text in found.text()
    assert found.equal == (first == second)


def test_fingerprints_may_differ_alone() -> None:
    code = PROGRAM.replace('split(",")', 'split(";")')
    first, second = f"a;{PRINT % 1}", f"a;{PRINT % 2}"
    found = compare_runs(lambda record: (sys.executable, "-c", code, first, second, str(record)))
    assert not found.equal
    assert found.text() == "all 1 events are equal, but draws, calls or the last bytes differ (the fingerprints do)"


def test_a_process_without_a_record_is_an_error() -> None:
    with pytest.raises(ScenarioError, match="no run was recorded: ZeroDivisionError"):
        compare_runs(lambda _: (sys.executable, "-c", "1 / 0"))
    with pytest.raises(ScenarioError, match="no run was recorded: status 3"):
        compare_runs(lambda _: (sys.executable, "-c", "raise SystemExit(3)"))


def test_a_record_has_every_event_and_the_fingerprint(tmp_path: Path) -> None:
    cluster = VirtualCluster(brokers=1)
    path = tmp_path / "record.jsonl"
    with recorded(path, cluster.world, cluster.cluster.journal):
        cluster.create_topic("orders:1:1")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[-1] == {"kind": "fingerprint", "value": cluster.fingerprint()}
    assert [line["sequence"] for line in lines[:-1]] == [number for number, _ in cluster.cluster.journal.numbered()]
    cluster.close()
