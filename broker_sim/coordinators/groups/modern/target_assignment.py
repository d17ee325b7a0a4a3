"""The target assignment of a group after a change of its members or topics. Mirrors TargetAssignmentBuilder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.assignors.assignor import (
    AssignorError,
    GroupSpec,
    MemberSpec,
    UnexpectedAssignorError,
    no_racks,
)
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS, each_partition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_sim.coordinators.groups.assignors.assignor import PartitionAssignor, RacksOf
    from broker_sim.coordinators.groups.modern.modern_group import ModernGroup
    from broker_sim.coordinators.groups.modern.modern_member import ModernMember
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions
    from broker_sim.metadata.metadata_image import TopicImage

__all__ = ["TargetAssignment", "compute_target_assignment"]


@dataclass(frozen=True, slots=True)
class TargetAssignment:
    """A new target assignment."""

    members: Mapping[str, TopicPartitions]
    changed: Mapping[str, TopicPartitions]
    """The members whose assignment differs from the one so far, in the order of Kafka's records."""


def compute_target_assignment(
    group: ModernGroup[Any],
    assignor: PartitionAssignor,
    *,
    group_epoch: int,
    updated: ModernMember,
    replaced_id: str | None,
    homogeneous: bool,
    topics: Mapping[str, TopicImage],
    topic_names: Callable[[Any], Iterable[str]],
    racks_of: RacksOf = no_racks,
) -> TargetAssignment:
    """Run an assignor over the members of a group, of which `updated` is new or changed.

    `replaced_id` is the member id that a static member had before: its target assignment goes to `updated`.
    `topic_names` returns the topics that a member subscribes to, in Kafka's order; `racks_of` the racks of the replicas
    of a partition.

    Raises:
        CoordinatorError: The assignor failed; UNKNOWN_SERVER_ERROR.
    """
    # Members of one bucket of the map of specifications stay in the order of the group's table.
    members = {member_id: group.members[member_id] for member_id in group.member_ids() if member_id != replaced_id}
    members[updated.member_id] = updated
    specs: dict[str, MemberSpec] = {}
    counts: dict[bytes, int] = {}
    for member_id in hash_order(members, beside=int(replaced_id is not None)):
        member = members[member_id]
        images = [topics[name] for name in topic_names(member) if name in topics]
        counts.update((image.topic_id, len(image.partitions)) for image in images)
        inherits = replaced_id is not None and member is updated
        target = group.target_of(replaced_id if inherits and replaced_id is not None else member_id)
        specs[member_id] = MemberSpec(
            dict.fromkeys(image.topic_id for image in images), target, member.instance_id, member.rack_id
        )
    assigned = {each for target in group.target.values() for each in each_partition(target)}
    try:
        found = assignor.assign(GroupSpec(specs, homogeneous, counts, assigned, racks_of))
    except UnexpectedAssignorError as error:
        raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error) or None) from error
    except AssignorError as error:
        raise CoordinatorError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"Failed to compute a new target assignment for epoch {group_epoch}: {error}",
        ) from error
    new = {member_id: found.get(member_id, NO_PARTITIONS) for member_id in specs}
    changed = {member_id: target for member_id, target in new.items() if group.target.get(member_id) != target}
    return TargetAssignment(new, changed)
