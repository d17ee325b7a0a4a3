"""Subscriptions and assignments as bytes."""

from __future__ import annotations

from broker_sim.coordinators.groups.consumer.classic_formats import (
    assignment_of,
    assignment_to_bytes,
    owned_partitions,
    subscription_of,
)
from broker_sim.metadata.metadata_image import TopicImage
from protocol_specs.schemas.consumer_protocol_subscription import ConsumerProtocolSubscription, TopicPartition
from protocol_specs.schemas.record_serde import encode_versioned

T = b"t" * 16
TOPICS = {"a": TopicImage(name="a", topic_id=T, partitions=(), configs={})}


def test_owned_partitions_of_missing_topics_are_left_out():
    owned = [TopicPartition(topic="a", partitions=[1, 0]), TopicPartition(topic="gone", partitions=[0])]
    data = encode_versioned(ConsumerProtocolSubscription(topics=["a"], owned_partitions=owned), 1)
    assert owned_partitions(subscription_of(data), TOPICS) == [(T, frozenset({0, 1}))]


def test_an_assignment_has_the_version_of_the_subscription():
    metadata = encode_versioned(ConsumerProtocolSubscription(topics=["a"]), 1)
    data = assignment_to_bytes({T: frozenset({1, 0}), b"x" * 16: frozenset({0})}, {T: TOPICS["a"]}, metadata)
    assert data[:2] == b"\x00\x01"
    (topic,) = assignment_of(data).assigned_partitions
    assert (topic.topic, topic.partitions) == ("a", [0, 1])
