"""The groups of a request by the partition that has them. Mirrors groupsByTopicPartition of GroupCoordinatorService.

The responses come in the order of Java's HashMap of topic partitions; within a partition in the order of the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.internal_partitions import partition_for
from broker_sim.coordinators.runtime.coordinator_record import Log
from protocol_specs.java_hash import computed_order, topic_partition_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["groups_by_partition"]


def groups_by_partition(group_ids: Iterable[str], partitions: int) -> dict[int, list[str]]:
    """Return the group ids per partition of `__consumer_offsets`; without the topic all are in partition -1."""
    given = list(group_ids)
    places = [partition_for(group_id, partitions) if partitions else -1 for group_id in given]
    topic = Log.CONSUMER_OFFSETS.value
    order = computed_order(places, lambda partition: topic_partition_hash(topic, partition))
    found: dict[int, list[str]] = {partition: [] for partition in order}
    for group_id, partition in zip(given, places, strict=True):
        found[partition].append(group_id)
    return found
