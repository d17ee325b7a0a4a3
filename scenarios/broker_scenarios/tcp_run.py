"""One scenario on real TCP sockets: the cluster and its clients on a reactor thread of this process.

A load may be sent by Spark's tasks instead (`spark.run`): `run_over_tcp` takes the function that sends it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, TypeAlias

from twisted.python.runtime import seconds

from broker_scenarios.drive import DriveSpec
from broker_scenarios.drivers.driver_process import processes_of
from broker_scenarios.drivers.installed import refuse_drivers
from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import Evidence
from broker_scenarios.playing.performance import perform
from broker_scenarios.playing.run_history import RunHistory
from broker_scenarios.playing.run_limits import RunLimits
from broker_scenarios.playing.stage import Stage
from broker_scenarios.run_certificates import with_certificates
from broker_scenarios.settling import wait_for_due_rules
from broker_scenarios.targets.attached import start_attached
from broker_scenarios.targets.attached_checks import problem_of
from broker_scenarios.targets.simulated import SimulatedTarget
from broker_scenarios.truth import read_truth
from broker_sim.threaded_cluster import ThreadedCluster
from sim_runtime.random_streams import RandomStreams
from sim_runtime.reactor_thread import ReactorThread
from sim_runtime.virtual_disk import VirtualDisk

if TYPE_CHECKING:
    from broker_scenarios.arrow.truth_files import TruthFiles
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.table import LoadProgress
    from broker_scenarios.targets.started_kafka import KafkaClusters
    from broker_scenarios.targets.upstream import Upstream
    from broker_scenarios.tracing.run_trace import RunTrace
    from broker_scenarios.verdict import History

__all__ = ["SendLoad", "cluster_of", "run_attached", "run_id_of", "run_locally", "run_on_kafka", "run_over_tcp"]

SendLoad: TypeAlias = Callable[[DriveSpec], "History"]
"""Sends the whole load and returns the history of the producers."""

_PROGRESS_EVERY_S: Final = 0.2
_GIVEN_UP_AFTER: Final = 4
"""How many times the scenario's own deadline the whole run may take: each of its parts ends before."""


def run_locally(scenario: Scenario, seed: int, progress: LoadProgress, trace: RunTrace | None = None) -> Evidence:
    """Run a scenario with its clients in the cluster's thread; foreign ones are processes of their own.

    Raises:
        ScenarioError: a driver is not installed, or the finding needs virtual time.
    """
    scenario = with_certificates(scenario, seconds())
    start_driver = processes_of(scenario)
    # Closed without the check that every rule has fired: the evidence has the reports of rules, which are judged.
    with closing(cluster_of(scenario, seed, timeout_s=_GIVEN_UP_AFTER * scenario.deadline_s)) as threaded:
        cluster = threaded.cluster
        if trace is not None:
            threaded.call(trace.follow, cluster.journal)
        stage = Stage(
            scenario=scenario,
            target=SimulatedTarget(cluster),
            reactor=cluster.reactor,
            reactor_of=lambda _: cluster.reactor,
            streams=cluster.streams,
            history=RunHistory(f"{scenario.name}-{seed}", cluster.journal.now_us),
            limits=RunLimits(keeps_values=True),
            trace=None if trace is None else trace.producers,
            start_driver=start_driver,
        )
        try:
            evidence: Evidence = threaded.call(lambda: perform(stage, seed, time="real", progress=progress))
        finally:
            threaded.call(stage.kill_drivers)
        if trace is not None:
            threaded.call(trace.stop)
    return evidence


def run_attached(scenario: Scenario, seed: int, progress: LoadProgress, upstream: Upstream) -> Evidence:
    """Run a scenario on a running cluster, through a proxy that applies its rules.

    Raises:
        ScenarioError: the scenario needs what only a simulated cluster has, or a driver that is not installed.
        ClusterGone: the cluster does not respond, or no longer.
    """
    start_driver = processes_of(scenario)
    with ReactorThread("broker-sim-proxy") as thread:
        reactor, streams = thread.reactor, RandomStreams(seed)

        async def run() -> Evidence:
            target = await start_attached(scenario, reactor, streams, upstream)
            stage = Stage(
                scenario=scenario,
                target=target,
                reactor=reactor,
                reactor_of=lambda _: reactor,
                streams=streams,
                history=RunHistory(f"{scenario.name}-{seed}", target.journal.now_us),
                limits=RunLimits(keeps_values=False),
                start_driver=start_driver,
            )
            try:
                evidence = await target.run(perform(stage, seed, time="real", progress=progress))
                return replace(evidence, facts=evidence.facts | {"brokers": str(target.brokers)})
            finally:
                stage.kill_drivers()
                await target.stop()

        timeout_s = upstream.patience_s + _GIVEN_UP_AFTER * scenario.deadline_s
        evidence: Evidence = thread.call(run, timeout_s=timeout_s)
    return evidence


