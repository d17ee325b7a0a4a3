"""A snapshot of the cluster.

Mirrors Cluster, Node and MetadataSnapshot: immutable, swapped whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_client.records import PartitionInfo, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["NO_LEADER_EPOCH", "Cluster", "Node", "TopicMetadata"]

NO_LEADER_EPOCH: Final = -1


class Node(NamedTuple):
    """A broker's address; bootstrap addresses are nodes with negative ids."""

    id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port} (id: {self.id})"


@dataclass(slots=True, kw_only=True, frozen=True)
class TopicMetadata:
    """A topic's id (None from brokers before 2.8) and partitions, by partition number in ascending order."""

    name: str
    topic_id: bytes | None
    partitions: tuple[PartitionInfo, ...]


@dataclass(slots=True, kw_only=True, frozen=True)
class Cluster:
    """Nodes and topics of one metadata version; the derived tables are made once, when the snapshot is."""

    nodes: Mapping[int, Node] = field(default_factory=dict)
    topics: Mapping[str, TopicMetadata] = field(default_factory=dict)
    cluster_id: str | None = None
    controller_id: int = -1
    invalid_topics: frozenset[str] = frozenset()
    unauthorized_topics: frozenset[str] = frozenset()
    is_bootstrap: bool = False
    _leaders: dict[TopicPartition, PartitionInfo] = field(default_factory=dict, init=False, repr=False)
    _by_node: dict[int, list[TopicPartition]] = field(default_factory=dict, init=False, repr=False)
    _available: dict[str, tuple[int, ...]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for topic in self.topics.values():
            available = []
            for partition in topic.partitions:
                key = TopicPartition(partition.topic, partition.partition)
                self._leaders[key] = partition
                if partition.leader is not None and partition.leader in self.nodes:
                    self._by_node.setdefault(partition.leader, []).append(key)
                    available.append(partition.partition)
            self._available[topic.name] = tuple(available)

    @classmethod
    def bootstrap(cls, addresses: Sequence[tuple[str, int]]) -> Cluster:
        """The cluster before the first response: the configured addresses alone."""
        nodes = {-1 - index: Node(-1 - index, host, port) for index, (host, port) in enumerate(addresses)}
        return cls(nodes=nodes, is_bootstrap=True)

    def partition_count(self, topic: str) -> int:
        """How many partitions the topic has; 0 when it is unknown."""
        known = self.topics.get(topic)
        return len(known.partitions) if known is not None else 0

    def available_partitions(self, topic: str) -> tuple[int, ...]:
        """The partitions that have a leader."""
        return self._available.get(topic, ())

    def partition(self, key: TopicPartition) -> PartitionInfo | None:
        """The known state of one partition."""
        return self._leaders.get(key)

    def leader_for(self, key: TopicPartition) -> Node | None:
        """The node that leads a partition, when both are known."""
        partition = self._leaders.get(key)
        if partition is None or partition.leader is None:
            return None
        return self.nodes.get(partition.leader)

    def leader_epoch_for(self, key: TopicPartition) -> int:
        """The leader epoch of a partition, -1 when unknown."""
        partition = self._leaders.get(key)
        return partition.leader_epoch if partition is not None else NO_LEADER_EPOCH

    def partitions_for_node(self, node_id: int) -> Sequence[TopicPartition]:
        """The partitions that a node leads."""
        return self._by_node.get(node_id, ())

    def topic_id(self, topic: str) -> bytes | None:
        """The topic's id, None if the brokers have not sent it."""
        known = self.topics.get(topic)
        return known.topic_id if known is not None else None

    def merged_with(self, newer: Cluster, *, keep: Callable[[str], bool]) -> Cluster:
        """This snapshot with a partial update over it; `keep` selects the topics that stay without an update."""
        topics = {name: topic for name, topic in self.topics.items() if name not in newer.topics and keep(name)}
        topics.update(newer.topics)
        return Cluster(
            nodes=newer.nodes,
            topics=topics,
            cluster_id=newer.cluster_id,
            controller_id=newer.controller_id,
            invalid_topics=frozenset(name for name in self.invalid_topics if keep(name)) | newer.invalid_topics,
            unauthorized_topics=frozenset(name for name in self.unauthorized_topics if keep(name))
            | newer.unauthorized_topics,
        )

    def with_leaders(self, nodes: Mapping[int, Node], partitions: Sequence[PartitionInfo]) -> Cluster:
        """This snapshot with newer leaders of some partitions (KIP-951)."""
        replaced = {(partition.topic, partition.partition): partition for partition in partitions}
        topics = {
            name: TopicMetadata(
                name=name,
                topic_id=topic.topic_id,
                partitions=tuple(replaced.get((one.topic, one.partition), one) for one in topic.partitions),
            )
            for name, topic in self.topics.items()
        }
        return Cluster(
            nodes=nodes,
            topics=topics,
            cluster_id=self.cluster_id,
            controller_id=self.controller_id,
            invalid_topics=self.invalid_topics,
            unauthorized_topics=self.unauthorized_topics,
        )
