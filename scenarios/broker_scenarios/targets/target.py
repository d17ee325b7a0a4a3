"""The part of a cluster that a run uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_scenarios.invariants.watch import InvariantWatch
    from broker_scenarios.truth import Truth
    from broker_sim.control.journal import Journal
    from broker_sim.faults.engine import FaultEngine
    from broker_sim.faults.rule import Rule

__all__ = ["RunTarget"]


class RunTarget(Protocol):
    """A cluster, its rules and its journal."""

    def bootstrap_servers_for(self, security_protocol: str) -> str:
        """The address for the clients of the run that use this protocol."""

    @property
    def faults(self) -> FaultEngine:
        """The engine of the rules."""

    @property
    def journal(self) -> Journal:
        """The journal of the brokers, or of the proxy."""

    @property
    def partition_counts(self) -> Mapping[str, int]:
        """The number of partitions of each topic."""

    def metric(self, name: str) -> Sequence[tuple[int | None, float]]:
        """The values of a metric of the brokers now, each with its broker."""

    def add_rule(self, rule: Rule) -> None:
        """Add a rule. Raises BrokerSimError for one that needs what the cluster does not have."""

    def acknowledged(self, topic: str, partition: int, offset: int) -> None:
        """A client has the acknowledgement of a record; for a cluster whose brokers keep no journal."""

    def watch(self, invariants: Sequence[str]) -> InvariantWatch | None:
        """Check invariants from now on; None where none are given."""

    def heal(self) -> None:
        """End all faults."""

    async def settle(self, *, within_s: float) -> str | None:
        """Wait until the cluster is at rest. Returns None, or why it was not in time."""

    async def truth(self) -> Truth:
        """Read what the logs hold."""
