"""One scenario on real TCP sockets: the cluster on a reactor thread of this process, the load from other threads.

A function sends the load: threads of this process (`run_with_threads`) or Spark's tasks (`spark.run`).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_scenarios.drive import DriveSpec, broker_client_producer, drive_share
from broker_scenarios.evidence import Evidence
from broker_scenarios.settling import heal, settle, wait_for_due_rules
from broker_scenarios.truth import read_truth
from broker_scenarios.workloads.keyed_load import LoadRow, build_load, shares_of
from broker_sim.threaded_cluster import ThreadedCluster
from sim_runtime.virtual_disk import VirtualDisk

if TYPE_CHECKING:
    from broker_scenarios.history import HistoryEvent
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.table import LoadProgress
    from broker_scenarios.tracing.run_trace import RunTrace
    from broker_scenarios.verdict import History

__all__ = ["SendLoad", "run_over_tcp", "run_with_threads"]

SendLoad: TypeAlias = Callable[[DriveSpec], "History"]
"""Sends the whole load and returns the history of the producers."""

_PROGRESS_EVERY_S: Final = 0.2


def run_with_threads(scenario: Scenario, seed: int, progress: LoadProgress, trace: RunTrace | None = None) -> Evidence:
    """Run a scenario with producers in threads of this process."""
    make_producer = partial(broker_client_producer, trace=None if trace is None else trace.producers)

    def send_share(share: list[LoadRow], spec: DriveSpec) -> list[HistoryEvent]:
        return [event for chunk in drive_share(share, spec, make_producer) for event in chunk]

    def send(spec: DriveSpec) -> History:
        shares = shares_of(build_load(scenario.load, seed), scenario.load.producers)
        with ThreadPoolExecutor(max_workers=len(shares)) as threads:
            parts = threads.map(partial(send_share, spec=spec), shares)
            return [event for part in parts for event in part]

    return run_over_tcp(scenario, seed, send, progress, sender="threads", trace=trace)


def run_over_tcp(
    scenario: Scenario,
    seed: int,
    send: SendLoad,
    progress: LoadProgress,
    *,
    sender: str,
    trace: RunTrace | None = None,
) -> Evidence:
    """Start the cluster, send the load with `send` under the scenario's rules, heal, settle, and read the logs."""
    with ThreadedCluster(
        brokers=scenario.brokers,
        topics=scenario.topics,
        config=scenario.broker_config,
        release=scenario.release,
        seed=seed,
        timeout_s=scenario.deadline_s,
        data_dir="/data" if scenario.on_disk else None,
        disk=VirtualDisk() if scenario.on_disk else None,
    ) as threaded:
        cluster = threaded.cluster
        if trace is not None:
            threaded.call(trace.follow, cluster.journal)
        threaded.call(lambda: cluster.faults.expect(records=scenario.load.records))
        for rule in scenario.rules:
            threaded.add_rule(rule)
        spec = DriveSpec(
            run_id=f"{scenario.name}-{seed}",
            bootstrap_servers=threaded.bootstrap_servers,
            producer_config=scenario.producer_config,
            deadline_s=scenario.deadline_s,
            close_timeout_s=scenario.deadline_s,
        )
        with _Watch(threaded, progress):
            history = send(spec)
        threaded.call(lambda: wait_for_due_rules(cluster, within_s=scenario.deadline_s / 2))
        reports = threaded.rule_reports()
        threaded.call(heal, cluster)
        unsettled = threaded.call(lambda: settle(cluster, within_s=scenario.deadline_s / 2))
        truth = threaded.call(lambda: read_truth(cluster, [scenario.loaded_topic]))
        if trace is not None:
            threaded.call(trace.stop)
    load = scenario.load
    return Evidence(
        scenario=scenario,
        seed=seed,
        history=history,
        truth=truth,
        rules=reports,
        facts={
            "seed": str(seed),
            "release": scenario.release,
            "brokers": str(scenario.brokers),
            "load": f"{load.records:,} records from {load.producers} producers at {load.rate_per_s:g}/s",
            "sender": f"{sender}, over TCP",
        },
        problems=(unsettled,) if unsettled else (),
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
