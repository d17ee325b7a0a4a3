"""One scenario on virtual time: the same brokers and clients in one thread, a pure function of (file, seed)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_scenarios.playing.performance import perform
from broker_scenarios.playing.run_history import RunHistory
from broker_scenarios.playing.run_limits import RunLimits
from broker_scenarios.playing.stage import Stage
from broker_scenarios.run_certificates import with_certificates
from broker_scenarios.targets.simulated import SimulatedTarget
from broker_scenarios.virtual_clients.driver import VirtualDrivers
from broker_sim.cluster import Cluster
from broker_sim.control.events import Detail
from sim_runtime.virtual_disk import VirtualDisk
from sim_runtime.world import World

if TYPE_CHECKING:
    from broker_client.core.producer.trace import Trace
    from broker_scenarios.evidence import Evidence
    from broker_scenarios.language.scenario import Scenario
    from broker_scenarios.table import LoadProgress
    from broker_scenarios.tracing.run_trace import RunTrace

__all__ = ["VirtualRun", "run_virtually"]

LINK_DELAY_MS: Final = 0.4
"""How long a request takes from one broker to another on virtual time, beside what the network takes."""
_GIVEN_UP_AFTER: Final = 10
"""How many times the scenario's own deadline the whole run may take: each of its parts ends before."""


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
        self.seed = seed
        self.world = self._make_world(seed)
        self.scenario = scenario = with_certificates(scenario.drawn(seed), self.world.reactor.seconds())
        self._drivers = VirtualDrivers(scenario, self.world)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            brokers=scenario.brokers,
            controllers=scenario.controllers,
            topics=scenario.topics,
            config=scenario.broker_config,
            defects=scenario.broker_defects,
            features=scenario.features,
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
        self._attach_to_network()
        self.cluster.start()
        self._stage = Stage(
            scenario=scenario,
            target=self._make_target(),
            reactor=self.world.reactor,
            reactor_of=self.world.network.host,
            streams=self.world.streams,
            history=RunHistory(f"{scenario.name}-{seed}", self.cluster.journal.now_us),
            limits=RunLimits(keeps_values=True),
            calls_made=lambda: self.world.reactor.calls_made,
            trace=trace,
            start_driver=self._drivers.start,
        )

    def _make_world(self, seed: int) -> World:
        return World(seed)

    def _attach_to_network(self) -> None:
        self.cluster.attach_to_network(self.world.network)

    def _make_target(self) -> SimulatedTarget:
        return SimulatedTarget(self.cluster)

    def run(self, progress: LoadProgress | None) -> Evidence:
        """Play the scenario to its end."""
        with self._drivers:
            evidence = self.world.run_until(
                perform(self._stage, self.seed, time="virtual", progress=progress),
                deadline_ms=_GIVEN_UP_AFTER * 1000 * self.scenario.deadline_s,
            )
        evidence.facts["digest"] = self.world.digest.hexdigest()
        self.cluster.close()
        return evidence


def _broker_host(broker_id: int) -> str:
    return f"broker-{broker_id}"
