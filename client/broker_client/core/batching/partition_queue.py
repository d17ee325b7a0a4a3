"""The batches of one partition, and those of one topic with the state of its partitioner.

Mirrors RecordAccumulator.TopicInfo.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import TYPE_CHECKING

from broker_client.records import TopicPartition

if TYPE_CHECKING:
    from broker_client.core.batching.append_buffer import AppendBuffer
    from broker_client.core.batching.partitioners import BuiltInPartitioner
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.network.cluster import Cluster

__all__ = ["PartitionQueue", "QueuesByLeader", "TopicInfo"]


class PartitionQueue:
    """Oldest batch first; callers append to the last one under `lock`, the Sender drains the first."""

    __slots__ = ("append_buffer", "appender", "batches", "lock", "topic_partition")

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.lock = Lock()
        self.batches: deque[ProducerBatch] = deque()
        self.append_buffer: AppendBuffer | None = None
        self.appender = 0
        """The thread that may open an append buffer with its next record."""

    def flush(self) -> None:
        """Move buffered records into the last batch; required before anything but a batch's age is read."""
        if self.append_buffer is not None:
            self.append_buffer.flush()

    def head(self) -> ProducerBatch | None:
        """Return the oldest batch, without the lock: only the Sender, which calls this, removes batches."""
        batches = self.batches
        return batches[0] if batches else None


class TopicInfo:
    """A topic's queues by partition, each made with its first record and also added to `all_queues`."""

    __slots__ = ("_all_queues", "partitioner", "queues", "topic")

    def __init__(self, topic: str, partitioner: BuiltInPartitioner, all_queues: list[PartitionQueue]) -> None:
        self.topic = topic
        self.partitioner = partitioner
        self.queues: dict[int, PartitionQueue] = {}
        self._all_queues = all_queues

    def queue(self, partition: int) -> PartitionQueue:
        """Return the partition's queue. Concurrent callers get the same one: setdefault is atomic."""
        queue = self.queues.get(partition)
        if queue is None:
            made = PartitionQueue(TopicPartition(self.topic, partition))
            queue = self.queues.setdefault(partition, made)
            if queue is made:
                self._all_queues.append(made)
        return queue


class QueuesByLeader:
    """The queues of a topic with the leaders of their partitions in one snapshot of the cluster."""

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
