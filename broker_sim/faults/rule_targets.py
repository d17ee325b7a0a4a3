"""The parts of a cluster that rules can name and need: of one that runs, or of a scenario before its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from broker_sim.faults.action import Need

__all__ = ["RuleTargets"]


class RuleTargets(Protocol):
    """The nodes and partitions that a rule can name."""

    @property
    def broker_ids(self) -> Sequence[int]:
        """The ids of all brokers."""

    @property
    def controller_ids(self) -> Sequence[int]:
        """The ids of the controllers that can be killed; empty where the one controller never fails."""

    @property
    def partition_counts(self) -> dict[str, int]:
        """The number of partitions of each topic."""

    @property
    def capabilities(self) -> Collection[Need]:
        """The parts that actions can need."""
