"""A faulty cluster with a streams group of three subtopologies, whose internal topics the broker creates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol_specs.messages.streams_group_heartbeat import Subtopology, Topology
from tests.broker_sim.coordinators.faulty_cluster import OFFSETS_TOPIC, FaultyCluster
from tests.broker_sim.coordinators.groups.streams.streams_bench import internal

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.streams.streams_member import StreamsMember

GROUP: Final = "counts"
ORDERS: Final = "orders"
BILLS: Final = "bills"
REPARTITION: Final = "counts-repartition"
REPARTITIONS: Final = 3
ORDERS_MAX: Final = 6
SESSION_MS: Final = 4_000
REBALANCE_MS: Final = 3_000
SOURCES: Final = {"0": ORDERS, "1": REPARTITION, "2": BILLS}
"""The source topic of each subtopology."""
STATEFUL: Final = ("1", "2")
_CONFIG: Final = {
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.session.timeout.ms": str(SESSION_MS),
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.num.standby.replicas": "1",
}

Task = tuple[str, int]
"""Subtopology and partition."""


def topology() -> Topology:
    """Orders are repartitioned and counted; bills are kept in a store."""
    return Topology(
        epoch=0,
        subtopologies=[
            Subtopology(subtopology_id="0", source_topics=[ORDERS], repartition_sink_topics=[REPARTITION]),
            Subtopology(
                subtopology_id="1",
                repartition_source_topics=[internal(REPARTITION, REPARTITIONS, 2)],
                state_changelog_topics=[internal("counts-changelog", 0, 2)],
            ),
            Subtopology(
                subtopology_id="2",
                source_topics=[BILLS],
                state_changelog_topics=[internal("bills-changelog", 0, 2)],
            ),
        ],
    )


class StreamsCluster(FaultyCluster):
    """Topics `orders` of four partitions, which may grow, and `bills` of two."""

    def __init__(self) -> None:
        topics = [
            TopicSpec(name=ORDERS, partitions=4, replication_factor=2),
            TopicSpec(name=BILLS, partitions=2, replication_factor=2),
        ]
        super().__init__(topics, _CONFIG, link_delay_ms=10)
        self.create_coordinators(0, GROUP, 4)

    @property
    def tasks(self) -> set[Task]:
        """All tasks of the topology."""
        counts = self.cluster.partition_counts
        return {(name, index) for name, topic in SOURCES.items() for index in range(counts.get(topic, 0))}

    @property
    def group(self) -> StreamsGroup | None:
        """The group at its coordinator; None while that moves or has uncommitted records."""
        shard = self.shard(OFFSETS_TOPIC)
        return None if shard is None else shard.groups.find(StreamsGroup, GROUP)

    def member(self, member_id: str) -> StreamsMember | None:
        """Return a member at the coordinator."""
        group = self.group
        return None if group is None else group.members.get(member_id)

    def add_partition(self) -> None:
        """Add a partition to the source of the subtopology without state."""
        count = self.cluster.partition_counts[ORDERS]
        if count < ORDERS_MAX:
            topics = [CreatePartitionsTopic(name=ORDERS, count=count + 1, assignments=None)]
            response = self.call(self.running[0], CreatePartitionsRequest(topics=topics, timeout_ms=1_000), 3)
            assert response.results[0].error_code == 0, response

    def commit(self, coordinator: int, member_id: str, epoch: int, task: Task) -> int:
        """Return the error of a commit for the source partition of a task."""
        subtopology, index = task
        partition = OffsetCommitRequestPartition(partition_index=index, committed_offset=1)
        request: Any = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=epoch,
            member_id=member_id,
            topics=[OffsetCommitRequestTopic(name=SOURCES[subtopology], partitions=[partition])],
        )
        response = self.call(coordinator, request, 9)
        return int(response.topics[0].partitions[0].error_code)
