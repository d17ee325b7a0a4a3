"""Classic, consumer and share groups with their members. Mirrors DescribeClassicGroupsHandler and its siblings.

KIP-222, KIP-848, KIP-932, KIP-1043.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.group_coordinators import by_group, take_code
from broker_client.core.admin.groups import GroupState, GroupType
from broker_client.core.groups.consumer_protocol import PROTOCOL_TYPE, assignment_of
from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import MessageDecodeError
from protocol_specs.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol_specs.messages.describe_groups import DescribeGroupsRequest
from protocol_specs.messages.share_group_describe import ShareGroupDescribeRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_client.core.admin.coordinators import CoordinatorRoute
    from broker_client.core.network.cluster import Node
    from protocol_specs.message import Message
    from protocol_specs.messages.consumer_group_describe import Assignment
    from protocol_specs.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
    from protocol_specs.messages.describe_groups import DescribedGroup, DescribedGroupMember
    from protocol_specs.messages.share_group_describe import Assignment as ShareAssignment
    from protocol_specs.messages.share_group_describe import DescribedGroup as DescribedShareGroup

__all__ = [
    "ClassicGroupDescription",
    "ConsumerGroupDescription",
    "GroupDescriptionCalls",
    "MemberDescription",
    "ShareGroupDescription",
    "ShareMemberDescription",
    "described_groups",
]

D = TypeVar("D")

NOT_A_CONSUMER_GROUP: Final = (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.GROUP_ID_NOT_FOUND)
"""The codes of ConsumerGroupDescribe after which Java's admin client sends DescribeGroups."""
_MEMBER_TYPES: Final[dict[int, bool | None]] = {0: False, 1: True}


