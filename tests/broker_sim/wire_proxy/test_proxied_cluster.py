from __future__ import annotations

import pytest

from broker_sim.control.events import IsrChanged, LeaderElected
from broker_sim.control.journal import Detail, Journal
from broker_sim.errors import BrokerSimError
from broker_sim.wire_proxy.proxied_cluster import ProxiedCluster
from protocol_specs.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def described(leader: int, epoch: int, isr: tuple[int, ...], topic_id: bytes = b"i" * 16) -> MetadataResponse:
    partition = MetadataResponsePartition(
        partition_index=0, leader_id=leader, leader_epoch=epoch, replica_nodes=[1, 2], isr_nodes=list(isr)
    )
    topic = MetadataResponseTopic(name="orders", topic_id=topic_id, partitions=[partition])
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=each, host="kafka", port=9092) for each in (1, 2)], topics=[topic]
    )


def test_changes_of_leaders_and_isrs_are_events() -> None:
    journal = Journal(lambda: 0, detail=Detail.FULL)
    cluster = ProxiedCluster(journal)
    for leader, epoch, isr in [(1, 0, (1, 2)), (1, 0, (1,)), (-1, 1, (1,)), (2, 2, (2,)), (1, 0, (1, 2))]:
        cluster.learn(described(leader, epoch, isr))
    changed, elected = journal.events
    assert isinstance(changed, IsrChanged)
    assert isinstance(elected, LeaderElected)
    assert (changed.broker_id, changed.isr, changed.previous_isr) == (1, (1,), (1, 2))
    assert (elected.broker_id, elected.unclean, elected.leader_epoch) == (2, True, 2)
    assert cluster.leader_of("orders", 0) == 2, "the last response was that of a broker that is behind"


def test_a_topic_of_the_same_name_is_another_one() -> None:
    cluster = ProxiedCluster(Journal(lambda: 0))
    cluster.learn(described(2, 7, (1, 2)))
    cluster.learn(described(1, 0, (1,), topic_id=b"j" * 16))
    assert cluster.partition_of("orders", 0).isr == (1,)
    cluster.learn_all(MetadataResponse(brokers=[], topics=[]))
    assert cluster.partition_counts == {}
    with pytest.raises(BrokerSimError, match="there is no partition orders-0"):
        cluster.partition_of("orders", 0)


def test_a_metadata_response_teaches_brokers_topics_and_leaders() -> None:
    cluster = ProxiedCluster(Journal(lambda: 0))
    partitions = [
        MetadataResponsePartition(partition_index=index, leader_id=leader) for index, leader in ((0, 3), (1, -1))
    ]
    cluster.learn_all(
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
