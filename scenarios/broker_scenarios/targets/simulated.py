"""A simulated cluster, on virtual time or on TCP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios import settling
from broker_scenarios.truth import read_truth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_scenarios.invariants.watch import InvariantWatch
    from broker_scenarios.truth import Truth
    from broker_sim.cluster import Cluster
    from broker_sim.control.journal import Journal
    from broker_sim.faults.engine import FaultEngine
    from broker_sim.faults.rule import Rule

__all__ = ["SimulatedTarget"]


class SimulatedTarget:
    """A cluster of this process."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def bootstrap_servers_for(self, security_protocol: str) -> str:
        """The first listener of the protocol, else that of the brokers, where such a client fails."""
        listeners = self.cluster.brokers[1].listeners
        for each in (listeners.main, *listeners.all):
            if each.security_protocol == security_protocol and each.endpoint is not None:
                return self.cluster.bootstrap_servers_of(each.name)
        return self.cluster.bootstrap_servers

    @property
    def faults(self) -> FaultEngine:
        """The cluster's engine."""
        return self.cluster.faults

    @property
    def journal(self) -> Journal:
        """The cluster's journal."""
        return self.cluster.journal

    @property
    def partition_counts(self) -> Mapping[str, int]:
        """The number of partitions of each topic."""
        return self.cluster.partition_counts

    def metric(self, name: str) -> Sequence[tuple[int | None, float]]:
        """Read it from the brokers that run."""
        return self.cluster.metrics().values(name)

    def add_rule(self, rule: Rule) -> None:
        """Add a rule of the scenario."""
        self.cluster.faults.add(rule, checked=True)

    def acknowledged(self, topic: str, partition: int, offset: int) -> None:
        """The brokers have noted the acknowledgement themselves."""

    def watch(self, invariants: Sequence[str]) -> InvariantWatch | None:
        """Check invariants at the events of the journal."""
        if not invariants:
            return None
        # Imported for a run that has some: most have none.
        from broker_scenarios.invariants.watch import InvariantWatch

        return InvariantWatch(self.cluster, invariants)

    def heal(self) -> None:
        """Close the rules, repair the disks and restart the dead."""
        settling.heal(self.cluster)

    async def settle(self, *, within_s: float) -> str | None:
        """Wait until all replicas are equal."""
        return await settling.settle(self.cluster, within_s=within_s)

    async def truth(self) -> Truth:
        """Read the leaders' logs."""
        return read_truth(self.cluster)
