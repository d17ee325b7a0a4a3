"""Judges a large history with anomalies at known places, in one process and on Spark, and compares what they find.

    python -m benchmarks.planted_anomalies --events 10000000 --anomalies 1000

The history and the logs are Parquet files (benchmarks/planted_history.py). Each engine is the command that a user has,
`broker-sim check` without and with `--spark`. All planted findings are to be there and no others, and both engines are
to print the same verdict. Exit status 1: they do not.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.planted_history import KINDS, PROMISES, Place, write_planted_history
from benchmarks.process_usage import cpu_seconds, descendants, peak_memory_mb
from broker_scenarios.findings import FindingKind
from broker_sim.argument_types import positive, seed

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["differences", "places_of"]

ENGINES: Final = {"direct": (), "spark": ("--spark", "--master", "local[2]")}
SAMPLE_EVERY_S: Final = 0.1
BROKEN: Final = 1
"""The exit status of `broker-sim check` for a history that breaks a promise."""
_BY_OPERATIONS: Final = (FindingKind.NONMONOTONIC_SEND.value,)
"""The findings that have no values."""
_WITHOUT_PLACE: Final = (FindingKind.G0_PROCESS.value, FindingKind.G0_REALTIME.value)
"""Permitted: a record out of order is in a cycle with what its process, or any process, sent meanwhile."""


@dataclass(slots=True)
class Usage:
    """Seconds, CPU seconds, and the peak memory of one process by its part, in MB."""

    seconds: float = 0.0
    cpu_of: dict[int, float] = field(default_factory=dict)
    peak_of: dict[int, float] = field(default_factory=dict)
    part_of: dict[int, str] = field(default_factory=dict)

    def sample(self, driver: int) -> None:
        """Read the usage of a process and of all that it has started."""
        for pid in (driver, *descendants(driver)):
            try:
                self.cpu_of[pid], self.peak_of[pid] = cpu_seconds(pid), peak_memory_mb(pid)
                name = Path(f"/proc/{pid}/comm").read_text().strip()
            except (OSError, ValueError):
                continue  # It has ended.
            self.part_of[pid] = "driver" if pid == driver else "JVM" if name == "java" else "worker"

    def lines(self, events: int) -> list[str]:
        """The usage in two lines."""
        cpu = sum(self.cpu_of.values())
        peaks: dict[str, float] = {}
        for pid, part in self.part_of.items():
            peaks[part] = max(peaks.get(part, 0.0), self.peak_of[pid])
        memory = ", ".join(f"{part} {peak:,.0f} MB" for part, peak in peaks.items())
        return [
            (
                f"  {self.seconds:.1f} s, {events / self.seconds:,.0f} events/s, {cpu:.1f} s of CPU"
                f" ({cpu / events * 1e6:.1f} us per event)"
            ),
            f"  peak memory of a process: {memory}",
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a history, judge it, and compare; returns 1 if something was missed, invented or different."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted_anomalies", description=__doc__)
    parser.add_argument("--events", type=positive, default=10_000_000, help="about how many (default 10,000,000)")
    parser.add_argument("--anomalies", type=positive, default=1_000, help="how many (default 1,000)")
    parser.add_argument("--engine", choices=(*ENGINES, "both"), default="both", help="(default both)")
    parser.add_argument("--seed", type=seed, default=0, help="the seed of the history (default 0)")
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="planted-") as folder:
        return _compare(Path(folder), options)


def _compare(folder: Path, options: argparse.Namespace) -> int:
    begin = time.perf_counter()
    try:
        broken, recovered = write_planted_history(
            folder, events=options.events, anomalies=options.anomalies, seed=options.seed
        )
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    (folder / "promises.json").write_text(json.dumps(PROMISES))
    print(
        f"{options.events:,} events with {options.anomalies:,} anomalies of {len(KINDS)} kinds, seed {options.seed}:"
        f" written in {time.perf_counter() - begin:.1f} s"
    )
    verdicts: list[dict[str, Any]] = []
    failed = False
    for engine in ENGINES if options.engine == "both" else (options.engine,):
        usage, verdict = _judged(folder, engine)
        verdicts.append(verdict)
        wrong = differences(places_of(verdict), broken + recovered)
        failed |= bool(wrong)
        found = len(broken) - sum(1 for line in wrong if line.startswith("missed"))
        print(f"{engine}: {found:,} of {len(broken):,} findings, {'as planted' if not wrong else 'not as planted'}")
        print(*usage.lines(options.events), *(f"  {line}" for line in wrong[:20]), sep="\n")
    if len(verdicts) == len(ENGINES):
        same = verdicts[0] == verdicts[1]
        failed |= not same
        print("both engines print the same verdict" if same else "the verdicts of the engines differ")
    return int(failed)


def places_of(verdict: dict[str, Any]) -> list[Place]:
    """Return the places of the findings of a verdict (`broker-sim check --json`)."""
    return [
        Place(
            each["name"],
            each["key"],
            tuple(sorted(each["values"])),
            tuple(each["ops"]) if each["name"] in _BY_OPERATIONS else (),
        )
        for each in verdict["findings"]
        if each["name"] not in _WITHOUT_PLACE
    ]


def differences(found: Sequence[Place], planted: Sequence[Place]) -> list[str]:
    """Return a line per planted place that was not found, and per found place that was not planted."""
    left = list(found)
    lines: list[str] = []
    counts: dict[Place, int] = {}
    for place in left:
        counts[place] = counts.get(place, 0) + 1
    for place in planted:
        if counts.get(place, 0):
            counts[place] -= 1
        else:
            lines.append(f"missed: {place}")
    lines += [f"invented: {place}" for place, count in counts.items() for _ in range(count)]
    return lines


def _judged(folder: Path, engine: str) -> tuple[Usage, dict[str, Any]]:
    command = [
        *(sys.executable, "-m", "broker_scenarios", "check", str(folder / "history"), "--json"),
        *("--promises", str(folder / "promises.json"), "--logs", str(folder / "logs"), *ENGINES[engine]),
    ]
    usage, begin = Usage(), time.perf_counter()
    with (folder / f"{engine}.json").open("w+") as verdict:
        process = subprocess.Popen(command, stdout=verdict)
        while process.poll() is None:
            usage.sample(process.pid)
            time.sleep(SAMPLE_EVERY_S)
        usage.seconds = time.perf_counter() - begin
        if process.returncode != BROKEN:
            raise SystemExit(f"{' '.join(command)}: exit status {process.returncode}")
        verdict.seek(0)
        loaded: dict[str, Any] = json.load(verdict)
    return usage, loaded


if __name__ == "__main__":
    sys.exit(main())
