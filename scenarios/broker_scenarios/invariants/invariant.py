"""The form of an invariant, and the cluster that it reads.

An invariant is checked at every journal event of its kinds, in the middle of the run. It reads journal and cluster and
changes neither.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol, TypeAlias

from broker_sim.broker_state import BrokerState
from broker_sim.coordinators.internal_partitions import partition_for
from broker_sim.coordinators.runtime.coordinator_record import Log
from broker_sim.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from broker_scenarios.findings import FindingKind
    from broker_sim.cluster import Cluster
    from broker_sim.control.events import Event
    from broker_sim.log.replica_log import ReplicaLog
    from broker_sim.metadata.metadata_image import PartitionRegistration
    from broker_sim.replication.partition import Partition

__all__ = ["Broken", "ClusterView", "Invariant", "PartitionEvent", "PartitionKey"]

OFFSETS_TOPIC: Final = Log.CONSUMER_OFFSETS.value

PartitionKey: TypeAlias = tuple[bytes, int]
"""The id of a topic, and a partition of it: a topic that is created again is another one."""


class PartitionEvent(Protocol):
    """An event of one partition at one broker."""

    broker_id: int
    topic: str
    partition: int


class Broken(NamedTuple):
    """An invariant that does not hold. Each `subject` of an invariant is reported once."""

    subject: Hashable
    detail: str
    topic: str = ""
    partition: int = -1
    offset: int = -1


class ClusterView:
    """Read access to the brokers of a simulated cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._topic_ids = {name: topic.topic_id for name, topic in cluster.controller.committed_image.topics.items()}

    def topic_created(self, topic: str, topic_id: bytes) -> None:
        """Note the id of a new topic."""
        self._topic_ids[topic] = topic_id

    def key(self, event: PartitionEvent) -> PartitionKey:
        """Return the identity of a partition in the metadata."""
        return self._topic_ids.get(event.topic, b""), event.partition

    def hosted(self, event: PartitionEvent) -> Partition | None:
        """Return the partition as the event's broker has it, None where it hosts none."""
        broker = self._cluster.brokers.get(event.broker_id)
        if broker is None or not broker.alive:
            return None
        return broker.replica_manager.partitions.get(TopicPartition(event.topic, event.partition))

    def led(self, event: PartitionEvent) -> Partition | None:
        """Return the partition if the event's broker leads it by its own metadata."""
        partition = self.hosted(event)
        return partition if partition is not None and partition.is_leader else None

    def log(self, broker_id: int, event: PartitionEvent) -> ReplicaLog | None:
        """Return a replica's log, also of a broker that is down, unless it has lost its power."""
        if broker_id not in self._cluster.brokers:
            return None
        return self._cluster.log_of(broker_id, event.topic, event.partition)

    def coordinating(self, broker_id: int, group_id: str) -> Partition | None:
        """Return the partition of the offsets topic that has a group, as a broker has it; None where it hosts none."""
        topic = self._cluster.controller.committed_image.topics.get(OFFSETS_TOPIC)
        broker = self._cluster.brokers.get(broker_id)
        if topic is None or broker is None or not broker.alive:
            return None
        place = TopicPartition(OFFSETS_TOPIC, partition_for(group_id, len(topic.partitions)))
        return broker.replica_manager.partitions.get(place)

    def is_returning(self, broker_id: int, event: PartitionEvent) -> bool:
        """Return True for a broker without power, or in its start: it cannot lead before it has registered again."""
        broker = self._cluster.brokers.get(broker_id)
        if broker is None:
            return False
        if broker.alive:
            return broker.lifecycle.state is BrokerState.STARTING
        return self.log(broker_id, event) is None

    def registration(self, event: PartitionEvent) -> PartitionRegistration | None:
        """Return replicas, ISR and leader as the controller has committed them."""
        return self._cluster.controller.committed_image.partition(event.topic, event.partition)

    def incarnation(self, broker_id: int) -> bytes:
        """Return the identity of the process of a broker."""
        return self._cluster.brokers[broker_id].lifecycle.incarnation


class Invariant(ABC):
    """One claim, with the state that it keeps of earlier events."""

    kind: ClassVar[FindingKind]
    claim: ClassVar[str]
    """What holds, in a line for users."""
    events: ClassVar[tuple[type[Event], ...]]
    """The kinds of events at which it is checked."""

    def __init__(self, cluster: ClusterView) -> None:
        self.cluster = cluster

    @abstractmethod
    def check(self, event: Event) -> Iterator[Broken]:
        """Return what the event shows to be broken."""
