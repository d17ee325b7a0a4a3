"""Runs one seed in two processes with different hash seeds, and finds the first event in which their journals differ.

A run is recorded as the lines of its journal, then a line with the fingerprint of its world. As a program
(`python -m broker_scenarios.run_comparison FILE SEED RECORDS OUT`) this module records a scenario.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.errors import ScenarioError
from broker_sim.control.journal_file import event_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from broker_sim.control.events import Event
    from broker_sim.control.journal import Journal
    from sim_runtime.world import World

__all__ = ["HASH_SEEDS", "RunComparison", "compare_runs", "recorded", "scenario_command", "test_command"]

HASH_SEEDS: Final = ("0", "31337")
_FINGERPRINT: Final = "fingerprint"


@contextmanager
def recorded(path: Path, world: World, journal: Journal) -> Iterator[None]:
    """Record the run of a world to a file: every event of its journal, and the fingerprint at the end.

    With each event stands the checksum of all bytes so far: requests of one size differ by it.
    """
    with path.open("w", encoding="utf-8") as file:

        def write(sequence: int, event: Event) -> None:
            line = {**event_line(sequence, event), "network_checksum": world.network.checksum}
            file.write(json.dumps(line) + "\n")

        for sequence, event in journal.numbered():
            write(sequence, event)
        journal.sink = write
        try:
            yield
        finally:
            journal.sink = None
            file.write(json.dumps({"kind": _FINGERPRINT, "value": world.fingerprint()}) + "\n")


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs of one seed. `first` and `second` are the lines of the first event that differs, None for an end."""

    events: int
    """The number of equal events at the beginning."""
    last_equal: str | None
    first: str | None
    second: str | None

    @property
    def equal(self) -> bool:
        """True if nothing differs."""
        return self.first == self.second

    def text(self) -> str:
        """The result in a line, or the first event that differs, with the last one before it."""
        if self.equal:
            return f"the same run under PYTHONHASHSEED {' and '.join(HASH_SEEDS)}: {self.events:,} events"
        if _is_fingerprint(self.first) and _is_fingerprint(self.second):
            return (
                f"all {self.events:,} events are equal, but draws, calls or the last bytes differ (the fingerprints do)"
            )
        lines = [f"the runs differ from event {self.events + 1:,} on"]
        if self.last_equal is not None:
            lines.append(f"  the last equal event: {self.last_equal}")
        for seed, line in zip(HASH_SEEDS, (self.first, self.second), strict=True):
            lines.append(f"  PYTHONHASHSEED={seed}: {'the end' if line is None or _is_fingerprint(line) else line}")
        return "\n".join(lines)


def compare_runs(command: Callable[[Path], Sequence[str]]) -> RunComparison:
    """Run `command(record)` once per hash seed, which writes the file `record`, and compare the records.

    Raises:
        ScenarioError: a process has written no record; the message has the last line of its output.
    """
    with tempfile.TemporaryDirectory(prefix="broker-sim-") as folder:
        records = [Path(folder) / f"{seed}.jsonl" for seed in HASH_SEEDS]
        for seed, record in zip(HASH_SEEDS, records, strict=True):
            _run(command(record), seed, record)
        return _compared(*records)


def scenario_command(file: Path, seed: int, records: int | None) -> Callable[[Path], Sequence[str]]:
    """Return the command that records a seed of a scenario file on virtual time."""
    program = (sys.executable, "-m", "broker_scenarios.run_comparison", str(file), str(seed), str(records or 0))
    return lambda record: (*program, str(record))


def test_command(test: str) -> Callable[[Path], Sequence[str]]:
    """Return the command that records a test with the fixture `virtual_cluster`."""
    return lambda record: (sys.executable, "-m", "pytest", "-q", test, "--kafka-record", str(record))


def _run(command: Sequence[str], hash_seed: str, record: Path) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if not record.exists():
        lines = (ran.stdout + ran.stderr).strip().splitlines()
        raise ScenarioError(f"no run was recorded: {lines[-1] if lines else f'status {ran.returncode}'}")


def _compared(first: Path, second: Path) -> RunComparison:
    last: str | None = None
    events = 0
    with first.open(encoding="utf-8") as one, second.open(encoding="utf-8") as other:
        for left, right in zip_longest(map(str.rstrip, one), map(str.rstrip, other)):
            if left != right:
                return RunComparison(events, last, left, right)
            if not _is_fingerprint(left):
                events += 1
                last = left
    return RunComparison(events, last, None, None)


def _is_fingerprint(line: str | None) -> bool:
    return line is not None and line.startswith(f'{{"kind": "{_FINGERPRINT}"')


def _record_scenario(file: str, seed: str, records: str, out: str) -> None:
    from broker_scenarios.language.scenario import load_scenario
    from broker_scenarios.virtual_run import VirtualRun

    scenario = load_scenario(Path(file))
    if int(records):
        scenario = scenario.with_records(int(records))
    run = VirtualRun(scenario, int(seed))
    with recorded(Path(out), run.world, run.cluster.journal):
        run.run(None)


if __name__ == "__main__":
    _record_scenario(*sys.argv[1:])
