"""The partitions that each process serves for interactive queries. Mirrors EndpointToPartitionsManager."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from broker_sim.coordinators.coordinator_error import CoordinatorError
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order, hash_order_of_integers
from protocol_specs.messages.streams_group_heartbeat import Endpoint, EndpointToPartitions, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.streams.configured_topology import ConfiguredSubtopology
    from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
    from broker_sim.coordinators.groups.streams.streams_member import StreamsMember
    from broker_sim.metadata.metadata_image import MetadataImage

__all__ = ["EndpointCache", "endpoint_partitions"]

EndpointCache: TypeAlias = "dict[str, EndpointToPartitions]"
"""Member id -> its last computed partitions."""


def endpoint_partitions(
    group: StreamsGroup, updated: StreamsMember, image: MetadataImage
) -> list[EndpointToPartitions]:
    """Return the partitions of all members with an endpoint; `updated`, the member of the heartbeat, is the last.

    Raises:
        CoordinatorError: UNKNOWN_SERVER_ERROR: the topology has no tasks yet, or a topic is missing.
    """
    others = [group.members[member_id] for member_id in group.member_ids() if member_id != updated.member_id]
    found = []
    for member in (*others, updated):
        if member.user_endpoint is None:
            continue
        if member.member_id not in group.endpoints:
            group.endpoints[member.member_id] = _of_member(group, member, member.user_endpoint, image)
        found.append(group.endpoints[member.member_id])
    return found


def _of_member(
    group: StreamsGroup, member: StreamsMember, endpoint: tuple[str, int], image: MetadataImage
) -> EndpointToPartitions:
    configured = group.configured_topology.get()
    if configured is None or configured.subtopologies is None:
        raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
    host, port = endpoint
    # A real broker puts the active ones into a map whose order is another one in each process.
    active = {name: list(member.assigned.active[name]) for name in hash_order(member.assigned.active)}
    standby = {name: hash_order_of_integers(partitions) for name, partitions in member.assigned.standby.items()}
    return EndpointToPartitions(
        user_endpoint=Endpoint(host=host, port=port),
        active_partitions=_partitions(active, configured.subtopologies, image),
        standby_partitions=_partitions(standby, configured.subtopologies, image),
    )


def _partitions(
    tasks: Mapping[str, list[int]], subtopologies: Mapping[str, ConfiguredSubtopology], image: MetadataImage
) -> list[TopicPartition]:
    found = []
    for subtopology, partitions in tasks.items():
        configured = subtopologies[subtopology]
        for topic in hash_order(dict.fromkeys([*sorted(configured.source_topics), *configured.repartition_sources])):
            existing = image.topics.get(topic)
            if existing is None:
                raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
            count = len(existing.partitions)
            listed = sorted(partitions)[:count] if count < len(partitions) else list(partitions)
            found.append(TopicPartition(topic=topic, partitions=listed))
    return found
