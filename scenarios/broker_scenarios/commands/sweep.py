"""`broker-sim sweep`: one scenario on virtual time, seed after seed, in processes of this machine or on Spark."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from broker_scenarios.commands import defect_option, result_options, spark_options
from broker_sim.argument_types import positive, seed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.sweeps.engine import SweepEngine

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("scenario", type=Path, metavar="FILE", help="a scenario file (YAML)")
    parser.add_argument("--seeds", type=positive, default=100, help="how many seeds (default 100)")
    parser.add_argument("--first-seed", type=seed, default=0, help="the first seed (default 0)")
    parser.add_argument("--records", type=positive, help="send this many records per seed instead of the file's")
    defect_option.add(parser)
    parser.add_argument("--processes", type=positive, metavar="N", help="how many processes (default: one per core)")
    parser.add_argument(
        "--seed-limit",
        type=positive,
        metavar="SECONDS",
        help="stop a seed after this real time: it has failed (default 300)",
    )
    parser.add_argument(
        "--shrink",
        action=result_options.OutputFolder,
        metavar="FOLDER",
        help="shrink the first of the seeds that fail for the same reason, for each reason; write them to this folder",
    )
    parser.add_argument(
        "--coverage",
        action=result_options.OutputFile,
        metavar="OUT",
        help="report which rules, events, requests, errors and transitions the seeds reached; write it to this file",
    )
    parser.add_argument(
        "--mutate",
        action=result_options.OutputFolder,
        metavar="FOLDER",
        help="keep the draws of seeds that reach something new in this folder, and vary them in later seeds",
    )
    spark_options.add(parser, "in tasks of Spark (needs Java 17)")
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="with --spark: keep the results in this folder (Parquet); seeds whose results are there are not run again",
    )
    result_options.add(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the seeds and print the results. Raises ScenarioError."""
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.language.scenario import load_scenario
    from broker_scenarios.sweep import sweep

    spark_options.refuse_without_spark(options, "master", "out")
    if options.spark and options.processes is not None:
        raise ScenarioError("--processes is for a sweep without --spark: expected --master local[N]")
    if options.spark and options.mutate is not None:
        raise ScenarioError("--mutate is for a sweep without --spark")
    scenario = load_scenario(options.scenario, defect=options.defect)
    if options.records is not None:
        scenario = scenario.with_records(options.records)
    with (_on_spark if options.spark else _in_processes)(scenario, options) as engine:
        return sweep(
            scenario,
            engine,
            range(options.first_seed, options.first_seed + options.seeds),
            shrink_to=options.shrink,
            coverage_to=options.coverage,
            files=result_options.files_of(options),
        )


@contextmanager
def _in_processes(scenario: Scenario, options: argparse.Namespace) -> Iterator[SweepEngine]:
    from broker_scenarios.sweeps.engine import LocalSweep
    from broker_scenarios.sweeps.mutation import MutatingSweep

    if options.mutate is not None:
        yield MutatingSweep(scenario, options.mutate, processes=options.processes, limit_s=_limit_s(options))
        return
    yield LocalSweep(
        scenario,
        processes=options.processes,
        coverage=options.coverage is not None,
        limit_s=_limit_s(options),
    )


@contextmanager
def _on_spark(scenario: Scenario, options: argparse.Namespace) -> Iterator[SweepEngine]:
    """Without `--out` the results are in a temporary folder of this machine, which only a local Spark can reach."""
    from broker_scenarios.errors import ScenarioError
    from broker_scenarios.spark.session import start_session
    from broker_scenarios.spark.sweep import SparkSweep

    spark = start_session("broker-sim sweep", **spark_options.settings_of(options))
    with TemporaryDirectory(prefix="broker-sim-") as temporary:
        if options.out is None and not spark.sparkContext.master.startswith("local"):
            raise ScenarioError(
                f"--out is missing: the workers of {spark.sparkContext.master} need a folder that all of them can reach"
            )
        yield SparkSweep(
            spark,
            scenario,
            options.out or f"{temporary}/results",
            coverage=options.coverage is not None,
            limit_s=_limit_s(options),
        )


def _limit_s(options: argparse.Namespace) -> int:
    from broker_scenarios.sweeps.seed_run import SEED_LIMIT_S

    limit_s: int = options.seed_limit or SEED_LIMIT_S
    return limit_s
