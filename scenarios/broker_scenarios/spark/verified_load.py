"""A load that is sent to any Kafka by Spark's tasks, read back by tasks, and judged: nothing passes through the driver.

The folder of a load has `history` and `logs` (Parquet) and `promises.json`, the files of `broker-sim check`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.drive import DriveSpec
from broker_scenarios.errors import ScenarioError
from broker_scenarios.histories.circumstances import circumstances_of
from broker_scenarios.spark.check import SparkEngine
from broker_scenarios.spark.drive import drive_partitions
from broker_scenarios.spark.failures import spark_errors
from broker_scenarios.spark.observed_topics import ObservedTopics
from broker_scenarios.spark.own_load import own_load_frame
from broker_scenarios.spark.session import run_workers_on_this_python
from broker_scenarios.spark.stored_records import write_stored_records
from broker_scenarios.text_forms import partition_name
from broker_scenarios.verdict import check_run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from broker_scenarios.verdict import Counts, RunVerdict, Validity

__all__ = ["HISTORY", "LOGS", "LoadVerdict", "send_and_read", "verify_load", "write_promises"]

_SETTLES_WITHIN_S: Final = 60.0
HISTORY: Final = "history"
LOGS: Final = "logs"
PROMISES: Final = "promises.json"
"""The names in the folder of a load."""
_REFUSED: Final = ("transactional.id", "client.id", "bootstrap.servers")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadVerdict:
    """The verdict on a load, and where its evidence is."""

    verdict: RunVerdict
    """The counts, and the findings with the reasons why the configurations permit them."""
    others: int
    """The records of other clients between those of the load; they are not judged."""
    folder: Path

    @property
    def validity(self) -> Validity:
        """`valid`, `broken`, or `unknown`: also if no record was acknowledged, because nothing was tested then."""
        return self.verdict.validity

    @property
    def counts(self) -> Counts:
        """The number of records by what became of them."""
        return self.verdict.counts


def verify_load(
    frame: DataFrame,
    bootstrap_servers: str,
    folder: Path | str,
    *,
    topic: str | None = None,
    producer_config: Mapping[str, str] | None = None,
    run_id: str = "load",
) -> LoadVerdict:
    """Send the rows of a DataFrame to a Kafka, read back what it stored, and judge each record.

    Args:
        frame: each of its partitions is sent by a producer of its own, in the order of the rows. Its columns are
            `value` and, optionally, `key` (string or binary), `topic` (string), `partition` (int),
            `headers` (array<struct<key:string,value:binary>>) and `timestamp` (timestamp, or long in ms).
        bootstrap_servers: the addresses of brokers, `host:port,host:port`.
        folder: for history, logs and promises; driver and tasks can reach it. Its earlier results are replaced.
        topic: the topic of all rows; None if they have their own. It exists, and may have other records.
        producer_config: Kafka's configurations of the producers, such as acks.
        run_id: a name for the header that each record gets, `broker_sim.id`; loads that are sent to one topic at the
            same time need different ones.

    Raises:
        ScenarioError: a column, a topic or a configuration cannot be used, or the cluster cannot be read.
    """
    spark = frame.sparkSession
    run_workers_on_this_python(spark)
    load = own_load_frame(frame, "the DataFrame", topic=topic)
    topics = [topic] if topic is not None else _topics_of(frame)
    spec = DriveSpec(
        run_id=run_id,
        bootstrap_servers=bootstrap_servers,
        producer_config=producer_config or {},
        deadline_s=inf,
    )
    for name in _REFUSED:
        if name in spec.producer_config:
            raise ScenarioError(f"{name}={spec.producer_config[name]!r} cannot be set: the load sets it, or has none")
    evidence = Path(folder).resolve()  # the working folder of a task is not that of this process
    observed = ObservedTopics({**spec.producer_config, "bootstrap.servers": bootstrap_servers}, topics)
    try:
        promises = observed.promises(spec.producer_config)

        def send(history: str) -> None:
            with spark_errors("the load"):
                drive_partitions(load, spec, history)

        others = send_and_read(spark, send, spec, observed, evidence, has_own_values=True)
        log_starts = observed.log_starts()
    finally:
        observed.close()
    write_promises(evidence, promises, log_starts)
    verdict = check_run(
        history=evidence / HISTORY,
        stored=evidence / LOGS,
        promises=circumstances_of(promises).promises,
        engine=SparkEngine(spark),
        log_starts=log_starts,
    )
    return LoadVerdict(verdict=verdict, others=others, folder=evidence)


def write_promises(folder: Path, promises: Mapping[str, Any], log_starts: Mapping[tuple[str, int], int]) -> None:
    """Write the promises file of a load, with the offsets at which its partitions began."""
    starts = {partition_name(*key): first for key, first in log_starts.items()}
    text = json.dumps({**promises, "log_start": starts}, indent=1)
    (folder / PROMISES).write_text(text + "\n", encoding="utf-8")


def send_and_read(
    spark: SparkSession,
    send: Callable[[str], object],
    spec: DriveSpec,
    observed: ObservedTopics,
    folder: Path,
    *,
    has_own_values: bool,
) -> int:
    """Send a load, and read what the observed topics hold then. `send` writes the history to the folder that it gets.

    Writes `history` and `logs` to `folder`, and returns the number of records of other clients.

    Raises:
        ScenarioError: Spark has too few task slots, a task failed, or the cluster cannot be read.
    """
    send(str(folder / HISTORY))
    with spark_errors(f"{spec.bootstrap_servers}: the logs"):
        return write_stored_records(
            spark,
            observed.client,
            observed.settled_ranges(within_s=_SETTLES_WITHIN_S),
            str(folder / LOGS),
            run_id=spec.run_id,
            has_own_values=has_own_values,
        )


def _topics_of(frame: DataFrame) -> list[str]:
    with spark_errors("the DataFrame"):
        topics = [row.topic for row in frame.select("topic").distinct().collect()]
    if None in topics:
        raise ScenarioError("the DataFrame: column 'topic' has a null: expected the name of a topic in each row")
    return sorted(topics)
