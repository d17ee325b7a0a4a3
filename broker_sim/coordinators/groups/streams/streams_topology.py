"""The topology that a streams group has from its first member. Mirrors StreamsTopology."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_sim.coordinators.coordinator_error import CoordinatorError
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order
from protocol_specs.schemas.coordinator.streams_group_topology import (
    CopartitionGroup,
    StreamsGroupTopologyValue,
    Subtopology,
    TopicConfig,
    TopicInfo,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.messages import streams_group_heartbeat as heartbeat

__all__ = ["StreamsTopology", "topology_value"]


@dataclass(frozen=True, slots=True)
class StreamsTopology:
    """An epoch, and subtopologies by id as the group's record has them."""

    epoch: int
    subtopologies: Mapping[str, Subtopology]

    @classmethod
    def of(cls, value: StreamsGroupTopologyValue) -> StreamsTopology:
        """Return the topology of a record.

        Raises:
            CoordinatorError: UNKNOWN_SERVER_ERROR: a negative epoch, or two subtopologies of one id.
        """
        subtopologies = {each.subtopology_id: each for each in value.subtopologies}
        if value.epoch < 0 or len(subtopologies) < len(value.subtopologies):
            raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return cls(value.epoch, subtopologies)

    @property
    def source_topics(self) -> dict[str, str]:
        """Source and repartition topics, with the id of the subtopology that reads them."""
        return {
            topic: each.subtopology_id
            for each in self.subtopologies.values()
            for topic in (*each.source_topics, *(info.name for info in each.repartition_source_topics))
        }

    @property
    def required_topics(self) -> list[str]:
        """All topics that must exist, in the order of Kafka's set of them."""
        names = dict.fromkeys(
            topic
            for each in (self.subtopologies[name] for name in hash_order(self.subtopologies))
            for topic in (
                *each.source_topics,
                *(info.name for info in each.repartition_source_topics),
                *(info.name for info in each.state_changelog_topics),
            )
        )
        return hash_order(names)


def topology_value(topology: heartbeat.Topology) -> StreamsGroupTopologyValue:
    """Return the record of a heartbeat's topology."""
    return StreamsGroupTopologyValue(
        epoch=topology.epoch,
        subtopologies=[
            Subtopology(
                subtopology_id=each.subtopology_id,
                source_topics=list(each.source_topics),
                source_topic_regex=list(each.source_topic_regex),
                state_changelog_topics=[_topic_info(info) for info in each.state_changelog_topics],
                repartition_sink_topics=list(each.repartition_sink_topics),
                repartition_source_topics=[_topic_info(info) for info in each.repartition_source_topics],
                copartition_groups=[
                    CopartitionGroup(
                        source_topics=list(group.source_topics),
                        source_topic_regex=list(group.source_topic_regex),
                        repartition_source_topics=list(group.repartition_source_topics),
                    )
                    for group in each.copartition_groups
                ],
            )
            for each in topology.subtopologies
        ],
    )


def _topic_info(info: heartbeat.TopicInfo) -> TopicInfo:
    return TopicInfo(
        name=info.name,
        partitions=info.partitions,
        replication_factor=info.replication_factor,
        topic_configs=[TopicConfig(key=each.key, value=each.value) for each in info.topic_configs],
    )
