"""Conversations with three brokers, one of which may be down: replicas move, leaders are elected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol_specs.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol_specs.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from protocol_specs.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol_specs.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.differential.config_requests import DELETE, SET, TOPIC, incremental
from tests.differential.sequence_steps import Sequence, Step

if TYPE_CHECKING:
    from protocol_specs.message import Message

ALL: Final = (1, 2, 3)


@dataclass(slots=True)
class ClusterSequence(Sequence):
    """As a Sequence; requests go to any broker that is up."""

    alive: tuple[int, ...] = ALL
    leaders: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    """Partition -> the replicas that it is believed to have."""

    def steps(self, count: int) -> list[Step]:
        """Return a sequence of requests, and those that read the result."""
        self.age = 0.1
        kinds = [
            self._produce, self._produce, self._list_offsets, self._fetch, self._epochs, self._describe_producers,
            self._delete_records, self._alter_min_isr, self._create_partitions, self._delete_topic, self._metadata,
            self._reassign, self._reassign, self._reassign, self._elect, self._elect, self._list_reassignments,
            self._describe_partitions, self._log_dirs, self._create_topic,
        ]  # fmt: skip
        chosen = [kind for kind in kinds if self._chance(0.7)] or kinds
        made = [self._create_topic() for _ in range(self.random.randint(1, 2))]
        made += [self.random.choice(chosen)() for _ in range(count)]
        made += self._audit()
        made += [self._list_reassignments(), self._describe_partitions()]
        return made

    def _step(self, request: Message, version: int, **options: Any) -> Step:
        return Step(request=request, version=version, broker=self._pick(*self.alive), **options)

    def _replicas(self) -> list[int]:
        if self._chance(0.05):
            return self._pick([], [1, 1], [9], [-1], [1, 9])
        return self.random.sample(ALL, self._pick(1, 2, 2, 3, 3))

    def _create_topic(self) -> Step:
        name = f"{self.name}-{'abc'[len(self.topics) % 3]}"
        factor = self._pick(1, 2, 2, 3, 3)
        replicas = [self.random.sample(ALL, factor) for _ in range(self._pick(1, 2, 3))]
        if self._chance(0.1):
            replicas.append(self._replicas())
        configs = {"retention.ms": "-1"} | (
            {"min.insync.replicas": self._pick("1", "2", "3")} if self._chance(0.4) else {}
        )
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in enumerate(replicas)
            ],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        if name not in self.topics:
            self.topics[name] = len(replicas)
            for index, ids in enumerate(replicas):
                self.leaders[name, index] = ids
        return self._step(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), self._pick(7, 7, 6, 5, 4, 2))

    def _create_partitions(self) -> Step:
        name = self._topic()
        count = self.topics.get(name, 1) + 1
        known = len(self.leaders.get((name, 0), [1, 2]))
        replicas = self.random.sample(ALL, known) if self._chance(0.9) and known < 4 else self._replicas()
        validate = self._chance(0.2)
        if name in self.topics and not validate:
            self.leaders[name, self.topics[name]] = replicas
            self.topics[name] = count
        topic = CreatePartitionsTopic(
            name=name, count=count, assignments=[CreatePartitionsAssignment(broker_ids=replicas)]
        )
        return self._step(CreatePartitionsRequest(topics=[topic], timeout_ms=5_000, validate_only=validate), 3)

    def _alter_min_isr(self) -> Step:
        value = self._pick("1", "2", "3", None)
        operation = DELETE if value is None else SET
        return self._step(incremental((TOPIC, self._topic(), [("min.insync.replicas", operation, value)])), 1)

    def _reassign(self) -> Step:
        topics = []
        for _ in range(self._pick(1, 1, 2)):
            name = self._topic()
            indexes = self._pick([self._partition(name)], [self._partition(name)], range(self.topics.get(name, 1)))
            partitions = []
            for index in indexes:
                replicas = None if self._chance(0.3) else self._replicas()
                if replicas:
                    self.leaders[name, index] = replicas
                partitions.append(ReassignablePartition(partition_index=index, replicas=replicas))
            topics.append(ReassignableTopic(name=name, partitions=partitions))
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=10_000, topics=topics, allow_replication_factor_change=self._chance(0.85)
        )
        return self._step(request, self._pick(0, 0 if self.old else 1))

    def _elect(self) -> Step:
        name = self._topic()
        indexes = list(range(self.topics.get(name, 1)))
        wanted = [TopicPartitions(topic=name, partitions=self._pick(indexes, indexes, [self._partition(name)]))]
        request = ElectLeadersRequest(election_type=self._pick(0, 0, 1), topic_partitions=wanted, timeout_ms=5_000)
        return self._step(request, self._pick(1, 2))

    def _list_reassignments(self) -> Step:
        topics = [
            ListPartitionReassignmentsTopics(name=name, partition_indexes=list(range(count + 1)))
            for name, count in self.topics.items()
        ]
        return self._step(ListPartitionReassignmentsRequest(topics=topics, timeout_ms=5_000), 0)

    def _describe_partitions(self) -> Step:
        topics = [TopicRequest(name=name) for name in [*self.topics, f"{self.name}-none"]]
        if self.old:
            return self._metadata()
        cursor = None
        if self._chance(0.4):
            cursor = Cursor(topic_name=self._topic(), partition_index=self._pick(0, 1, 2))
        request = DescribeTopicPartitionsRequest(
            topics=topics, response_partition_limit=self._pick(2000, 1, 2), cursor=cursor
        )
        return self._step(request, 0)
