from __future__ import annotations

from broker_sim.control.journal import Journal
from broker_sim.wire_proxy.proxied_cluster import ProxiedCluster
from protocol_specs.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def test_a_metadata_response_teaches_brokers_topics_and_leaders() -> None:
    cluster = ProxiedCluster(Journal(lambda: 0))
    partitions = [
        MetadataResponsePartition(partition_index=index, leader_id=leader) for index, leader in ((0, 3), (1, -1))
    ]
    cluster.learn(
        MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=3, host="kafka", port=9092)],
            topics=[
                MetadataResponseTopic(name="orders", topic_id=b"i" * 16, partitions=partitions),
                MetadataResponseTopic(name="gone", error_code=3),
            ],
        )
    )
    assert cluster.broker_ids == [3]
    assert cluster.addresses == {3: ("kafka", 9092)}
    assert cluster.partition_counts == {"orders": 2}
    assert cluster.topic_names == {b"i" * 16: "orders"}
    assert (cluster.leader_of("orders", 0), cluster.leader_of("orders", 1)) == (3, None)
    assert (cluster.is_running(3), cluster.is_running(4)) == (True, False)
