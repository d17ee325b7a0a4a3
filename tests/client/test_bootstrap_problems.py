"""Clients report why no bootstrap server has sent metadata yet."""

from __future__ import annotations

from broker_client.admin import Admin
from broker_client.consumer import Consumer
from broker_client.producer import Producer
from broker_sim.threaded_cluster import ThreadedCluster


def test_clients_that_have_metadata_have_no_problem() -> None:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"]) as cluster:
        servers = {"bootstrap.servers": cluster.bootstrap_servers}
        with Admin(**servers) as admin, Producer(servers) as producer, Consumer(**servers) as consumer:
            admin.list_topics()
            producer.partitions_for("orders")
            consumer.partitions_for("orders")
            for client in (admin, producer, consumer):
                assert client.connection_problems() is None
