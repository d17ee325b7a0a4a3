"""Scenarios one after another: run each where it was asked for, judge it, print the table, write the report."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import Evidence, judged
from broker_scenarios.table import load_progress, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from broker_scenarios.run_record import RunRecord
    from broker_scenarios.scenario import Scenario
    from broker_scenarios.tracing.run_trace import RunTrace

__all__ = ["Where", "run_scenarios"]

DEFAULT_REPORT: Final = Path("report.html")


class Where(Enum):
    """What a run stands on; the value is the option of the command line."""

    VIRTUAL = "--virtual"
    SPARK = "--spark"
    LOCAL = "--local"


def run_scenarios(
    scenarios: Sequence[Scenario],
    *,
    where: Where,
    seed: int | None,
    report: Path | None,
    history_folder: Path | None,
    trace_folder: Path | None = None,
) -> int:
    """Run, judge and tell; answer 0 when each ended as its file expects, else 1. Raises ScenarioError."""
    if trace_folder is not None and where is Where.SPARK:
        raise ScenarioError("--trace keeps what producers of this process tell, Spark's are elsewhere: add --local")
    runs = [
        _run(scenario, where, scenario.seed if seed is None else seed, history_folder, trace_folder)
        for scenario in scenarios
    ]
    print_table(runs)
    for run in runs:
        if "digest" in run.facts:
            print(f"digest: {run.facts['digest']}")
    if report is not None or where is not Where.VIRTUAL:
        from broker_scenarios.report import write_report

        print(f"report: {write_report(report or DEFAULT_REPORT, runs)}")
    return 0 if all(run.judgement.met for run in runs) else 1


def _run(
    scenario: Scenario, where: Where, seed: int, history_folder: Path | None, trace_folder: Path | None
) -> RunRecord:
    replay = f"broker-sim run {scenario.path} {where.value} --seed {seed}"
    if where is Where.SPARK:
        from broker_scenarios.spark.run import run_with_spark

        return run_with_spark(scenario, seed, replay=replay, history_folder=history_folder)
    with (
        _trace(trace_folder, f"{scenario.name}-{seed}") as trace,
        load_progress(scenario.name, scenario.load.records) as progress,
    ):
        if where is Where.VIRTUAL:
            from broker_scenarios.virtual_run import run_virtually

            evidence = run_virtually(scenario, seed, progress, trace)
        else:
            from broker_scenarios.tcp_run import run_with_threads

            evidence = run_with_threads(scenario, seed, progress, trace)
    if trace is not None:
        print(f"trace: broker-sim trace {' '.join(map(str, trace.paths))} --batch", file=sys.stderr)
    _keep(evidence, history_folder)
    return judged(evidence, engine=None, replay=replay)


def _trace(folder: Path | None, name: str) -> AbstractContextManager[RunTrace | None]:
    if folder is None:
        return nullcontext()
    from broker_scenarios.tracing.run_trace import RunTrace

    return RunTrace(folder, name)


def _keep(evidence: Evidence, folder: Path | None) -> None:
    if folder is None or isinstance(evidence.history, Path):
        return
    from broker_scenarios.arrow.history_table import write_history

    path = folder / f"{evidence.scenario.name}-{evidence.seed}.parquet"
    write_history(path, evidence.history)
    print(f"history: {path}", file=sys.stderr)
