"""A scenario's load on any Kafka: sent by Spark's tasks without a proxy in between, read back by tasks, and judged."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

from broker_scenarios.drive import DriveSpec
from broker_scenarios.drivers.installed import refuse_drivers
from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import Evidence, judged
from broker_scenarios.spark.check import SparkEngine
from broker_scenarios.spark.observed_topics import ObservedTopics
from broker_scenarios.spark.own_load import planned_load
from broker_scenarios.spark.session import start_session
from broker_scenarios.spark.verified_load import HISTORY, LOGS, send_and_read
from broker_scenarios.table import load_progress
from broker_scenarios.targets.attached import start_attached
from broker_scenarios.targets.upstream import attached_to
from broker_scenarios.tcp_run import run_id_of
from broker_scenarios.truth import Truth
from sim_runtime.random_streams import RandomStreams
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.run_record import RunRecord
    from broker_scenarios.spark.own_load import PlannedLoad
    from broker_scenarios.targets.attached import AttachedTarget
    from broker_scenarios.targets.upstream import Upstream

__all__ = ["run_on_bootstrap"]

_STOP_WITHIN_S: Final = 60.0


def run_on_bootstrap(
    scenario: Scenario,
    seed: int,
    address: tuple[str, int],
    *,
    reproduce: str,
    history_folder: Path | None,
    load: str | None = None,
) -> RunRecord:
    """Run and judge a scenario on the cluster at `address`: its topics are created, and deleted at the end.

    `load` has the records in place of those of the file: a path of Parquet, or kafka://HOST:PORT/TOPIC. The folder has
    `history` and `logs`, both as Parquet.

    Raises:
        ScenarioError: the scenario needs more than a load, or what the cluster does not have.
    """
    _refuse(scenario)
    group = scenario.only_load
    producers = 1 if group.load is None else group.load.producers
    spark = start_session(task_slots=max(2, producers))
    planned = planned_load(spark, scenario, seed, load)
    temporary = Path(mkdtemp(prefix="broker-sim-"))
    # The working folder of a task is not that of this process.
    folder = (history_folder or temporary).resolve() / run_id_of(scenario, seed)
    upstream = attached_to(address, None)
    try:
        with (
            ReactorThread("broker-sim-admin") as thread,
            load_progress(scenario.name, planned.spec.records) as progress,
        ):
            reactor, streams = thread.reactor, RandomStreams(seed)
            target = thread.call(
                lambda: start_attached(planned.scenario, reactor, streams, upstream),
                timeout_s=upstream.patience_s + scenario.deadline_s,
            )
            try:
                evidence = _evidence(planned, thread, target, upstream, folder)
            finally:
                thread.call(target.stop, timeout_s=_STOP_WITHIN_S)
            progress.update(planned.spec.records)
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


def _evidence(
    planned: PlannedLoad,
    thread: ReactorThread,
    target: AttachedTarget,
    upstream: Upstream,
    folder: Path,
) -> Evidence:
    scenario, seed, group = planned.scenario, planned.seed, planned.scenario.only_load
    spec = DriveSpec(
        run_id=run_id_of(scenario, seed),
        bootstrap_servers=upstream.name,
        producer_config=group.producer or {},
        deadline_s=scenario.deadline_s,
        close_timeout_s=scenario.deadline_s,
    )
    observed = ObservedTopics({"bootstrap.servers": upstream.name}, [topic.name for topic in scenario.topics])
    try:
        others = send_and_read(
            planned.spark,
            lambda history: planned.send(spec, history),
            spec,
            observed,
            folder,
            has_own_values=planned.frame is not None,
        )
        unsettled = thread.call(lambda: target.settle(within_s=scenario.deadline_s / 2), timeout_s=scenario.deadline_s)
        log_starts = observed.log_starts()
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
            "cluster": upstream.name,
            "load": planned.text,
            "sender": f"Spark {planned.spark.version}, over TCP",
            **({"other records": f"{others:,}"} if others else {}),
        },
        problems=(unsettled,) if unsettled else (),
    )
