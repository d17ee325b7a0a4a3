"""The description of a share group as of a committed offset. Mirrors ShareGroup.asDescribedGroup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.modern.topic_partitions import ordered, to_named_topics
from protocol_specs.java_hash import hash_order_of_set
from protocol_specs.messages.share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.modern.modern_member import ModernMember
    from broker_sim.coordinators.groups.share.share_group import ShareGroup
    from broker_sim.metadata.metadata_image import TopicImage

__all__ = ["described_group"]


def described_group(
    group: ShareGroup, committed_offset: int, *, assignor: str, topics: Mapping[bytes, TopicImage]
) -> DescribedGroup:
    """Return the group with its members in the order of Kafka's table of them."""
    members = group.members.at(committed_offset)
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name(committed_offset),
        group_epoch=group.group_epoch.get(committed_offset),
        assignment_epoch=group.assignment_epoch.get(committed_offset),
        assignor_name=assignor,
        members=[_described_member(members[each], topics) for each in group.member_ids(committed_offset)],
    )


def _described_member(member: ModernMember, topics: Mapping[bytes, TopicImage]) -> Member:
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=hash_order_of_set(sorted(member.subscribed_topic_names)),
        assignment=Assignment(
            topic_partitions=to_named_topics(dict(ordered(member.assigned)), topics, TopicPartitions)
        ),
    )
