"""One scenario on virtual time: the same brokers and the same producer in one thread, a pure function of (file, seed).

The run has two phases, as in TigerBeetle's simulator: faults while the load runs; then held requests are released, dead
brokers restart, and the cluster must come to rest. A run that is not at rest by the deadline reports it and ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.producer.producer_core import ProducerCore
from broker_client.producer_config import ProducerConfig
from broker_scenarios.evidence import Evidence
from broker_scenarios.history import HistoryRecorder
from broker_scenarios.sends import Sends
from broker_scenarios.settling import heal, settle, wait_for_due_rules
from broker_scenarios.text_forms import clock
from broker_scenarios.truth import read_truth
from broker_scenarios.workloads.keyed_load import build_load, shares_of
from broker_scenarios.workloads.values import value_bytes
from broker_sim.cluster import Cluster
from broker_sim.control.events import Detail
from sim_runtime.deadlines import DeadlineExceeded
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from broker_client.core.producer.trace import Trace
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.table import LoadProgress
    from broker_scenarios.tracing.run_trace import RunTrace
    from broker_scenarios.workloads.keyed_load import LoadRow
    from sim_runtime.virtual_host import HostReactor

__all__ = ["VirtualRun", "run_virtually"]

LINK_DELAY_MS: Final = 0.4
"""How long a request takes from one broker to another on virtual time, beside what the network takes."""

_STEP_MS: Final = 250.0
_PRODUCER_CLOSE_MS: Final = 1_000


def run_virtually(
    scenario: Scenario, seed: int, progress: LoadProgress | None = None, trace: RunTrace | None = None
) -> Evidence:
    """Run a scenario to its end on virtual time. The same scenario and seed give the same digest, always."""
    if trace is None:
        return VirtualRun(scenario, seed).run(progress)
    run = VirtualRun(scenario, seed, trace=trace.producers)
    trace.follow(run.cluster.journal)
    return run.run(progress)


class VirtualRun:
    """The world of one run. `trace` receives each step of each batch; neither it nor the journal changes the run."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        *,
        link_delay_ms: float = LINK_DELAY_MS,
        trace: Trace | None = None,
        journal_detail: Detail = Detail.FULL,
    ) -> None:
        self.scenario = scenario
        self.seed = seed
        self.world = World(seed)
        self._start_us = self.world.reactor.now_us
        self.recorder = HistoryRecorder(f"{scenario.name}-{seed}")
        self.cluster = Cluster(
            reactor=self.world.reactor,
            brokers=scenario.brokers,
            topics=scenario.topics,
            config=scenario.broker_config,
            streams=self.world.streams,
            release=scenario.release,
            host=_broker_host,
            broker_reactor=lambda broker_id: self.world.network.host(_broker_host(broker_id)),
            digest=self.world.digest,
            link_delay_ms=link_delay_ms,
            journal_detail=journal_detail,
            data_dir="/data" if scenario.on_disk else None,
            disk=VirtualDisk() if scenario.on_disk else None,
        )
        self.cluster.attach_to_network(self.world.network)
        self.cluster.start()
        self.cluster.faults.expect(records=scenario.load.records)
        for rule in scenario.rules:
            self.cluster.faults.add(rule)
        shares = shares_of(build_load(scenario.load, seed), scenario.load.producers)
        self.producers = [
            _VirtualProducer(
                producer_id=producer_id,
                rows=rows,
                bootstrap=self.cluster.bootstrap_servers,
                config=scenario.producer_config,
                reactor=self.world.network.host(f"producer-{producer_id}"),
                random=self.world.streams.stream(f"producer {producer_id}"),
                recorder=self.recorder,
                trace=trace,
            )
            for producer_id, rows in enumerate(shares)
        ]

    def run(self, progress: LoadProgress | None) -> Evidence:
        """Load under faults, then heal and rest."""
        problems: list[str] = []
        deadline_us = self.world.reactor.now_us + round(self.scenario.deadline_s * 1e6)
        for producer in self.producers:
            producer.start()
        if not self._run_while(lambda: any(p.unfinished for p in self.producers), deadline_us, progress):
            left = sum(producer.unfinished for producer in self.producers)
            problems.append(f"{left} records had no outcome after {self.scenario.deadline_s:g} s (deadline_s)")
        within_s = self.scenario.deadline_s
        left_s = max(0.0, deadline_us / 1e6 - self.world.reactor.seconds())
        self.world.run_until(wait_for_due_rules(self.cluster, within_s=left_s), deadline_ms=2_000 * within_s)
        reports = self.cluster.faults.reports()
        heal(self.cluster)
        self._close_producers(problems)
        unsettled = self.world.run_until(settle(self.cluster, within_s=within_s), deadline_ms=2_000 * within_s)
        if unsettled:
            problems.append(unsettled)
        truth = read_truth(self.cluster, [self.scenario.loaded_topic])
        evidence = Evidence(
            scenario=self.scenario,
            seed=self.seed,
            history=self.recorder.drain(),
            truth=truth,
            rules=reports,
            facts=self._facts(),
            problems=tuple(problems),
        )
        self.cluster.close()
        return evidence

    def _run_while(self, busy: Callable[[], bool], deadline_us: int, progress: LoadProgress | None) -> bool:
        while busy():
            if self.world.reactor.now_us >= deadline_us:
                return False
            self.world.run_for(ms=_STEP_MS)
            if progress is not None:
                progress.update(sum(producer.sends.completed for producer in self.producers))
        return True

    def _close_producers(self, problems: list[str]) -> None:
        for producer in self.producers:
            try:
                self.world.run_until(producer.core.close(_PRODUCER_CLOSE_MS), deadline_ms=2 * _PRODUCER_CLOSE_MS)
            except DeadlineExceeded as late:
                problems.append(f"producer {producer.producer_id}: {late}")

    def _facts(self) -> dict[str, str]:
        scenario, load = self.scenario, self.scenario.load
        return {
            "seed": str(self.seed),
            "release": scenario.release,
            "brokers": str(scenario.brokers),
            "load": f"{load.records:,} records from {load.producers} producers at {load.rate_per_s:g}/s",
            "time": f"virtual, {clock(self.world.reactor.now_us - self._start_us)} with start and settling",
            "digest": self.world.digest.hexdigest(),
        }


