"""Subscriptions and assignments of classic groups, and their bytes. Mirrors ConsumerProtocol and its data classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from broker_client.records import TopicPartition
from protocol_specs.schemas.consumer_protocol_assignment import ConsumerProtocolAssignment
from protocol_specs.schemas.consumer_protocol_assignment import TopicPartition as AssignedTopic
from protocol_specs.schemas.consumer_protocol_subscription import ConsumerProtocolSubscription
from protocol_specs.schemas.consumer_protocol_subscription import TopicPartition as OwnedTopic
from protocol_specs.schemas.record_serde import decode_versioned, encode_versioned

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "PROTOCOL_TYPE",
    "Assignment",
    "Subscription",
    "assignment_of",
    "encoded_assignment",
    "encoded_subscription",
    "partitions_by_topic",
    "subscription_of",
]

PROTOCOL_TYPE: Final = "consumer"
NO_GENERATION: Final = -1


@dataclass(slots=True, kw_only=True)
class Subscription:
    """The subscription that one member reports when it joins. Mirrors ConsumerPartitionAssignor.Subscription.

    `generation_id` is None if the member's version of the protocol has no such field, or the member has none.
    """

    topics: list[str]
    user_data: bytes | None = None
    owned: list[TopicPartition] = field(default_factory=list)
    generation_id: int | None = None
    rack_id: str | None = None
    group_instance_id: str | None = None


@dataclass(slots=True, kw_only=True)
class Assignment:
    """The partitions of one member. Mirrors ConsumerPartitionAssignor.Assignment."""

    partitions: list[TopicPartition]
    user_data: bytes | None = None


def encoded_subscription(subscription: Subscription) -> bytes:
    """Return the metadata of a protocol in JoinGroup, in the newest version; topics and partitions are sorted."""
    message = ConsumerProtocolSubscription(
        topics=sorted(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=[
            OwnedTopic(topic=topic, partitions=partitions)
            for topic, partitions in partitions_by_topic(sorted(subscription.owned)).items()
        ],
        generation_id=NO_GENERATION if subscription.generation_id is None else subscription.generation_id,
        rack_id=subscription.rack_id,
    )
    return encode_versioned(message, ConsumerProtocolSubscription.VERSIONS.highest)


def subscription_of(data: bytes) -> Subscription:
    """Return the subscription in the metadata of a member.

    Raises:
        MessageDecodeError: the bytes are no subscription.
    """
    message, _ = decode_versioned(ConsumerProtocolSubscription, data)
    return Subscription(
        topics=list(message.topics),
        user_data=message.user_data,
        owned=[TopicPartition(one.topic, number) for one in message.owned_partitions for number in one.partitions],
        generation_id=message.generation_id if message.generation_id >= 0 else None,
        rack_id=message.rack_id or None,
    )


def encoded_assignment(assignment: Assignment) -> bytes:
    """Return the assignment of one member for SyncGroup, in the newest version."""
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            AssignedTopic(topic=topic, partitions=partitions)
            for topic, partitions in partitions_by_topic(assignment.partitions).items()
        ],
        user_data=assignment.user_data,
    )
    return encode_versioned(message, ConsumerProtocolAssignment.VERSIONS.highest)


def assignment_of(data: bytes) -> Assignment:
    """Return the assignment in a SyncGroup response.

    Raises:
        MessageDecodeError: the bytes are no assignment.
    """
    message, _ = decode_versioned(ConsumerProtocolAssignment, data)
    return Assignment(
        partitions=[
            TopicPartition(one.topic, number) for one in message.assigned_partitions for number in one.partitions
        ],
        user_data=message.user_data,
    )


def partitions_by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the partition numbers of each topic, topics in the order of their first partition."""
    grouped: dict[str, list[int]] = {}
    for topic, partition in partitions:
        grouped.setdefault(topic, []).append(partition)
    return grouped
