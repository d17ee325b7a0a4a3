"""Scenarios one after another: run and judge each, print the table, write the report and the result files."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final

from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import Evidence, judged
from broker_scenarios.reproduce import reproduce_command
from broker_scenarios.result_files import ResultFiles, read_decisions, run_result
from broker_scenarios.table import load_progress, print_table
from broker_sim.broker_configs import BrokerConfigs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.run_record import RunRecord
    from broker_scenarios.targets.started_kafka import KafkaClusters
    from broker_scenarios.tracing.run_trace import RunTrace

__all__ = ["RunOptions", "Where", "run_scenarios"]

DEFAULT_REPORT: Final = Path("report.html")


class Where(Enum):
    """The environment of a run: virtual time, TCP or Spark. The value is the option of the command line."""

    VIRTUAL = "--virtual"
    SPARK = "--spark"
    LOCAL = "--local"
    ATTACHED = "--attach"
    KAFKA = "--kafka"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of `broker-sim run`."""

    where: Where = Where.VIRTUAL
    seed: int | None = None
    """The seed of every run; without it each scenario's own."""
    records: int | None = None
    """The number of records of every run; without it each scenario's own."""
    report: Path | None = None
    files: ResultFiles = field(default_factory=ResultFiles)
    history_folder: Path | None = None
    trace_folder: Path | None = None
    decisions: Path | None = None
    """A file with draws that are replayed, in place of those of the seed."""
    attach: tuple[str, int] | None = None
    """The address of the running cluster of ATTACHED."""
    control: str | None = None
    """The command that controls the processes of ATTACHED."""
    kafka: Path | None = None
    """The folder of the release of KAFKA."""
    load: str | None = None
    """The source of the records of SPARK, in place of those of the file."""
    bootstrap: tuple[str, int] | None = None
    """The address of the cluster of SPARK; None for a simulated one."""
    command_config: Path | None = None
    """The file with the configurations by which the clients of `bootstrap` connect."""

    @property
    def target(self) -> str:
        """The target as options of the command line."""
        if self.attach is not None:
            control = "" if self.control is None else f" --control {quote(self.control)}"
            return f"--attach {self.attach[0]}:{self.attach[1]}{control}"
        if self.kafka is not None:
            return f"--kafka {quote(str(self.kafka))}"
        bootstrap = "" if self.bootstrap is None else f" --bootstrap {self.bootstrap[0]}:{self.bootstrap[1]}"
        if self.command_config is not None:
            bootstrap += f" --command-config {quote(str(self.command_config))}"
        return f"{self.where.value}{bootstrap}{'' if self.load is None else f' --load {quote(self.load)}'}"


def run_scenarios(scenarios: Sequence[Scenario], options: RunOptions) -> int:
    """Run and judge the scenarios and print the table; returns 0 if each ended as its file expects, else 1.

    Raises:
        ScenarioError: an option or a scenario cannot be used.
    """
    if options.trace_folder is not None and options.where in {Where.ATTACHED, Where.KAFKA}:
        raise ScenarioError("--trace records brokers of this process: a running cluster keeps no journal")
    if options.trace_folder is not None and options.where is Where.SPARK:
        raise ScenarioError("--trace records the producers of this process, not those in Spark tasks: use --local")
    if options.history_folder is not None:
        import_module("broker_scenarios.arrow.history_table")  # a missing package is reported before the runs
    with _clusters(options.kafka) as clusters:
        runs = [_run(side, options, clusters) for scenario in scenarios for side in scenario.sides()]
    print_table(runs)
    for run in runs:
        if "digest" in run.facts:
            print(f"digest: {run.facts['digest']}")
    if options.report is not None or options.where is not Where.VIRTUAL:
        from broker_scenarios.report import write_report

        print(f"report: {write_report(options.report or DEFAULT_REPORT, runs)}")
    options.files.write([run_result(run) for run in runs])
    return 0 if all(run.judgement.met for run in runs) else 1


def _clusters(kafka: Path | None) -> AbstractContextManager[KafkaClusters | None]:
    if kafka is None:
        return nullcontext()
    from broker_scenarios.targets.started_kafka import KafkaClusters, KafkaRelease

    return KafkaClusters(KafkaRelease(kafka))


def _run(scenario: Scenario, options: RunOptions, clusters: KafkaClusters | None) -> RunRecord:
    seed = scenario.seed if options.seed is None else options.seed
    reproduce = reproduce_command(
        scenario, where=options.target, seed=seed, records=options.records, decisions=options.decisions
    )
    if options.records is not None:
        scenario = scenario.with_records(options.records)
    scenario = scenario.drawn(seed, None if options.decisions is None else read_decisions(options.decisions))
    if options.where is Where.SPARK:
        return _run_with_spark(scenario, seed, reproduce, options)
    if options.where in {Where.VIRTUAL, Where.LOCAL}:
        for warning in BrokerConfigs(
            scenario.broker_config, broker_ids=range(1, scenario.brokers + 1), release=scenario.release
        ).warnings:
            print(f"{scenario.name}: {warning}", file=sys.stderr)
    with (
        _trace(options.trace_folder, f"{scenario.name}-{seed}") as trace,
        load_progress(scenario.name, None if scenario.has_scripts else scenario.records) as progress,
    ):
        if options.where is Where.VIRTUAL:
            from broker_scenarios.virtual_run import run_virtually

            evidence = run_virtually(scenario, seed, progress, trace)
        elif options.attach is not None:
            from broker_scenarios.targets.upstream import attached_to
            from broker_scenarios.tcp_run import run_attached

            evidence = run_attached(scenario, seed, progress, attached_to(options.attach, options.control))
        elif clusters is not None:
            from broker_scenarios.tcp_run import run_on_kafka

            evidence = run_on_kafka(scenario, seed, progress, clusters)
        else:
            from broker_scenarios.tcp_run import run_locally

            evidence = run_locally(scenario, seed, progress, trace)
    if trace is not None:
        print(f"trace: broker-sim trace {' '.join(quote(str(path)) for path in trace.paths)} --batch", file=sys.stderr)
    _keep(evidence, options.history_folder)
    return judged(evidence, engine=None, reproduce=reproduce)


def _run_with_spark(scenario: Scenario, seed: int, reproduce: str, options: RunOptions) -> RunRecord:
    if options.bootstrap is None:
        from broker_scenarios.spark.run import run_with_spark

        return run_with_spark(
            scenario, seed, reproduce=reproduce, history_folder=options.history_folder, load=options.load
        )
    from broker_scenarios.commands.client_configs import connection_configs
    from broker_scenarios.spark.bootstrap_run import run_on_bootstrap

    return run_on_bootstrap(
        scenario,
        seed,
        options.bootstrap,
        connection_configs(options.command_config),
        reproduce=reproduce,
        history_folder=options.history_folder,
        load=options.load,
    )


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
