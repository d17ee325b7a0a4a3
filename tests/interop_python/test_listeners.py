"""An unmodified client that knows one listener stays on it, at every broker."""

from __future__ import annotations

from confluent_kafka import Consumer, Producer, TopicPartition

from broker_sim.threaded_cluster import ThreadedCluster

SECONDS_MAX = 30
RECORDS = 50
PARTITIONS = 3
LISTENERS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,EXTERNAL://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT",
}


def connections(cluster: ThreadedCluster, listener: str) -> list[int]:
    def count() -> list[int]:
        servers = [broker.socket_server for broker in cluster.cluster.brokers.values()]
        return [server.connection_quotas.listener_count(listener) for server in servers if server is not None]

    found: list[int] = cluster.call(count)
    return found


def test_librdkafka_connects_to_the_listener_of_its_bootstrap_servers_alone() -> None:
    with ThreadedCluster(brokers=3, topics=[f"t:{PARTITIONS}:3"], config=LISTENERS) as cluster:
        servers = cluster.bootstrap_servers_of("EXTERNAL")
        assert set(servers.split(",")).isdisjoint(cluster.bootstrap_servers.split(","))
        producer = Producer({"bootstrap.servers": servers})
        for number in range(RECORDS):
            producer.produce("t", b"%d" % number, partition=number % PARTITIONS)
        assert producer.flush(SECONDS_MAX) == 0
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "unused", "enable.auto.commit": False})
        consumer.assign([TopicPartition("t", partition, 0) for partition in range(PARTITIONS)])
        values: list[bytes] = []
        while len(values) < RECORDS:
            found = consumer.consume(RECORDS, timeout=SECONDS_MAX)
            assert found, f"{len(values)} of {RECORDS} records"
            values += [message.value() for message in found]
        assert sorted(values) == sorted(b"%d" % number for number in range(RECORDS))
        assert (all(connections(cluster, "EXTERNAL")), connections(cluster, "PLAINTEXT")) == (True, [0, 0, 0])
        consumer.close()
