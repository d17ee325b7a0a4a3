"""The description of a consumer group as of a committed offset. Mirrors ConsumerGroup.asDescribedGroup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.consumer.partition_order import loaded_order
from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS, ordered, to_named_topics
from protocol_specs.java_hash import hash_order_of_set, hash_order_of_uuids
from protocol_specs.messages.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.consumer.consumer_group import ConsumerGroup
    from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
    from broker_sim.coordinators.groups.modern import topic_partitions
    from broker_sim.metadata.metadata_image import TopicImage

__all__ = ["described_group"]

_CLASSIC, _CONSUMER = 0, 1


def described_group(
    group: ConsumerGroup,
    committed_offset: int,
    *,
    default_assignor: str,
    topics: Mapping[bytes, TopicImage],
    shows_revocations: bool,
) -> DescribedGroup:
    """Return the group with its members in the order of Kafka's table of them."""
    members = group.members.at(committed_offset)
    targets = group.target.at(committed_offset)
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name(committed_offset),
        group_epoch=group.group_epoch.get(committed_offset),
        assignment_epoch=group.assignment_epoch.get(committed_offset),
        assignor_name=group.preferred_assignor(default_assignor, committed_offset),
        members=[
            _described_member(members[member_id], targets.get(member_id, NO_PARTITIONS), topics, shows_revocations)
            for member_id in group.member_ids(committed_offset)
        ],
    )


def _described_member(
    member: ConsumerMember,
    target: topic_partitions.TopicPartitions,
    topics: Mapping[bytes, TopicImage],
    shows_revocations: bool,  # noqa: FBT001
) -> Member:
    held = loaded_order(member.assigned, member.assignment_epochs)
    if shows_revocations:
        for topic_id, partitions in loaded_order(member.pending_revocation, member.assignment_epochs).items():
            held.setdefault(topic_id, []).extend(partitions)
        held = {topic_id: held[topic_id] for topic_id in hash_order_of_uuids(held)}
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=hash_order_of_set(sorted(member.subscribed_topic_names)),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=Assignment(topic_partitions=to_named_topics(held, topics, TopicPartitions)),
        target_assignment=Assignment(topic_partitions=to_named_topics(dict(ordered(target)), topics, TopicPartitions)),
        member_type=_CLASSIC if member.uses_classic_protocol else _CONSUMER,
    )
