"""Assignments as partitions by topic id, in the order in which Kafka lists them. Mirrors Assignment and Utils."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from protocol_specs.java_hash import hash_order_of_copied, hash_order_of_integers, hash_order_of_uuids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from broker_sim.metadata.metadata_image import TopicImage

__all__ = [
    "NO_PARTITIONS",
    "ListedPartitions",
    "OwnedPartitions",
    "TopicPartitions",
    "contains_all",
    "each_partition",
    "from_recorded_topics",
    "from_topics",
    "listed",
    "ordered",
    "partition_names",
    "reported_topics",
    "to_named_topics",
    "to_topics",
]

TopicPartitions: TypeAlias = "Mapping[bytes, frozenset[int]]"
"""Topic id -> partitions; topics without partitions are absent, except in the target assignments of share groups."""

OwnedPartitions: TypeAlias = "Sequence[tuple[bytes, frozenset[int]]]"
"""Topic ids with the partitions that a member reports as its own: a request may name a topic twice."""

NO_PARTITIONS: Final[TopicPartitions] = MappingProxyType({})

T = TypeVar("T")


class ListedPartitions(frozenset[int]):
    """Partitions whose set in Kafka lists them in another order than a HashSet that was filled by ascending number."""

    __slots__ = ("order",)

    order: tuple[int, ...]

    @classmethod
    def of(cls, order: Sequence[int]) -> frozenset[int]:
        """Return the partitions with their order, if it is not the usual one."""
        plain = frozenset(order)
        if list(order) == hash_order_of_integers(plain):
            return plain
        made = cls(plain)
        made.order = tuple(order)
        return made


class _Topic(Protocol):
    """The partitions of one topic in a request, response or record."""

    topic_id: bytes
    partitions: list[int]


def from_topics(topics: Iterable[_Topic]) -> TopicPartitions:
    """Return the assignment of a request's or record's topics."""
    return {topic.topic_id: frozenset(topic.partitions) for topic in topics}


def from_recorded_topics(topics: Iterable[_Topic]) -> TopicPartitions:
    """Return the assignment of a record's topics, whose sets are made in the order of the record."""
    return {topic.topic_id: ListedPartitions.of(hash_order_of_copied(topic.partitions)) for topic in topics}


def listed(partitions: Iterable[int]) -> list[int]:
    """Return partitions in the order in which their set in Kafka lists them."""
    return list(partitions.order) if isinstance(partitions, ListedPartitions) else hash_order_of_integers(partitions)


def reported_topics(topics: Iterable[_Topic]) -> OwnedPartitions:
    """Return the partitions of a request's topics, entry by entry."""
    return [(topic.topic_id, frozenset(topic.partitions)) for topic in topics]


def to_topics(assignment: TopicPartitions, topic_type: Callable[..., T]) -> list[T]:
    """Return `topic_type(topic_id=..., partitions=...)` for each topic, as a response or record lists them."""
    return [topic_type(topic_id=topic_id, partitions=partitions) for topic_id, partitions in ordered(assignment)]


def ordered(assignment: TopicPartitions) -> Iterator[tuple[bytes, list[int]]]:
    """Iterate over topics and partitions in the order of Java's HashMap of HashSets."""
    for topic_id in hash_order_of_uuids(assignment):
        yield topic_id, listed(assignment[topic_id])


def each_partition(assignment: TopicPartitions) -> Iterator[tuple[bytes, int]]:
    """Iterate over topic ids and partitions."""
    for topic_id, partitions in assignment.items():
        for partition in sorted(partitions):
            yield topic_id, partition


def to_named_topics(
    assignment: Mapping[bytes, list[int]], topics: Mapping[bytes, TopicImage], topic_type: Callable[..., T]
) -> list[T]:
    """Return `topic_type(topic_id=..., topic_name=..., partitions=...)` for each topic that is not deleted."""
    return [
        topic_type(topic_id=topic_id, topic_name=topics[topic_id].name, partitions=partitions)
        for topic_id, partitions in assignment.items()
        if topic_id in topics
    ]


def partition_names(assignment: TopicPartitions, topics: Mapping[bytes, TopicImage]) -> str:
    """Return the partitions as text, such as "orders-0, orders-1", without those of deleted topics."""
    return ", ".join(
        f"{topics[topic_id].name}-{partition}"
        for topic_id, partition in each_partition(assignment)
        if topic_id in topics
    )


def contains_all(assignment: TopicPartitions, topics: Iterable[Any]) -> bool:
    """Return True if every partition of a request's topics is in the assignment. Mirrors isSubset."""
    return all(
        topic.topic_id in assignment and assignment[topic.topic_id].issuperset(topic.partitions) for topic in topics
    )
