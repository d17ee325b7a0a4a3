"""The number of partitions of internal topics. Mirrors RepartitionTopics, CopartitionedTopicsEnforcer and
ChangelogTopics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.streams.configured_topology import StatusCode, TopicProblem
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from broker_sim.metadata.metadata_image import MetadataImage
    from protocol_specs.schemas.coordinator.streams_group_topology import Subtopology

__all__ = ["PartitionCounts", "copartition_groups", "decide_partition_counts", "source_names"]


class PartitionCounts:
    """The partitions of topics: those that exist, else those decided so far."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self.decided: dict[str, int] = {}

    def get(self, topic: str) -> int | None:
        """Return the number of partitions of a topic, None if it is unknown."""
        existing = self._image.topics.get(topic)
        return self.decided.get(topic) if existing is None else len(existing.partitions)

    def existing(self, topic: str) -> int:
        """Return the number of partitions of a topic.

        Raises:
            CoordinatorError: UNKNOWN_SERVER_ERROR: it is unknown.
        """
        count = self.get(topic)
        if count is None:
            raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return count


def decide_partition_counts(
    subtopologies: Sequence[Subtopology], copartitioned: Iterable[list[str]], image: MetadataImage
) -> PartitionCounts:
    """Return the partitions of all internal topics, in an image that has all external source topics.

    The topics of each list of `copartitioned` get equal numbers.

    Raises:
        TopicProblem: Topics of a copartition group have different numbers of partitions.
        CoordinatorError: STREAMS_INVALID_TOPOLOGY: the numbers cannot be derived.
    """
    counts = PartitionCounts(image)
    counts.decided.update(_repartition_counts(subtopologies, counts))
    infos = [info for each in subtopologies for info in each.repartition_source_topics]
    fixed = {info.name: info.partitions for info in infos if info.partitions}
    flexible = {info.name for info in infos if not info.partitions}
    for group in copartitioned:
        if group:
            counts.decided.update(_equalized(group, fixed, flexible, counts))
    counts.decided.update(_changelog_counts(subtopologies, counts))
    return counts


def source_names(subtopology: Subtopology) -> list[str]:
    """Return the topics that a subtopology reads."""
    return [*subtopology.source_topics, *(info.name for info in subtopology.repartition_source_topics)]


def _invalid(message: str) -> CoordinatorError:
    return CoordinatorError(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)


# Repartition topics.


def _repartition_counts(subtopologies: Sequence[Subtopology], counts: PartitionCounts) -> dict[str, int]:
    """Return the partitions of repartition topics: as given, else the most of any source of their writer."""
    decided = {
        info.name: info.partitions
        for each in subtopologies
        for info in each.repartition_source_topics
        if info.partitions
    }
    while True:
        incomplete = progress = False
        for each in subtopologies:
            for sink in each.repartition_sink_topics:
                if sink in decided:
                    continue
                count = _sink_count(each, decided, counts)
                if count is None:
                    incomplete = True
                else:
                    decided[sink] = count
                    progress = True
        if not incomplete:
            break
        if not progress:
            raise _invalid(
                "Failed to compute number of partitions for all repartition topics. There may be loops in the topology "
                "that cannot be resolved."
            )
    if any(info.name not in decided for each in subtopologies for info in each.repartition_source_topics):
        raise _invalid(
            "Failed to compute number of partitions for all repartition topics, because a repartition source topic is "
            "never used as a sink topic."
        )
    return decided


def _sink_count(subtopology: Subtopology, decided: Mapping[str, int], counts: PartitionCounts) -> int | None:
    found = [decided.get(info.name) for info in subtopology.repartition_source_topics]
    found += [counts.get(topic) for topic in subtopology.source_topics]
    return max((count for count in found if count is not None), default=None)


# Copartition groups.


def copartition_groups(subtopology: Subtopology) -> Iterator[list[str]]:
    """Iterate over the copartition groups, which name their topics by places, in the order of Kafka's set of them.

    Raises:
        CoordinatorError: UNKNOWN_SERVER_ERROR: a place does not exist.
    """
    repartitions = [info.name for info in subtopology.repartition_source_topics]
    for group in subtopology.copartition_groups:
        places = [(subtopology.source_topics, place) for place in group.source_topics]
        places += [(repartitions, place) for place in group.repartition_source_topics]
        if any(not 0 <= place < len(topics) for topics, place in places):
            raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
        yield hash_order(dict.fromkeys(topics[place] for topics, place in places))


def _equalized(
    group: list[str], fixed: Mapping[str, int], flexible: set[str], counts: PartitionCounts
) -> dict[str, int]:
    """Return the partitions of the repartition topics of a group, which are those of its other topics."""
    repartitions = {topic: counts.existing(topic) for topic in group if topic in fixed or topic in flexible}
    others = {topic: counts.existing(topic) for topic in group if topic not in repartitions}
    if others:
        count = _same_count(others.values(), others)
    elif fixed:
        count = _same_count([counts.existing(topic) for topic in fixed], repartitions)
    else:
        count = max(repartitions.values())
        if not count:
            listed = "[" + ", ".join(repartitions) + "]"
            raise _invalid(f"All topics in the copartition group had undefined partition number: {listed}")
    for topic, present in repartitions.items():
        if topic in fixed and present != count:
            raise TopicProblem(
                StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
                f"Number of partitions [{present}] of repartition topic [{topic}] doesn't match number of partitions "
                f"[{count}] of the source topic.",
            )
    return dict.fromkeys(repartitions, count)


def _same_count(counts: Iterable[int], listed: Mapping[str, int]) -> int:
    different = set(counts)
    if len(different) > 1:
        topics = "{" + ", ".join(f"{topic}={count}" for topic, count in sorted(listed.items())) + "}"
        raise TopicProblem(
            StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
            f"Following topics do not have the same number of partitions: [{topics}]",
        )
    return different.pop()


# Changelog topics.


def _changelog_counts(subtopologies: Sequence[Subtopology], counts: PartitionCounts) -> dict[str, int]:
    """Return the partitions of changelog topics: the most of any source of their subtopology."""
    decided = {}
    for each in subtopologies:
        sources = [counts.existing(topic) for topic in source_names(each)]
        if not sources:
            raise _invalid(f"No source topics found for subtopology {each.subtopology_id}")
        decided.update({info.name: max(sources) for info in each.state_changelog_topics})
    return decided
