"""The targets that the catalogue can run on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, Self

from broker_scenarios.table import load_progress
from broker_scenarios.targets.started_kafka import KafkaClusters, KafkaRelease
from broker_scenarios.targets.upstream import attached_to
from broker_scenarios.tcp_run import run_attached, run_locally, run_on_kafka
from broker_scenarios.virtual_run import run_virtually

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from broker_scenarios.evidence import Evidence
    from broker_scenarios.language.scenario import Scenario

__all__ = ["AttachedRuns", "CatalogTarget", "KafkaRuns", "LocalRuns", "VirtualRuns"]


class CatalogTarget(Protocol):
    """Runs the sides of pairs, one after the other."""

    @property
    def name(self) -> str:
        """`on TCP`, or the like."""

    def in_order(self, pairs: Iterable[Scenario]) -> Iterable[Scenario]:
        """Return the pairs in the order that suits the target."""

    def run(self, side: Scenario, seed: int) -> Evidence:
        """Run one side. Raises ScenarioError or BrokerSimError for what the target does not have."""


class _ByName:
    def in_order(self, pairs: Iterable[Scenario]) -> Iterable[Scenario]:
        """Return the pairs as they come."""
        return pairs


class VirtualRuns(_ByName):
    """A simulated cluster on virtual time."""

    name: Final = "on virtual time"

    def run(self, side: Scenario, seed: int) -> Evidence:
        """Run one side."""
        return run_virtually(side, seed)


class LocalRuns(_ByName):
    """A simulated cluster on TCP."""

    name: Final = "on TCP"

    def run(self, side: Scenario, seed: int) -> Evidence:
        """Run one side."""
        with load_progress(side.name, side.records) as progress:
            return run_locally(side, seed, progress)


class AttachedRuns(_ByName):
    """A cluster that runs already."""

    name: Final = "on a running cluster"

    def __init__(self, address: tuple[str, int], control: str | None) -> None:
        self._upstream = attached_to(address, control)

    def run(self, side: Scenario, seed: int) -> Evidence:
        """Run one side."""
        with load_progress(side.name, side.records) as progress:
            return run_attached(side, seed, progress, self._upstream)


class KafkaRuns:
    """A real Kafka: pairs with the same brokers and configurations share one cluster."""

    def __init__(self, folder: Path) -> None:
        self._clusters = KafkaClusters(KafkaRelease(folder))
        self.name: Final = f"on real Kafka {self._clusters.release.version}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._clusters.end()

    def in_order(self, pairs: Iterable[Scenario]) -> Iterable[Scenario]:
        """Return the pairs of one cluster after each other."""
        return sorted(pairs, key=KafkaClusters.shape_of)

    def run(self, side: Scenario, seed: int) -> Evidence:
        """Run one side."""
        with load_progress(side.name, side.records) as progress:
            return run_on_kafka(side, seed, progress, self._clusters)
