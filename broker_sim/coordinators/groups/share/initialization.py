"""Which share partitions of a group have state at the share coordinator. Mirrors ShareGroupStatePartitionMetadataInfo.

A partition of a subscribed topic is initializing until the share coordinator has its state; members get only
initialized ones. A topic whose offsets are being deleted is deleting until the share coordinator has deleted its state.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions
    from broker_sim.metadata.metadata_image import MetadataImage

__all__ = ["Initialization", "InitializedTopic", "combined", "topic_names"]

UNKNOWN_NAME = "<UNKNOWN>"


class InitializedTopic(NamedTuple):
    """Partitions of a topic, and when they came into their state."""

    name: str
    partitions: frozenset[int]
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Initialization:
    """The topics of one group by id."""

    initializing: Mapping[bytes, InitializedTopic] = field(default_factory=dict)
    initialized: Mapping[bytes, InitializedTopic] = field(default_factory=dict)
    deleting: frozenset[bytes] = frozenset()

    def missing(
        self, names: Iterable[str], image: MetadataImage, *, now_ms: int, retry_ms: int
    ) -> dict[bytes, InitializedTopic]:
        """Return the partitions of topics that are neither initialized nor being initialized since `retry_ms`."""
        recent = {key: topic for key, topic in self.initializing.items() if now_ms - topic.timestamp_ms < retry_ms}
        known = combined(self.initialized, recent)
        missing: dict[bytes, InitializedTopic] = {}
        for name in names:
            topic = image.topics.get(name)
            if topic is None:
                continue
            present = known[topic.topic_id].partitions if topic.topic_id in known else frozenset()
            if len(present) < len(topic.partitions):
                partitions = frozenset(range(len(topic.partitions))) - present
                missing[topic.topic_id] = InitializedTopic(name, partitions, now_ms)
        return missing

    def with_initializing(self, topics: Mapping[bytes, InitializedTopic]) -> Initialization:
        """Begin to initialize partitions."""
        initializing = combined(self.initializing, topics)
        return replace(self, initializing=initializing, deleting=self.deleting - frozenset(initializing))

    def with_initialized(self, topics: Mapping[bytes, InitializedTopic]) -> Initialization:
        """Partitions have state now."""
        done = {key: topic.partitions for key, topic in topics.items()}
        initialized = combined(self.initialized, topics)
        return replace(self, initializing=_without(self.initializing, done), initialized=initialized)

    def without_initializing(self, partitions: TopicPartitions) -> Initialization:
        """The initialization of partitions has failed."""
        return replace(self, initializing=_without(self.initializing, partitions))

    def without_topics(self, topic_ids: frozenset[bytes]) -> Initialization:
        """Forget deleted topics."""
        return Initialization(
            {key: topic for key, topic in self.initializing.items() if key not in topic_ids},
            {key: topic for key, topic in self.initialized.items() if key not in topic_ids},
            self.deleting - topic_ids,
        )

    def has_any(self, topic_ids: frozenset[bytes]) -> bool:
        """Return True if one of the topics is in some state."""
        return not topic_ids.isdisjoint((*self.initializing, *self.initialized, *self.deleting))


def combined(
    one: Mapping[bytes, InitializedTopic], other: Mapping[bytes, InitializedTopic]
) -> dict[bytes, InitializedTopic]:
    """Return the partitions of both, with name and time of the second. Mirrors combineInitMaps."""
    both = dict(one)
    for topic_id, topic in other.items():
        known = one.get(topic_id)
        both[topic_id] = topic if known is None else topic._replace(partitions=known.partitions | topic.partitions)
    return both


def _without(topics: Mapping[bytes, InitializedTopic], removed: TopicPartitions) -> dict[bytes, InitializedTopic]:
    left: dict[bytes, InitializedTopic] = {}
    for topic_id, topic in topics.items():
        partitions = topic.partitions - removed.get(topic_id, frozenset())
        if partitions or topic_id not in removed:
            left[topic_id] = topic._replace(partitions=partitions)
    return left


def topic_names(topic_ids: Iterable[bytes], image: MetadataImage) -> dict[bytes, str]:
    """Return the names of topics by id."""
    known = image.topics_by_id
    return {topic_id: known[topic_id].name if topic_id in known else UNKNOWN_NAME for topic_id in topic_ids}
