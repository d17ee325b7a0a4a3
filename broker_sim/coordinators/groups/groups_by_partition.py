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
    found: dict[int, list[str]] = {}
    for group_id in group_ids:
        partition = partition_for(group_id, partitions) if partitions else -1
        found.setdefault(partition, []).append(group_id)
    topic = Log.CONSUMER_OFFSETS.value
    order = computed_order(list(found), lambda partition: topic_partition_hash(topic, partition))
    return {partition: found[partition] for partition in order}
