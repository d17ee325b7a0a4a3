"""The fingerprint of subscribed topics."""

from __future__ import annotations

from dataclasses import replace

from broker_sim.coordinators.groups.modern.subscription_metadata import TopicMetadata, topic_metadata
from broker_sim.metadata.metadata_image import BrokerRegistration, MetadataImage, PartitionRegistration, TopicImage


def image():
    partition = PartitionRegistration(replicas=(1, 2, 3), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0)
    topic = TopicImage(name="x", topic_id=b"i" * 16, partitions=(partition,), configs={})
    racks = {1: "r2", 2: "r1", 3: None}
    brokers = {
        each: BrokerRegistration(id=each, host="h", port=1, rack=rack, fenced=False, epoch=0)
        for each, rack in racks.items()
    }
    return replace(MetadataImage.empty("c"), topics={"x": topic}, brokers=brokers)


def test_topics_that_exist_have_metadata():
    assert topic_metadata(image(), ["x", "gone"], racks=False) == {"x": TopicMetadata(b"i" * 16, 1)}


def test_racks_are_sorted_per_partition():
    assert topic_metadata(image(), ["x"], racks=True)["x"].racks == (("r1", "r2"),)
