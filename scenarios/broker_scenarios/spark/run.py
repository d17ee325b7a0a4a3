"""One scenario with its load from Spark: generated, sent and checked on DataFrames; the brokers run here."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from broker_scenarios.arrow.truth_files import TruthFiles
from broker_scenarios.evidence import judged
from broker_scenarios.spark.check import SparkEngine
from broker_scenarios.spark.own_load import planned_load
from broker_scenarios.spark.session import start_session
from broker_scenarios.table import load_progress
from broker_scenarios.tcp_run import run_id_of, run_over_tcp

if TYPE_CHECKING:
    from broker_scenarios.drive import DriveSpec
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.run_record import RunRecord

__all__ = ["run_with_spark"]


def run_with_spark(
    scenario: Scenario, seed: int, *, reproduce: str, history_folder: Path | None, load: str | None = None
) -> RunRecord:
    """Run and judge a scenario; its history and the records of its logs are Parquet files, which the checks read.

    `load` has the records in place of those of the file: a path of Parquet, or kafka://HOST:PORT/TOPIC.
    """
    producers = 1 if scenario.only_load.load is None else scenario.only_load.load.producers
    spark = start_session(task_slots=max(2, producers))
    planned = planned_load(spark, scenario, seed, load)
    temporary = Path(mkdtemp(prefix="broker-sim-"))
    # The working folder of a task is not that of this process.
    folder = (history_folder or temporary).resolve() / run_id_of(scenario, seed)

    def send(spec: DriveSpec) -> Path:
        planned.send(spec, str(folder))
        return folder

    try:
        with load_progress(scenario.name, planned.spec.records) as progress:
            logs = TruthFiles(temporary / "logs", own_values_of=None if load is None else run_id_of(scenario, seed))
            evidence = run_over_tcp(
                planned.scenario, seed, send, progress, sender=f"Spark {spark.version}", load=planned.text, logs=logs
            )
        return judged(evidence, engine=SparkEngine(spark), reproduce=reproduce)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
