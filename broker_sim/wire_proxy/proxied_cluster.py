"""The cluster behind a proxy as a target of fault rules: its brokers, topics and leaders as of the last Metadata.

Changes of leaders and ISRs become events of the journal, so that gates can wait for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_sim.control.events import IsrChanged, LeaderElected
from broker_sim.errors import BrokerSimError
from broker_sim.faults.action import Need

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.cluster_wire import ClusterWire
    from broker_sim.control.journal import Journal
    from broker_sim.faults.rule_targets import RuleTargets

__all__ = ["ProxiedCluster"]

NO_LEADER: Final = -1


@dataclass(frozen=True, slots=True)
class ProxiedPartition:
    """A partition as Metadata describe it; the epoch is -1 before version 7."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class ProxiedCluster:
    """A FaultTarget of the wire alone: rules that need more are refused by name."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.addresses: dict[int, tuple[str, int]] = {}
        """The address of each broker behind the proxy."""
        self.partition_counts: dict[str, int] = {}
        self.topic_names: dict[bytes, str] = {}
        """The topics by id."""
        self.topic_ids: dict[str, bytes] = {}
        self.wire: ClusterWire
        self.partitions: dict[tuple[str, int], ProxiedPartition] = {}

    @property
    def capabilities(self) -> frozenset[Need]:
        """The parts that actions can need."""
        return frozenset({Need.WIRE})

    @property
    def controller_ids(self) -> Sequence[int]:
        """No controllers can be seen."""
        return ()

    @property
    def active_controller(self) -> int | None:
        """No controllers can be seen."""
        return None

    @property
    def admin(self) -> RuleTargets:
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
        known = self.partitions.get((topic, partition))
        return None if known is None or known.leader == NO_LEADER else known.leader

    def partition_of(self, topic: str, partition: int) -> ProxiedPartition:
        """Return a partition as of the last Metadata response. Raises BrokerSimError for an unknown one."""
        known = self.partitions.get((topic, partition))
        if known is None:
            raise BrokerSimError(f"there is no partition {topic}-{partition}")
        return known

    def learn(self, metadata: Any) -> None:
        """Store the topics and leaders of a MetadataResponse of the cluster."""
        for topic in metadata.topics:
            if topic.error_code or topic.name is None:
                continue
            if any(topic.topic_id):
                if topic.topic_id not in self.topic_names:
                    self.forget(topic.name)
                self.topic_names[topic.topic_id] = topic.name
                self.topic_ids[topic.name] = topic.topic_id
            self.partition_counts[topic.name] = len(topic.partitions)
            for each in topic.partitions:
                partition = ProxiedPartition(
                    each.leader_id, each.leader_epoch, tuple(each.replica_nodes), tuple(each.isr_nodes)
                )
                self._learn_partition(topic.name, each.partition_index, partition)

    def learn_all(self, metadata: Any) -> None:
        """Store a MetadataResponse about all topics, and its brokers: a topic that is not in it does not exist."""
        for broker in metadata.brokers:
            self.addresses[broker.node_id] = (broker.host, broker.port)
        for topic in set(self.partition_counts) - {each.name for each in metadata.topics}:
            self.forget(topic)
        self.learn(metadata)

    def forget(self, topic: str) -> None:
        """Forget the partitions of a topic: one of its name that comes later is another one."""
        for index in range(self.partition_counts.pop(topic, 0)):
            self.partitions.pop((topic, index), None)

    def _learn_partition(self, topic: str, index: int, partition: ProxiedPartition) -> None:
        known = self.partitions.get((topic, index))
        if known == partition or (known is not None and partition.leader_epoch < known.leader_epoch):
            return  # nothing new, or the response of a broker that is behind
        self.partitions[topic, index] = partition
        if known is None:
            return
        where: dict[str, Any] = {
            "time_us": self.journal.now_us(),
            "broker_id": partition.leader,
            "topic": topic,
            "partition": index,
            "isr": partition.isr,
            "leader_epoch": partition.leader_epoch,
        }
        if partition.leader not in {known.leader, NO_LEADER}:
            unclean = partition.leader not in known.isr
            self.journal.append(LeaderElected(previous_leader=known.leader, unclean=unclean, **where))
        elif set(partition.isr) != set(known.isr):
            self.journal.append(IsrChanged(previous_isr=known.isr, partition_epoch=-1, **where))
