"""The batches of one partition, and of one topic beside its partitioner's state.

Mirrors RecordAccumulator.TopicInfo.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import TYPE_CHECKING

from broker_client.records import TopicPartition

if TYPE_CHECKING:
    from broker_client.core.batching.open_run import OpenRun
    from broker_client.core.batching.partitioners import BuiltInPartitioner
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.network.cluster import Cluster

__all__ = ["LedQueues", "PartitionQueue", "TopicInfo"]


class PartitionQueue:
    """Oldest batch first; callers append to the last one under `lock`, the Sender takes the first."""

    __slots__ = ("appender", "batches", "lock", "run", "topic_partition")

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.lock = Lock()
        self.batches: deque[ProducerBatch] = deque()
        self.run: OpenRun | None = None
        self.appender = 0
        """The thread that may open a run with its next record."""

    def settle(self) -> None:
        """Make the last batch what was appended to it; whoever looks at more than its age does so first."""
        if self.run is not None:
            self.run.settle()

    def head(self) -> ProducerBatch | None:
        """The oldest batch, for the Sender, who alone takes it: without the lock, for which callers would keep it."""
        batches = self.batches
        return batches[0] if batches else None


class TopicInfo:
    """A topic's queues by partition, made when the first record for one comes; each goes to `all_queues`, too."""

    __slots__ = ("_all_queues", "partitioner", "queues", "topic")

    def __init__(self, topic: str, partitioner: BuiltInPartitioner, all_queues: list[PartitionQueue]) -> None:
        self.topic = topic
        self.partitioner = partitioner
        self.queues: dict[int, PartitionQueue] = {}
        self._all_queues = all_queues

    def queue(self, partition: int) -> PartitionQueue:
        """The partition's queue. Two callers who make it at once get the same one: setdefault is atomic."""
        queue = self.queues.get(partition)
        if queue is None:
            made = PartitionQueue(TopicPartition(self.topic, partition))
            queue = self.queues.setdefault(partition, made)
            if queue is made:
                self._all_queues.append(made)
        return queue


class LedQueues:
    """The queues of a topic beside who leads their partitions in one snapshot of the cluster, for which it is made."""

    __slots__ = ("cluster", "leaders", "partitions", "queues", "queues_in_all", "without_leader")

    def __init__(self, info: TopicInfo, cluster: Cluster) -> None:
        queues = list(info.queues.values())
        self.cluster = cluster
        self.queues_in_all = len(queues)
        self.queues: list[PartitionQueue] = []
        self.partitions: list[int] = []
        self.leaders: list[int] = []
        self.without_leader: list[PartitionQueue] = []
        for queue in queues:
            leader = cluster.leader_for(queue.topic_partition)
            if leader is None:
                self.without_leader.append(queue)
                continue
            self.queues.append(queue)
            self.partitions.append(queue.topic_partition.partition)
            self.leaders.append(leader.id)
