"""The topics of a topology: which exist, which the broker creates, and how many tasks result. Mirrors
InternalTopicManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.streams.configured_topology import (
    ConfiguredSubtopology,
    ConfiguredTopology,
    InternalTopic,
    StatusCode,
    TopicProblem,
)
from broker_sim.coordinators.groups.streams.partition_counts import (
    copartition_groups,
    decide_partition_counts,
    source_names,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_sim.coordinators.groups.streams.partition_counts import PartitionCounts
    from broker_sim.coordinators.groups.streams.streams_topology import StreamsTopology
    from broker_sim.metadata.metadata_image import MetadataImage
    from protocol_specs.schemas.coordinator.streams_group_topology import Subtopology, TopicInfo

__all__ = ["configure_topics"]

_NAMED_MAX: Final = 3
"""The number of topics that a status names."""


def configure_topics(topology: StreamsTopology, image: MetadataImage) -> ConfiguredTopology:
    """Return the topology with its topics, or with the problem that they have.

    Raises:
        CoordinatorError: STREAMS_INVALID_TOPOLOGY: the number of partitions cannot be derived.
    """
    subtopologies = [topology.subtopologies[name] for name in hash_order(topology.subtopologies)]
    copartitioned = [group for each in subtopologies for group in copartition_groups(each)]
    try:
        _check_source_topics(subtopologies, image)
        counts = decide_partition_counts(subtopologies, copartitioned, image)
        configured = {
            name: _configured(topology.subtopologies[name], counts) for name in sorted(topology.subtopologies)
        }
        missing = _missing_topics(configured, topology, image)
    except TopicProblem as error:
        return ConfiguredTopology(topology.epoch, None, problem=error)
    problem = None
    if missing:
        detail = f"Internal topics are missing: {_summary(list(missing))}"
        problem = TopicProblem(StatusCode.MISSING_INTERNAL_TOPICS, detail)
    return ConfiguredTopology(topology.epoch, configured, missing, problem)


def _check_source_topics(subtopologies: Sequence[Subtopology], image: MetadataImage) -> None:
    missing = {topic for each in subtopologies for topic in each.source_topics if topic not in image.topics}
    if missing:
        raise TopicProblem(StatusCode.MISSING_SOURCE_TOPICS, f"Source topics {_summary(sorted(missing))} are missing.")


def _configured(subtopology: Subtopology, counts: PartitionCounts) -> ConfiguredSubtopology:
    return ConfiguredSubtopology(
        tasks=max(counts.existing(topic) for topic in source_names(subtopology)),
        source_topics=frozenset(subtopology.source_topics),
        repartition_sources=_internal_topics(subtopology.repartition_source_topics, counts),
        repartition_sinks=frozenset(subtopology.repartition_sink_topics),
        changelogs=_internal_topics(subtopology.state_changelog_topics, counts),
    )


def _internal_topics(infos: Sequence[TopicInfo], counts: PartitionCounts) -> Mapping[str, InternalTopic]:
    found = {}
    for info in infos:
        partitions = info.partitions or counts.decided[info.name]
        configs = {each.key: each.value for each in info.topic_configs}
        if partitions < 1 or len(configs) < len(info.topic_configs) or info.name in found:
            raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
        found[info.name] = InternalTopic(info.name, partitions, info.replication_factor, configs)
    return {name: found[name] for name in hash_order(found)}


def _missing_topics(
    configured: Mapping[str, ConfiguredSubtopology], topology: StreamsTopology, image: MetadataImage
) -> dict[str, InternalTopic]:
    """Return the internal topics that do not exist, in the order of Kafka's map of all of them.

    Raises:
        TopicProblem: One that exists has another number of partitions.
    """
    wanted = {
        name: topic
        for each in configured.values()
        for topics in (each.repartition_sources, each.changelogs)
        for name, topic in topics.items()
    }
    for name in topology.required_topics:
        existing = image.topics.get(name)
        if existing is not None and name in wanted and len(existing.partitions) != wanted[name].partitions:
            raise TopicProblem(
                StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
                f"Existing topic {name} has different number of partitions: expected {wanted[name].partitions}, found "
                f"{len(existing.partitions)}",
            )
    return {name: wanted[name] for name in hash_order(wanted) if name not in image.topics}


def _summary(names: Sequence[str]) -> str:
    more = len(names) - _NAMED_MAX
    return ", ".join(names[:_NAMED_MAX]) + (f" and {more} additional topics" if more > 0 else "")
