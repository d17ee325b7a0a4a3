"""The state of the active controller: brokers, assignments, leaders, partition and replica states. Mirrors
ControllerContext.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from broker_sim.zookeeper.states import PartitionState, ReplicaState, may_become, replica_may_become

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.controller.reassignment import Assignment
    from broker_sim.metadata.metadata_image import BrokerRegistration
    from broker_sim.topic_partition import TopicPartition
    from broker_sim.zookeeper.leader_and_isr import LeaderAndIsr

    PartitionAndReplica: TypeAlias = tuple[TopicPartition, int]


class ControllerContext:
    """Read from ZooKeeper at a failover and kept up to date by the controller's events; private to the controller."""

    def __init__(self) -> None:
        self.epoch = 0
        self.epoch_version: int | None = None
        """The version of the znode of the controller epoch; None where writes are not fenced by it."""
        self.brokers: dict[int, BrokerRegistration] = {}
        """Those that are alive, whether they shut down or not."""
        self.shutting_down: dict[int, None] = {}
        self.topic_ids: dict[str, bytes] = {}
        self.assignments: dict[TopicPartition, Assignment] = {}
        self.leadership: dict[TopicPartition, LeaderAndIsr] = {}
        self.partition_states: dict[TopicPartition, PartitionState] = {}
        self.replica_states: dict[PartitionAndReplica, ReplicaState] = {}
        self.offline_directories: dict[PartitionAndReplica, None] = {}
        """Replicas in log directories that their brokers have reported as offline."""
        self.to_be_deleted: dict[str, None] = {}
        self.deletion_ineligible: dict[str, None] = {}
        self.deletion_started: dict[str, None] = {}
        self.reassigning: dict[TopicPartition, None] = {}

    def clear(self) -> None:
        """Clear everything except the epoch."""
        epoch = self.epoch
        self.__init__()  # type: ignore[misc]
        self.epoch = epoch

    # Brokers and replicas.

    def is_live(self, broker_id: int) -> bool:
        """Return True if the broker is alive and does not shut down."""
        return broker_id in self.brokers and broker_id not in self.shutting_down

    def is_online(self, topic_partition: TopicPartition, broker_id: int, *, shutting_down_too: bool = False) -> bool:
        """Return True if a replica's broker is alive and its log directory is not offline."""
        alive = broker_id in self.brokers if shutting_down_too else self.is_live(broker_id)
        return alive and (topic_partition, broker_id) not in self.offline_directories

    def replicas(self, topic_partition: TopicPartition) -> tuple[int, ...]:
        """Return the assigned replicas; none for an unknown partition."""
        assignment = self.assignments.get(topic_partition)
        return () if assignment is None else assignment.replicas

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """All partitions of a topic."""
        return [each for each in self.assignments if each.topic == topic]

    def replicas_of_topic(self, topic: str) -> list[PartitionAndReplica]:
        """All replicas of a topic."""
        return [(each, replica) for each in self.partitions_of(topic) for replica in self.assignments[each].replicas]

    def replicas_on(self, broker_ids: Iterable[int]) -> list[PartitionAndReplica]:
        """All replicas on these brokers."""
        wanted = dict.fromkeys(broker_ids)
        return [
            (topic_partition, replica)
            for topic_partition, assignment in self.assignments.items()
            for replica in assignment.replicas
            if replica in wanted
        ]

    def with_leaders(self) -> list[TopicPartition]:
        """The partitions whose leader and ISR are known."""
        return [each for each in self.assignments if each in self.leadership]

    def led_by(self, broker_id: int) -> list[TopicPartition]:
        """The partitions that a broker leads and that would miss it."""
        return [
            each
            for each, state in self.leadership.items()
            if state.leader == broker_id and len(self.replicas(each)) > 1 and each.topic not in self.to_be_deleted
        ]

    def with_offline_leader(self) -> list[TopicPartition]:
        """The partitions without a live leader, of topics that are not being deleted."""
        return [
            each
            for each, state in self.leadership.items()
            if not self.is_online(each, state.leader) and each.topic not in self.to_be_deleted
        ]

    # States.

    def partition_state(self, topic_partition: TopicPartition) -> PartitionState:
        """Return the state, NON_EXISTENT by default."""
        return self.partition_states.get(topic_partition, PartitionState.NON_EXISTENT)

    def replica_state(self, replica: PartitionAndReplica) -> ReplicaState:
        """Return the state, NON_EXISTENT by default."""
        return self.replica_states.get(replica, ReplicaState.NON_EXISTENT)

    def that_may_become(self, partitions: Iterable[TopicPartition], target: PartitionState) -> list[TopicPartition]:
        """Return those with a transition to `target`; the others keep their state."""
        return [each for each in partitions if may_become(self.partition_state(each), target)]

    def replicas_that_may_become(
        self, replicas: Iterable[PartitionAndReplica], target: ReplicaState
    ) -> list[PartitionAndReplica]:
        """Return those with a transition to `target`; the others keep their state."""
        return [each for each in replicas if replica_may_become(self.replica_state(each), target)]

    def replicas_in(self, topic: str, state: ReplicaState) -> list[PartitionAndReplica]:
        """The replicas of a topic in a state."""
        return [each for each in self.replicas_of_topic(topic) if self.replica_state(each) is state]

    def remove_topic(self, topic: str) -> None:
        """Remove a deleted topic."""
        for each in self.partitions_of(topic):
            for replica in self.assignments[each].replicas:
                self.replica_states.pop((each, replica), None)
            del self.assignments[each]
            self.leadership.pop(each, None)
            self.partition_states.pop(each, None)
            self.reassigning.pop(each, None)
        for kept in (self.topic_ids, self.to_be_deleted, self.deletion_ineligible, self.deletion_started):
            kept.pop(topic, None)
