"""The partition of a group, by Java's hash of its id."""

import pytest

from broker_sim.cluster import Cluster
from broker_sim.config.broker_config import BrokerConfig
from broker_sim.coordinators.internal_partitions import InternalPartitions, partition_for
from broker_sim.metadata.metadata_image import MetadataImage
from broker_sim.topic_spec import TopicSpec
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor

TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")


@pytest.mark.parametrize(
    ("key", "partition"),
    [("my-group", 12), ("", 0), ("polygenelubricants", 0)],  # the last one has the hash -2^31
)
def test_the_hash_is_made_positive(key, partition):
    assert partition_for(key, 50) == partition


def test_a_coordinator_counts_the_partitions_when_it_starts():
    config = BrokerConfig.parse({"offsets.topic.num.partitions": "5"}, release="4.3.1")
    partitions = InternalPartitions(config)
    assert partitions.of("__consumer_offsets") == 0
    image = MetadataImage.empty("cluster")
    partitions.count(image)
    assert [partitions.of(name) for name in TOPICS] == [5, 50, 50]


def test_groups_stay_where_they_are_when_the_topic_grows():
    cluster = Cluster(
        reactor=VirtualReactor(),
        streams=RandomStreams(1),
        brokers=1,
        topics=[TopicSpec(name="__consumer_offsets", partitions=2)],
        listen=False,
    )
    cluster.start()
    counted = cluster.brokers[1].coordinators.partitions
    assert counted.of("__consumer_offsets") == 2
    cluster.create_topic(TopicSpec(name="__transaction_state", partitions=3))
    assert counted.of("__transaction_state") == 50
