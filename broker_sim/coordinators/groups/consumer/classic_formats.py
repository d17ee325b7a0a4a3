"""The subscriptions and assignments that classic members exchange as bytes. Mirrors ConsumerProtocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.modern.topic_partitions import ordered
from protocol_specs.schemas.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from protocol_specs.schemas.consumer_protocol_subscription import ConsumerProtocolSubscription
from protocol_specs.schemas.record_serde import decode_versioned, encode_versioned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.modern.topic_partitions import OwnedPartitions, TopicPartitions
    from broker_sim.metadata.metadata_image import TopicImage

__all__ = ["assignment_of", "assignment_to_bytes", "owned_partitions", "subscription_of"]


def subscription_of(metadata: bytes) -> ConsumerProtocolSubscription:
    """Return the subscription of a member's metadata.

    Raises:
        MessageDecodeError, UnsupportedVersion: The metadata is no subscription.
    """
    return decode_versioned(ConsumerProtocolSubscription, metadata)[0]


def owned_partitions(subscription: ConsumerProtocolSubscription, topics: Mapping[str, TopicImage]) -> OwnedPartitions:
    """Return the partitions that a member owns, of topics that exist."""
    return [
        (topics[owned.topic].topic_id, frozenset(owned.partitions))
        for owned in subscription.owned_partitions
        if owned.topic in topics
    ]


def assignment_of(data: bytes) -> ConsumerProtocolAssignment:
    """Return the assignment of bytes.

    Raises:
        MessageDecodeError, UnsupportedVersion: The bytes are no assignment.
    """
    return decode_versioned(ConsumerProtocolAssignment, data)[0]


def assignment_to_bytes(assigned: TopicPartitions, topics: Mapping[bytes, TopicImage], metadata: bytes) -> bytes:
    """Return an assignment in the version of a member's metadata."""
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            TopicPartition(topic=topics[topic_id].name, partitions=partitions)
            for topic_id, partitions in ordered(assigned)
            if topic_id in topics
        ]
    )
    _, version = decode_versioned(ConsumerProtocolSubscription, metadata)
    return encode_versioned(message, min(version, ConsumerProtocolAssignment.VERSIONS.highest))
