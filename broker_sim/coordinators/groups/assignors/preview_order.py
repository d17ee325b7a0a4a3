"""The orders of members and partitions on which the uniform assignor of 3.7 depends.

Mirrors AbstractUniformAssignmentBuilder and TopicIdPartition of 3.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.java_hash import hash_order_by, hash_order_of_set_by, hash_order_of_uuids, uuid_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.coordinators.groups.assignors.assignor import GroupSpec

__all__ = ["Partition", "all_partitions", "by_topic_id", "member_rank", "set_order"]

Partition = tuple[bytes, int]
"""Topic id and number."""
_INT64_SIGN: Final = 1 << 63


def all_partitions(spec: GroupSpec, topic_ids: Iterable[bytes]) -> list[Partition]:
    """Return the partitions of topics in the order of the set that is made of them. Mirrors topicIdPartitions."""
    collected = [
        (topic, number) for topic in hash_order_of_uuids(topic_ids) for number in range(spec.partitions_of(topic))
    ]
    return set_order(collected)


def set_order(partitions: Iterable[Partition]) -> list[Partition]:
    """Return distinct partitions in the order of a HashSet that grew with them."""
    return hash_order_by(partitions, _hash)


def copied_set_order(partitions: Iterable[Partition]) -> list[Partition]:
    """Return distinct partitions in the order of a HashSet that was made from a collection of them."""
    return hash_order_of_set_by(partitions, _hash)


def by_topic_id(partition: Partition) -> tuple[int, int, int]:
    """Order partitions as Uuid.compareTo does, then by number."""
    topic_id, number = partition
    high, low = int.from_bytes(topic_id[:8], "big"), int.from_bytes(topic_id[8:], "big")
    return high ^ _INT64_SIGN, low ^ _INT64_SIGN, number


def member_rank(member_id: str) -> bytes:
    """Order as String.compareTo does, by UTF-16 units."""
    return member_id.encode("utf-16-be", "surrogatepass")


def _hash(partition: Partition) -> int:
    return 31 * (31 + uuid_hash(partition[0])) + partition[1]
