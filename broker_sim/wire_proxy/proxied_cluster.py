"""The cluster behind a proxy as a target of fault rules: its brokers, topics and leaders as of the last Metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.faults.action import Need

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.cluster_wire import ClusterWire
    from broker_sim.control.journal import Journal

__all__ = ["ProxiedCluster"]

NO_LEADER: Final = -1


class ProxiedCluster:
    """A FaultTarget of the wire alone: rules that need more are refused by name."""

    capabilities: Final = frozenset({Need.WIRE})
    controller_ids: Final[Sequence[int]] = ()
    active_controller: Final = None

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.addresses: dict[int, tuple[str, int]] = {}
        """The address of each broker behind the proxy."""
        self.partition_counts: dict[str, int] = {}
        self.topic_names: dict[bytes, str] = {}
        """The topics by id."""
        self.wire: ClusterWire
        self._leaders: dict[tuple[str, int], int] = {}

    @property
    def admin(self) -> ProxiedCluster:
        """The part that checks of rules use."""
        return self

    @property
    def broker_ids(self) -> list[int]:
        """The ids of all brokers that have been seen."""
        return sorted(self.addresses)

    def is_running(self, node_id: int) -> bool:
        """Return True for a broker that a Metadata response has named."""
        return node_id in self.addresses

    def leader_of(self, topic: str, partition: int) -> int | None:
        """Return the leader of a partition as of the last Metadata response."""
        leader = self._leaders.get((topic, partition), NO_LEADER)
        return None if leader == NO_LEADER else leader

    def learn(self, metadata: Any) -> None:
        """Store the brokers, topics and leaders of a MetadataResponse of the cluster."""
        for broker in metadata.brokers:
            self.addresses[broker.node_id] = (broker.host, broker.port)
        for topic in metadata.topics:
            if topic.error_code or topic.name is None:
                continue
            self.partition_counts[topic.name] = len(topic.partitions)
            if any(topic.topic_id):
                self.topic_names[topic.topic_id] = topic.name
            for partition in topic.partitions:
                self._leaders[topic.name, partition.partition_index] = partition.leader_id
