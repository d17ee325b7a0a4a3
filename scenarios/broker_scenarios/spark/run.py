"""One scenario with its load from Spark: generated, sent and checked on DataFrames; the brokers run here."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from broker_scenarios.arrow.truth_files import TruthFiles
from broker_scenarios.evidence import judged
from broker_scenarios.spark.check import SparkEngine
from broker_scenarios.spark.drive import drive_keyed_load
from broker_scenarios.spark.session import start_session
from broker_scenarios.table import load_progress
from broker_scenarios.tcp_run import run_over_tcp

if TYPE_CHECKING:
    from broker_scenarios.drive import DriveSpec
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.run_record import RunRecord

__all__ = ["run_with_spark"]


def run_with_spark(scenario: Scenario, seed: int, *, reproduce: str, history_folder: Path | None) -> RunRecord:
    """Run and judge a scenario; its history and the records of its logs are Parquet files, which the checks read."""
    load = scenario.only_load.load
    assert load is not None, "it was chosen for its load"
    spark = start_session(task_slots=max(2, load.producers))
    temporary = Path(mkdtemp(prefix="broker-sim-"))
    folder = (history_folder or temporary) / f"{scenario.name}-{seed}"

    def send(spec: DriveSpec) -> Path:
        drive_keyed_load(spark, load, seed, spec, str(folder))
        return folder

    try:
        with load_progress(scenario.name, load.records) as progress:
            logs = TruthFiles(temporary / "logs")
            evidence = run_over_tcp(scenario, seed, send, progress, sender=f"Spark {spark.version}", logs=logs)
        return judged(evidence, engine=SparkEngine(spark), reproduce=reproduce)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
