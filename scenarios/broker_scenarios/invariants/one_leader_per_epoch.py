"""one-leader-per-epoch: in one leader epoch of a partition, one broker is elected and appends.

A broker that believes to be the leader of an earlier epoch is no second leader of the present one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.findings import FindingKind
from broker_scenarios.invariants.invariant import Broken, Invariant, PartitionKey
from broker_sim.control.events import BatchAppended, LeaderElected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.invariants.invariant import ClusterView
    from broker_sim.control.events import Event

__all__ = ["OneLeaderPerEpoch"]


class OneLeaderPerEpoch(Invariant):
    """Remembers the leader of each epoch."""

    kind = FindingKind.ONE_LEADER_PER_EPOCH
    claim = "in one leader epoch of a partition, one broker is elected and appends"
    events = (LeaderElected, BatchAppended)

    def __init__(self, cluster: ClusterView) -> None:
        super().__init__(cluster)
        self._leaders: dict[tuple[PartitionKey, int], int] = {}

    def check(self, event: Event) -> Iterator[Broken]:
        """Return the second leader of an epoch."""
        assert isinstance(event, self.events), "these are the kinds"
        if event.broker_id < 0 or event.leader_epoch < 0:
            return  # no leader was found, or the message format has no epochs
        key = self.cluster.key(event)
        if isinstance(event, BatchAppended):
            partition = self.cluster.hosted(event)
            key = key if partition is None else (partition.topic_id, event.partition)
        first = self._leaders.setdefault((key, event.leader_epoch), event.broker_id)
        if first != event.broker_id:
            yield Broken(
                subject=(key, event.leader_epoch),
                detail=f"brokers {first} and {event.broker_id} both lead in leader epoch {event.leader_epoch}",
                topic=event.topic,
                partition=event.partition,
            )
