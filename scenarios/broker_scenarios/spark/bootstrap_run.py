"""A scenario's load on any Kafka: sent by Spark's tasks without a proxy in between, read back by tasks, and judged."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from broker_scenarios.drive import DriveSpec
from broker_scenarios.drivers.installed import refuse_drivers
from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import Evidence, judged
from broker_scenarios.spark.bootstrap_topics import BootstrapTopics
from broker_scenarios.spark.check import SparkEngine
from broker_scenarios.spark.observed_topics import ObservedTopics
from broker_scenarios.spark.own_load import planned_load
from broker_scenarios.spark.session import start_session
from broker_scenarios.spark.verified_load import HISTORY, LOGS, send_and_read, write_promises
from broker_scenarios.table import load_progress
from broker_scenarios.tcp_run import run_id_of
from broker_scenarios.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.run_record import RunRecord
    from broker_scenarios.spark.own_load import PlannedLoad

__all__ = ["run_on_bootstrap"]


def run_on_bootstrap(
    scenario: Scenario,
    seed: int,
    address: tuple[str, int],
    connection: Mapping[str, str],
    *,
    reproduce: str,
    history_folder: Path | None,
    load: str | None = None,
) -> RunRecord:
    """Run and judge a scenario on the cluster at `address`: its topics are created, and deleted at the end.

    `load` has the records in place of those of the file: a path of Parquet, or kafka://HOST:PORT/TOPIC. The folder has
    `history` and `logs`, both as Parquet, and `promises.json`. `connection` are the configurations by which clients
    connect, such as security.protocol.

    Raises:
        ScenarioError: the scenario needs more than a load, or what the cluster does not have.
    """
    _refuse(scenario)
    client = {**connection, "bootstrap.servers": f"{address[0]}:{address[1]}"}
    temporary = Path(mkdtemp(prefix="broker-sim-"))
    # The working folder of a task is not that of this process.
    folder = (history_folder or temporary).resolve() / run_id_of(scenario, seed)
    try:
        topics = BootstrapTopics(scenario, client)
        try:
            group = scenario.only_load
            spark = start_session(task_slots=max(2, 1 if group.load is None else group.load.producers))
            planned = planned_load(spark, scenario, seed, load, connection)
            with load_progress(scenario.name, planned.spec.records) as progress:
                evidence = _evidence(planned, topics, client, folder)
                progress.update(planned.spec.records)
        finally:
            topics.delete()
        return judged(evidence, engine=SparkEngine(spark), reproduce=reproduce)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _refuse(scenario: Scenario) -> None:
    refuse_drivers(scenario, "a client of Spark's tasks")
    for rule in scenario.rules:
        raise ScenarioError(
            f"{scenario.name}: rule {rule.name!r}: --bootstrap sends to the brokers themselves, without a proxy for "
            "rules and without control of processes: use --attach"
        )


def _evidence(planned: PlannedLoad, topics: BootstrapTopics, client: Mapping[str, str], folder: Path) -> Evidence:
    scenario, seed, group = planned.scenario, planned.seed, planned.scenario.only_load
    servers = client["bootstrap.servers"]
    spec = DriveSpec(
        run_id=run_id_of(scenario, seed),
        bootstrap_servers=servers,
        producer_config={**client, **(group.producer or {})},
        deadline_s=scenario.deadline_s,
        close_timeout_s=scenario.deadline_s,
    )
    observed = ObservedTopics(client, [topic.name for topic in scenario.topics])
    try:
        others = send_and_read(
            planned.spark,
            lambda history: planned.send(spec, history),
            spec,
            observed,
            folder,
            has_own_values=planned.frame is not None,
        )
        unsettled = topics.settle(within_s=scenario.deadline_s / 2)
        log_starts = observed.log_starts()
        write_promises(folder, observed.promises(group.producer or {}), log_starts)
    finally:
        observed.close()
    return Evidence(
        scenario=scenario,
        seed=seed,
        history=folder / HISTORY,
        groups=dict.fromkeys(range(planned.spec.producers), group),
        truth=Truth(stored=[], truncated=[], journal=(), logs=folder / LOGS, log_starts=log_starts),
        rules=(),
        facts={
            "seed": str(seed),
            "cluster": servers,
            "load": planned.text,
            "sender": f"Spark {planned.spark.version}, over TCP",
            **({"other records": f"{others:,}"} if others else {}),
        },
        problems=(unsettled,) if unsettled else (),
    )
