"""The description of a streams group as of a committed offset. Mirrors StreamsGroup.asDescribedGroup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.streams.tasks import NO_TASKS, partitions_of, sorted_tasks
from protocol_specs.java_hash import hash_order
from protocol_specs.messages.streams_group_describe import (
    Assignment,
    DescribedGroup,
    Endpoint,
    KeyValue,
    Member,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_sim.coordinators.groups.streams.configured_topology import ConfiguredTopology, InternalTopic
    from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
    from broker_sim.coordinators.groups.streams.streams_member import StreamsMember
    from broker_sim.coordinators.groups.streams.streams_topology import StreamsTopology
    from broker_sim.coordinators.groups.streams.tasks import Tasks
    from protocol_specs.schemas.coordinator import streams_group_topology as stored

__all__ = ["described_group"]


def described_group(group: StreamsGroup, committed_offset: int) -> DescribedGroup:
    """Return the group with its members in the order of Kafka's table of them."""
    members = group.members.at(committed_offset)
    targets = group.target.at(committed_offset)
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name(committed_offset),
        group_epoch=group.group_epoch.get(committed_offset),
        assignment_epoch=group.assignment_epoch.get(committed_offset),
        topology=_topology(group, committed_offset),
        members=[
            _member(members[member_id], targets.get(member_id, NO_TASKS))
            for member_id in group.member_ids(committed_offset)
        ],
    )


def _topology(group: StreamsGroup, committed_offset: int) -> Topology | None:
    """Return the topology with its topics where they fit, else as the first member sent it."""
    configured = group.configured_topology.get(committed_offset)
    if configured is not None and configured.is_ready:
        return _configured(configured)
    topology = group.topology.get(committed_offset)
    return None if topology is None else _stored(topology)


def _configured(topology: ConfiguredTopology) -> Topology:
    subtopologies = topology.subtopologies or {}
    return Topology(
        epoch=topology.epoch,
        subtopologies=[
            Subtopology(
                subtopology_id=name,
                source_topics=sorted(each.source_topics),
                repartition_sink_topics=sorted(each.repartition_sinks),
                state_changelog_topics=_internal_topics(each.changelogs),
                repartition_source_topics=_internal_topics(each.repartition_sources),
            )
            for name, each in sorted(subtopologies.items())
        ],
    )


def _internal_topics(topics: Mapping[str, InternalTopic]) -> list[TopicInfo]:
    return [
        TopicInfo(
            name=name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[KeyValue(key=key, value=topic.configs[key]) for key in hash_order(topic.configs)],
        )
        for name, topic in sorted(topics.items())
    ]


def _stored(topology: StreamsTopology) -> Topology:
    return Topology(
        epoch=topology.epoch,
        subtopologies=[
            Subtopology(
                subtopology_id=name,
                source_topics=sorted(each.source_topics),
                repartition_sink_topics=sorted(each.repartition_sink_topics),
                state_changelog_topics=_stored_topics(each.state_changelog_topics),
                repartition_source_topics=_stored_topics(each.repartition_source_topics),
            )
            for name, each in sorted(topology.subtopologies.items())
        ],
    )


def _stored_topics(topics: Iterable[stored.TopicInfo]) -> list[TopicInfo]:
    return [
        TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[KeyValue(key=each.key, value=each.value) for each in topic.topic_configs],
        )
        for topic in sorted(topics, key=lambda topic: topic.name)
    ]


def _member(member: StreamsMember, target: Tasks) -> Member:
    endpoint = member.user_endpoint
    return Member(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else Endpoint(host=endpoint[0], port=endpoint[1]),
        client_tags=[KeyValue(key=key, value=member.client_tags[key]) for key in hash_order(member.client_tags)],
        assignment=Assignment(
            active_tasks=sorted_tasks(partitions_of(member.assigned.active), TaskIds),
            standby_tasks=sorted_tasks(member.assigned.standby, TaskIds),
            warmup_tasks=sorted_tasks(member.assigned.warmup, TaskIds),
        ),
        target_assignment=Assignment(
            active_tasks=sorted_tasks(target.active, TaskIds),
            standby_tasks=sorted_tasks(target.standby, TaskIds),
            warmup_tasks=sorted_tasks(target.warmup, TaskIds),
        ),
    )
