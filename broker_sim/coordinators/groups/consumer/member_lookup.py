"""The member of a request, and the checks of its epoch and instance id.

Mirrors getOrMaybeSubscribeDynamicConsumerGroupMember and getOrMaybeSubscribeStaticConsumerGroupMember.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.consumer import consumer_records
from broker_sim.coordinators.groups.modern.epoch_member import STATIC_LEAVE_EPOCH
from broker_sim.coordinators.groups.modern.topic_partitions import contains_all
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup
    from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord

__all__ = ["check_epoch", "dynamic_member", "held_static_member", "joining_preview_member", "joining_static_member"]


def dynamic_member(group: ConsumerGroup, member_id: str, *, create: bool) -> ConsumerMember:
    """Return the member of an id; a join creates it.

    Raises:
        CoordinatorError: UNKNOWN_MEMBER_ID.
    """
    member = group.members.get(member_id)
    if member is None and create:
        return group.new_member(member_id)
    return group.existing_member(member_id)


def joining_static_member(
    group: ConsumerGroup, member_id: str, instance_id: str, records: list[CoordinatorRecord], *, classic: bool
) -> ConsumerMember:
    """Return a new static member, or one that replaces the holder of the instance id: its records are added.

    Raises:
        CoordinatorError: UNRELEASED_INSTANCE_ID: the holder has not left, and both use the consumer protocol.
    """
    holder = group.static_member(instance_id)
    if holder is None:
        return dynamic_member(group, member_id, create=True)
    modern = not (classic or holder.uses_classic_protocol)
    if modern:
        _check_released(holder, member_id, instance_id)
    replacement = replace(holder, member_id=member_id, member_epoch=0, previous_member_epoch=0)
    records += consumer_records.member_tombstones(group.group_id, [holder.member_id])
    records += [
        group.records.member_record(group.group_id, replacement),
        group.records.target_record(group.group_id, member_id, group.target_of(holder.member_id)),
        group.records.current_assignment_record(group.group_id, replacement),
    ]
    return replacement


def joining_preview_member(
    group: ConsumerGroup, member_id: str, instance_id: str, records: list[CoordinatorRecord]
) -> tuple[ConsumerMember, ConsumerMember | None]:
    """Return a new static member of 3.7's preview, and the one that it replaces: its tombstones are added.

    The new one has the partitions of the other, and nothing else.

    Raises:
        CoordinatorError: UNRELEASED_INSTANCE_ID: the holder of the instance id has not left.
    """
    holder = group.static_member(instance_id)
    if holder is None:
        return dynamic_member(group, member_id, create=True), None
    _check_released(holder, member_id, instance_id)
    records += consumer_records.member_tombstones(group.group_id, [holder.member_id])
    return replace(group.new_member(member_id), assigned=holder.assigned), holder


def held_static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    """Return the holder of an instance id.

    Raises:
        CoordinatorError: UNKNOWN_MEMBER_ID without a holder, FENCED_INSTANCE_ID if it has another member id.
    """
    holder = group.static_member(instance_id)
    if holder is None:
        raise CoordinatorError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if holder.member_id != member_id:
        raise CoordinatorError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {holder.member_id}.",
        )
    return holder


def _check_released(holder: ConsumerMember, member_id: str, instance_id: str) -> None:
    if holder.member_epoch != STATIC_LEAVE_EPOCH:
        raise CoordinatorError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
            f"is owned by {holder.member_id} member.",
        )


def check_epoch(member: ConsumerMember, received: int, owned: Iterable[Any] | None) -> None:
    """Raise unless the epoch is the member's, or the previous one of a member whose response was lost.

    Raises:
        CoordinatorError: FENCED_MEMBER_EPOCH.
    """
    known = member.member_epoch
    if received == known:
        return
    late = received == member.previous_member_epoch and owned is not None and contains_all(member.assigned, owned)
    if received < known and late:
        return
    raise CoordinatorError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {'greater' if received > known else 'smaller'} member epoch ({received}) "
        f"than the one known by the group coordinator ({known}). The member must abandon all its partitions and "
        "rejoin.",
    )
