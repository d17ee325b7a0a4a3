"""The servers that a foreign client is tried on: ours, and as the control a real Kafka."""

from __future__ import annotations

import contextlib
from types import MappingProxyType
from typing import TYPE_CHECKING

from confluent_kafka.admin import AdminClient, NewTopic

from broker_client import TopicPartition
from broker_client.consumer import Consumer
from tests.interop.real_kafka import real_kafka
from tests.interop.served_cluster import served_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BROKER_SIM = "broker-sim"
TOPIC_SECONDS_MAX = 30
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


@contextlib.contextmanager
def serving(server: str, topic: str, partitions: int, *, settings: Mapping[str, str] = NO_SETTINGS) -> Iterator[str]:
    """Start `broker-sim` (three brokers) or `kafka-RELEASE` (one) with a topic; its bootstrap servers.

    `settings` are broker configurations.
    """
    if server == BROKER_SIM:
        options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        topics = ("--topic", f"{topic}:{partitions}:3")
        with served_cluster("--brokers", "3", "--port", "0", *topics, *options) as cluster:
            yield cluster.bootstrap_servers
        return
    with real_kafka(server.removeprefix("kafka-"), settings=settings) as oracle:
        create_topic(oracle.bootstrap_servers, topic, partitions)
        yield oracle.bootstrap_servers


def create_topic(bootstrap_servers: str, topic: str, partitions: int) -> None:
    """Create a topic of one replica and wait until every leader serves requests: metadata lists it earlier.

    What is sent with acks=0 before would be lost, and anything else refused once.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    created = admin.create_topics([NewTopic(topic, partitions, 1)], operation_timeout=TOPIC_SECONDS_MAX)
    created[topic].result(TOPIC_SECONDS_MAX)
    with Consumer(bootstrap_servers=bootstrap_servers) as consumer:
        consumer.end_offsets([TopicPartition(topic, partition) for partition in range(partitions)])