def run_on_kafka(scenario: Scenario, seed: int, progress: LoadProgress, clusters: KafkaClusters) -> Evidence:
    """Run a scenario on a real Kafka that is started with its brokers and configurations.

    Raises:
        ScenarioError: the scenario needs what only a simulated cluster has, or the Kafka does not start.
    """
    problem = problem_of(scenario, clusters.release.version)
    if problem is not None:
        raise ScenarioError(f"{scenario.name}: {problem}")
    return run_attached(scenario, seed, progress, clusters.of(scenario))


def run_over_tcp(
    scenario: Scenario,
    seed: int,
    send: SendLoad,
    progress: LoadProgress,
    *,
    sender: str,
    load: str,
    logs: TruthFiles | None = None,
) -> Evidence:
    """Start the cluster, send its one load with `send` under the scenario's rules, heal, settle, and read the logs.

    `sender` and `load` describe both in the facts of the run. The records of the logs are written to `logs`, or kept in
    memory without it.

    Raises:
        ScenarioError: the scenario is more than one load, or has a driver.
    """
    refuse_drivers(scenario, "a client of Spark's tasks")
    scenario = with_certificates(scenario, seconds())
    group = scenario.only_load
    spec_of_load = group.load
    assert spec_of_load is not None, "it was chosen for its load"
    with closing(cluster_of(scenario, seed, timeout_s=scenario.deadline_s)) as threaded:
        cluster = threaded.cluster
        threaded.call(lambda: cluster.faults.expect(records=spec_of_load.records))
        for rule in scenario.rules:
            threaded.add_rule(rule)
        spec = DriveSpec(
            run_id=run_id_of(scenario, seed),
            bootstrap_servers=threaded.bootstrap_servers,
            producer_config=group.producer or {},
            deadline_s=scenario.deadline_s,
            close_timeout_s=scenario.deadline_s,
        )
        target = SimulatedTarget(cluster)
        watch = threaded.call(lambda: target.watch(scenario.always))
        threaded.call(cluster.faults.start_load)
        with _Watch(threaded, progress):
            history = send(spec)
        threaded.call(lambda: wait_for_due_rules(cluster.faults, cluster.reactor, within_s=scenario.deadline_s / 2))
        reports = threaded.rule_reports()
        threaded.call(target.heal)
        unsettled = threaded.call(lambda: target.settle(within_s=scenario.deadline_s / 2))
        truth = threaded.call(lambda: read_truth(cluster, files=logs))
    return Evidence(
        scenario=scenario,
        seed=seed,
        history=history,
        groups=dict.fromkeys(range(spec_of_load.producers), group),
        truth=truth,
        rules=reports,
        watch=watch,
        facts={
            "seed": str(seed),
            "release": scenario.release,
            "brokers": str(scenario.brokers),
            "load": load,
            "sender": f"{sender}, over TCP",
        },
        problems=(unsettled,) if unsettled else (),
    )


def run_id_of(scenario: Scenario, seed: int) -> str:
    """Return the name of a run in its history, and in the headers of a user's records."""
    return f"{scenario.name}-{seed}"


def cluster_of(
    scenario: Scenario, seed: int, *, timeout_s: float, host: str = "127.0.0.1", ports: Sequence[int] | None = None
) -> ThreadedCluster:
    """Start the cluster of a scenario, without its rules.

    Raises:
        BrokerSimError: the address cannot be used.
        ScenarioError: the finding needs virtual time.
    """
    if scenario.only_virtual:
        raise ScenarioError(f"{scenario.name}: only virtual time shows it: {scenario.only_virtual}")
    return ThreadedCluster(
        brokers=scenario.brokers,
        controllers=scenario.controllers,
        topics=scenario.topics,
        config=scenario.broker_config,
        defects=scenario.broker_defects,
        features=scenario.features,
        release=scenario.release,
        host=host,
        ports=ports,
        seed=seed,
        timeout_s=timeout_s,
        data_dir="/data" if scenario.on_disk else None,
        disk=VirtualDisk() if scenario.on_disk else None,
    )


class _Watch:
    """Updates the progress bar with the acknowledged records while other threads send."""

    def __init__(self, threaded: ThreadedCluster, progress: LoadProgress) -> None:
        self._threaded = threaded
        self._progress = progress
        self._done = Event()
        self._thread = Thread(target=self._run, name="load-progress", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._update()

    def _run(self) -> None:
        while not self._done.wait(_PROGRESS_EVERY_S):
            self._update()

    def _update(self) -> None:
        cluster = self._threaded.cluster
        down = [str(broker.id) for broker in cluster.brokers.values() if not broker.alive]
        note = f"broker {', '.join(down)} is down" if down else ""
        self._progress.update(cluster.faults.progress.acked_records, note)