class _VirtualProducer:
    """One producer of the load, on a host of its own: each record is sent when it is due."""

    def __init__(
        self,
        *,
        producer_id: int,
        rows: Sequence[LoadRow],
        bootstrap: str,
        config: Mapping[str, str],
        reactor: HostReactor,
        random: Random,
        recorder: HistoryRecorder,
        trace: Trace | None,
    ) -> None:
        self.producer_id = producer_id
        self.reactor = reactor
        self._due = iter(rows)
        self._left = len(rows)
        self.sends = Sends(recorder, process=producer_id, producer_id=producer_id, now_us=self._now_us)
        settings = {"client.id": f"producer-{producer_id}", **config, "bootstrap.servers": bootstrap}
        self.core = ProducerCore(ProducerConfig(settings), reactor, random, trace=trace)
        self._start_us = 0

    @property
    def unfinished(self) -> int:
        """How many records have no outcome yet."""
        return self._left + self.sends.invoked - self.sends.completed

    def start(self) -> None:
        """Start sending; the times of the load count from now."""
        self._start_us = self._now_us()
        self._next()

    def _next(self) -> None:
        row = next(self._due, None)
        if row is not None:
            delay_us = max(0, self._start_us + row.due_us - self._now_us())
            self.reactor.callLater(delay_us / 1e6, self._send, row)

    def _send(self, row: LoadRow) -> None:
        self._left -= 1
        delivered = self.sends.invoke(topic=row.topic, key=row.key, value_id=row.value_id, size_bytes=row.size_bytes)
        self.core.send(row.topic, value_bytes(row.value_id, row.size_bytes), row.key, on_delivery=delivered)
        self._next()

    def _now_us(self) -> int:
        return round(self.reactor.seconds() * 1e6)


def _broker_host(broker_id: int) -> str:
    return f"broker-{broker_id}"
