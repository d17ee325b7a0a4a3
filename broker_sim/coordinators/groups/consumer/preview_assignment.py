"""One step of a member towards its target assignment in 3.7's preview. Mirrors CurrentAssignmentBuilder of 3.7.

| state | heartbeat finds | result |
|---|---|---|
| any | a new target assignment | partitions to revoke: UNREVOKED_PARTITIONS at the same epoch; none: as below |
| UNREVOKED_PARTITIONS | the member owns no more than its partitions | the epoch of the target, with free partitions |
| UNRELEASED_PARTITIONS | partitions that it waits for are free | the same with them |

The state follows from the partitions that a member waits for: those to revoke, then those that others have.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from broker_sim.coordinators.groups.modern.member_state import MemberState
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS
from protocol_specs.java_hash import hash_order_of_copied_set

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.coordinators.groups.consumer.preview_member import PreviewMember
    from broker_sim.coordinators.groups.modern.topic_partitions import OwnedPartitions, TopicPartitions

__all__ = ["next_preview_step", "preview_state"]

_NOTHING: frozenset[int] = frozenset()
_Sizes: TypeAlias = tuple[int, int]
"""The size of the set from which one was copied, and its size before it lost elements."""
IsFree: TypeAlias = "Callable[[bytes, int], bool]"


def preview_state(pending_revocation: TopicPartitions, pending_assignment: TopicPartitions) -> MemberState:
    """Return the state of a member that waits for these partitions."""
    if pending_revocation:
        return MemberState.UNREVOKED_PARTITIONS
    return MemberState.UNRELEASED_PARTITIONS if pending_assignment else MemberState.STABLE


def next_preview_step(
    member: PreviewMember,
    target_epoch: int,
    target: TopicPartitions,
    is_free: IsFree,
    owned: OwnedPartitions | None,
) -> PreviewMember:
    """Return the member one step nearer to a target assignment, or the same one.

    `is_free` returns whether no member has a partition, or must still revoke it. `owned` are the partitions that the
    member reports as its own; None if it reports nothing.
    """
    if member.target_epoch != target_epoch:
        return _begin(member, target_epoch, target, is_free)
    if member.state is MemberState.UNREVOKED_PARTITIONS and not _has_revoked(member, owned):
        return member
    updated = _at_target(member, target_epoch, member.assigned, member.pending_assignment, is_free)
    if member.state is MemberState.UNRELEASED_PARTITIONS and updated.assigned == member.assigned:
        return member
    return updated


def _begin(member: PreviewMember, target_epoch: int, target: TopicPartitions, is_free: IsFree) -> PreviewMember:
    """Compare the partitions with a new target. Mirrors transitionToNewTargetAssignmentState."""
    kept: dict[bytes, frozenset[int]] = {}
    revoked: dict[bytes, frozenset[int]] = {}
    pending: dict[bytes, frozenset[int]] = {}
    sizes: dict[tuple[str, bytes], _Sizes] = {}
    for topic_id in {**target, **member.assigned, **member.pending_revocation}:
        wanted = target.get(topic_id, _NOTHING)
        assigned = member.assigned.get(topic_id, _NOTHING)
        held = assigned | member.pending_revocation.get(topic_id, _NOTHING)
        of_held, of_wanted = (len(assigned), len(held)), (len(wanted), len(wanted))
        for name, found, partitions, size in (
            ("assigned", kept, held & wanted, of_held),
            ("pending_revocation", revoked, held - wanted, of_held),
            ("pending_assignment", pending, wanted - held, of_wanted),
        ):
            if partitions:
                found[topic_id] = partitions
                sizes[name, topic_id] = size
    if not revoked:
        return _at_target(member, target_epoch, kept, pending, is_free, sizes)
    return _listed(
        sizes,
        replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            target_epoch=target_epoch,
            assigned=kept,
            pending_revocation=revoked,
            pending_assignment=pending,
        ),
    )


def _at_target(
    member: PreviewMember,
    target_epoch: int,
    assigned: TopicPartitions,
    pending: TopicPartitions,
    is_free: IsFree,
    sizes: Mapping[tuple[str, bytes], _Sizes] = MappingProxyType({}),
) -> PreviewMember:
    """Return the member at the epoch of its target, with the partitions that are free."""
    now = dict(assigned)
    waits: dict[bytes, frozenset[int]] = {}
    for topic_id, partitions in pending.items():
        free = frozenset(partition for partition in partitions if is_free(topic_id, partition))
        if free:
            now[topic_id] = now.get(topic_id, _NOTHING) | free
        if partitions - free:
            waits[topic_id] = partitions - free
    copied = {
        (name, topic_id): (len(partitions), len(partitions))
        for name, found in (("assigned", assigned), ("pending_assignment", pending))
        for topic_id, partitions in found.items()
    }
    return _listed(
        {**copied, **sizes},
        replace(
            member,
            member_epoch=target_epoch,
            previous_member_epoch=member.member_epoch,
            target_epoch=target_epoch,
            state=preview_state(NO_PARTITIONS, waits),
            assigned=now,
            pending_revocation=NO_PARTITIONS,
            pending_assignment=waits,
        ),
    )


def _listed(sizes: Mapping[tuple[str, bytes], _Sizes], member: PreviewMember) -> PreviewMember:
    """Return the member with its partitions in the order of sets that were copied from others and then changed."""
    listed = {}
    for name in ("assigned", "pending_revocation", "pending_assignment"):
        for topic_id, partitions in getattr(member, name).items():
            copied, most = sizes.get((name, topic_id), (0, 0))
            order = hash_order_of_copied_set(partitions, copied=copied, most=max(most, len(partitions)))
            listed[name, topic_id] = order
    return replace(member, listed=listed)


def _has_revoked(member: PreviewMember, owned: OwnedPartitions | None) -> bool:
    """Return True if the member reports partitions of its assigned topics alone. Mirrors matchesAssignedPartitions."""
    if owned is None or len(owned) != len(member.assigned):
        return False
    return all(held <= member.assigned.get(topic_id, _NOTHING) for topic_id, held in owned)