@dataclass(slots=True, kw_only=True, frozen=True)
class MemberDescription:
    """A member of a classic or consumer group; partitions are sorted. Mirrors MemberDescription.

    Members of classic groups have neither a target assignment nor an epoch. `upgraded` is True for a member of a
    consumer group that uses the consumer protocol, False for one that uses the classic protocol, None before 4.0.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    target_assignment: tuple[TopicPartition, ...] | None = None
    member_epoch: int | None = None
    upgraded: bool | None = None


@dataclass(slots=True, kw_only=True, frozen=True)
class ClassicGroupDescription:
    """A classic group; `protocol_data` is the name of the assignor. Mirrors ClassicGroupDescription."""

    group_id: str
    protocol: str
    protocol_data: str
    members: tuple[MemberDescription, ...]
    state: GroupState
    coordinator: Node | None

    @property
    def is_simple_consumer_group(self) -> bool:
        """True for a group without members whose consumers only commit offsets."""
        return not self.protocol


@dataclass(slots=True, kw_only=True, frozen=True)
class ConsumerGroupDescription:
    """A group of consumers of either protocol; classic groups have no epochs. Mirrors ConsumerGroupDescription."""

    group_id: str
    is_simple_consumer_group: bool
    members: tuple[MemberDescription, ...]
    partition_assignor: str
    type: GroupType
    state: GroupState
    coordinator: Node | None
    group_epoch: int | None = None
    target_assignment_epoch: int | None = None


@dataclass(slots=True, kw_only=True, frozen=True)
class ShareMemberDescription:
    """A member of a share group; partitions are sorted. Mirrors ShareMemberDescription."""

    member_id: str
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    member_epoch: int


@dataclass(slots=True, kw_only=True, frozen=True)
class ShareGroupDescription:
    """A share group. Mirrors ShareGroupDescription."""

    group_id: str
    members: tuple[ShareMemberDescription, ...]
    state: GroupState
    coordinator: Node | None
    group_epoch: int
    target_assignment_epoch: int


class GroupDescriptionCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls

    async def describe_groups(self, group_ids: Sequence[str]) -> dict[str, ClassicGroupDescription]:
        """Classic groups by id; raises ItemsFailed by group id."""
        call = described_groups(self._calls, _describe_groups, by_group(), _classic_group)
        return await self._calls.settle(group_ids, call)

    async def describe_consumer_groups(self, group_ids: Sequence[str]) -> dict[str, ConsumerGroupDescription]:
        """Consumer groups by id, or classic groups of consumers; raises ItemsFailed by group id."""
        route, deadline_ms = by_group(), self._calls.deadline_ms()
        modern = described_groups(self._calls, _consumer_group_describe, route, _consumer_group)
        described = await self._calls.outcomes(group_ids, modern, deadline_ms)
        others = [group_id for group_id, error in described.errors.items() if error.error_code in NOT_A_CONSUMER_GROUP]
        if others:
            classic = described_groups(self._calls, _describe_groups, route, _classic_consumer_group)
            described.replace(await self._calls.outcomes(others, classic, deadline_ms))
        return described.result()

    async def describe_share_groups(self, group_ids: Sequence[str]) -> dict[str, ShareGroupDescription]:
        """Share groups by id; raises ItemsFailed by group id."""
        call = described_groups(self._calls, _share_group_describe, by_group(), _share_group)
        return await self._calls.settle(group_ids, call)


def described_groups(
    calls: AdminCalls,
    request: Callable[[list[str]], Message],
    route: CoordinatorRoute[str],
    describe: Callable[[Any, Node | None], D],
) -> ItemCall[str, D]:
    """Return the call of an API whose response has one description or error per group.

    `describe` makes the description of a group from its part of the response and its coordinator; it raises
    ProducerError if the group is of another kind.
    """

    def take(response: Any, _: list[str], outcomes: Outcomes[str, D]) -> None:
        for one in response.groups:
            code = ErrorCode.for_code(one.error_code)
            if code is not ErrorCode.NONE:
                take_code(outcomes, one.group_id, one.group_id, code, one.error_message, None)
                continue
            coordinator = calls.core.metadata.cluster.nodes.get(route.node_id(one.group_id))
            try:
                outcomes.succeed(one.group_id, describe(one, coordinator))
            except ProducerError as error:
                outcomes.fail(one.group_id, error)

    return ItemCall(
        kind=type(request([])),
        route=route,
        build=lambda _version, group_ids, _timeout_ms: request(group_ids),
        take=take,
    )


def sorted_partitions(assignment: Assignment | ShareAssignment) -> tuple[TopicPartition, ...]:
    """Return the partitions of an assignment, sorted by topic and number."""
    return tuple(
        sorted(
            TopicPartition(topic.topic_name, number)
            for topic in assignment.topic_partitions
            for number in topic.partitions
        )
    )


# Details


def _describe_groups(group_ids: list[str]) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=group_ids)


def _consumer_group_describe(group_ids: list[str]) -> ConsumerGroupDescribeRequest:
    return ConsumerGroupDescribeRequest(group_ids=group_ids)


def _share_group_describe(group_ids: list[str]) -> ShareGroupDescribeRequest:
    return ShareGroupDescribeRequest(group_ids=group_ids)


def _classic_group(group: DescribedGroup, coordinator: Node | None) -> ClassicGroupDescription:
    return ClassicGroupDescription(
        group_id=group.group_id,
        protocol=group.protocol_type,
        protocol_data=group.protocol_data,
        members=tuple(_classic_member(one, group) for one in group.members),
        state=GroupState.parse(group.group_state),
        coordinator=coordinator,
    )


def _classic_consumer_group(group: DescribedGroup, coordinator: Node | None) -> ConsumerGroupDescription:
    if group.protocol_type not in (PROTOCOL_TYPE, ""):
        raise ProducerError(f"group {group.group_id!r} is not a consumer group: its protocol is {group.protocol_type}")
    return ConsumerGroupDescription(
        group_id=group.group_id,
        is_simple_consumer_group=not group.protocol_type,
        members=tuple(_classic_member(one, group) for one in group.members),
        partition_assignor=group.protocol_data,
        type=GroupType.CLASSIC,
        state=GroupState.parse(group.group_state),
        coordinator=coordinator,
    )


def _classic_member(member: DescribedGroupMember, group: DescribedGroup) -> MemberDescription:
    """Return a member; assignments of protocols other than "consumer" are not decoded, as in Java."""
    partitions: list[TopicPartition] = []
    if member.member_assignment and group.protocol_type == PROTOCOL_TYPE:
        try:
            partitions = assignment_of(member.member_assignment).partitions
        except MessageDecodeError as error:
            text = f"group {group.group_id!r}: the assignment of member {member.member_id} cannot be read: {error}"
            raise ProducerError(text) from error
    return MemberDescription(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=member.client_host,
        assignment=tuple(sorted(partitions)),
    )


def _consumer_group(group: DescribedConsumerGroup, coordinator: Node | None) -> ConsumerGroupDescription:
    return ConsumerGroupDescription(
        group_id=group.group_id,
        is_simple_consumer_group=False,
        members=tuple(
            MemberDescription(
                member_id=one.member_id,
                group_instance_id=one.instance_id,
                client_id=one.client_id,
                host=one.client_host,
                assignment=sorted_partitions(one.assignment),
                target_assignment=sorted_partitions(one.target_assignment),
                member_epoch=one.member_epoch,
                upgraded=_MEMBER_TYPES.get(one.member_type),
            )
            for one in group.members
        ),
        partition_assignor=group.assignor_name,
        type=GroupType.CONSUMER,
        state=GroupState.parse(group.group_state),
        coordinator=coordinator,
        group_epoch=group.group_epoch,
        target_assignment_epoch=group.assignment_epoch,
    )


def _share_group(group: DescribedShareGroup, coordinator: Node | None) -> ShareGroupDescription:
    return ShareGroupDescription(
        group_id=group.group_id,
        members=tuple(
            ShareMemberDescription(
                member_id=one.member_id,
                client_id=one.client_id,
                host=one.client_host,
                assignment=sorted_partitions(one.assignment),
                member_epoch=one.member_epoch,
            )
            for one in group.members
        ),
        state=GroupState.parse(group.group_state),
        coordinator=coordinator,
        group_epoch=group.group_epoch,
        target_assignment_epoch=group.assignment_epoch,
    )
