"""Streams groups with their topology, members and tasks. Mirrors DescribeStreamsGroupsHandler; KIP-1071."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_client.core.admin.group_coordinators import by_group
from broker_client.core.admin.group_descriptions import described_groups
from broker_client.core.admin.groups import GroupState
from protocol_specs.messages.streams_group_describe import StreamsGroupDescribeRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_client.core.admin.calls import AdminCalls
    from broker_client.core.network.cluster import Node
    from protocol_specs.messages import streams_group_describe as wire

__all__ = [
    "StreamsEndpoint",
    "StreamsGroupCalls",
    "StreamsGroupDescription",
    "StreamsMemberAssignment",
    "StreamsMemberDescription",
    "StreamsSubtopology",
    "StreamsTaskOffset",
    "StreamsTopicInfo",
]


@dataclass(slots=True, kw_only=True, frozen=True)
class StreamsTopicInfo:
    """An internal topic; 0 stands for a count that the group coordinator chooses.

    Mirrors StreamsGroupSubtopologyDescription.TopicInfo.
    """

    partitions: int
    replication_factor: int
    topic_configs: Mapping[str, str]


@dataclass(slots=True, kw_only=True, frozen=True)
class StreamsSubtopology:
    """A part of a topology; internal topics are by name. Mirrors StreamsGroupSubtopologyDescription."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: Mapping[str, StreamsTopicInfo]
    repartition_source_topics: Mapping[str, StreamsTopicInfo]


@dataclass(slots=True, kw_only=True, frozen=True)
class StreamsMemberAssignment:
    """The tasks of a member: partitions by subtopology id. Mirrors StreamsGroupMemberAssignment."""

    active_tasks: Mapping[str, tuple[int, ...]]
    standby_tasks: Mapping[str, tuple[int, ...]]
    warmup_tasks: Mapping[str, tuple[int, ...]]


@dataclass(slots=True, kw_only=True, frozen=True)
class StreamsTaskOffset:
    """The sum of the changelog offsets of one task. Mirrors StreamsGroupMemberDescription.TaskOffset."""

    subtopology_id: str
    partition: int
    offset: int


@dataclass(slots=True, kw_only=True, frozen=True)
class StreamsEndpoint:
    """The address for interactive queries. Mirrors StreamsGroupMemberDescription.Endpoint."""

    host: str
    port: int


@dataclass(slots=True, kw_only=True, frozen=True)
class StreamsMemberDescription:
    """A member of a streams group. Mirrors StreamsGroupMemberDescription."""

    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    user_endpoint: StreamsEndpoint | None
    client_tags: Mapping[str, str]
    task_offsets: tuple[StreamsTaskOffset, ...]
    task_end_offsets: tuple[StreamsTaskOffset, ...]
    assignment: StreamsMemberAssignment
    target_assignment: StreamsMemberAssignment
    is_classic: bool


@dataclass(slots=True, kw_only=True, frozen=True)
class StreamsGroupDescription:
    """A streams group; a group without a topology has no topology epoch. Mirrors StreamsGroupDescription."""

    group_id: str
    group_epoch: int
    target_assignment_epoch: int
    topology_epoch: int | None
    subtopologies: tuple[StreamsSubtopology, ...]
    members: tuple[StreamsMemberDescription, ...]
    state: GroupState
    coordinator: Node | None


class StreamsGroupCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def describe_streams_groups(self, group_ids: Sequence[str]) -> dict[str, StreamsGroupDescription]:
        """Streams groups by id; raises ItemsFailed by group id."""
        call = described_groups(self._calls, _request, by_group(), _described)
        return await self._calls.settle(group_ids, call)


def _request(group_ids: list[str]) -> StreamsGroupDescribeRequest:
    return StreamsGroupDescribeRequest(group_ids=group_ids)


def _described(group: wire.DescribedGroup, coordinator: Node | None) -> StreamsGroupDescription:
    topology = group.topology
    return StreamsGroupDescription(
        group_id=group.group_id,
        group_epoch=group.group_epoch,
        target_assignment_epoch=group.assignment_epoch,
        topology_epoch=None if topology is None else topology.epoch,
        subtopologies=() if topology is None else tuple(map(_subtopology, topology.subtopologies or ())),
        members=tuple(map(_member, group.members)),
        state=GroupState.parse(group.group_state),
        coordinator=coordinator,
    )


def _subtopology(one: wire.Subtopology) -> StreamsSubtopology:
    return StreamsSubtopology(
        subtopology_id=one.subtopology_id,
        source_topics=tuple(one.source_topics),
        repartition_sink_topics=tuple(one.repartition_sink_topics),
        state_changelog_topics=_topics(one.state_changelog_topics),
        repartition_source_topics=_topics(one.repartition_source_topics),
    )


def _topics(topics: Sequence[wire.TopicInfo]) -> dict[str, StreamsTopicInfo]:
    return {
        topic.name: StreamsTopicInfo(
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs={one.key: one.value for one in topic.topic_configs},
        )
        for topic in topics
    }


def _member(one: wire.Member) -> StreamsMemberDescription:
    endpoint = one.user_endpoint
    return StreamsMemberDescription(
        member_id=one.member_id,
        member_epoch=one.member_epoch,
        instance_id=one.instance_id,
        rack_id=one.rack_id,
        client_id=one.client_id,
        client_host=one.client_host,
        topology_epoch=one.topology_epoch,
        process_id=one.process_id,
        user_endpoint=None if endpoint is None else StreamsEndpoint(host=endpoint.host, port=endpoint.port),
        client_tags={tag.key: tag.value for tag in one.client_tags},
        task_offsets=_offsets(one.task_offsets),
        task_end_offsets=_offsets(one.task_end_offsets),
        assignment=_assignment(one.assignment),
        target_assignment=_assignment(one.target_assignment),
        is_classic=one.is_classic,
    )


def _offsets(offsets: Sequence[wire.TaskOffset]) -> tuple[StreamsTaskOffset, ...]:
    return tuple(
        StreamsTaskOffset(subtopology_id=one.subtopology_id, partition=one.partition, offset=one.offset)
        for one in offsets
    )


def _assignment(assignment: wire.Assignment) -> StreamsMemberAssignment:
    active, standby, warmup = (
        {one.subtopology_id: tuple(sorted(one.partitions)) for one in tasks}
        for tasks in (assignment.active_tasks, assignment.standby_tasks, assignment.warmup_tasks)
    )
    return StreamsMemberAssignment(active_tasks=active, standby_tasks=standby, warmup_tasks=warmup)
