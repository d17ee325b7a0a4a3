"""Twenty restarts of leaders under load: all records that an idempotent producer acknowledged are stored in order.

Half of them are orderly (SIGTERM), half crashes (SIGKILL); the next comes as soon as the broker is in every ISR again.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pytest
from confluent_kafka import Consumer as LibrdkafkaConsumer
from confluent_kafka import TopicPartition as LibrdkafkaPartition

from broker_client import Producer
from broker_client.admin import Admin
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.framing import decode_response, encode_request
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.differential.nodes import OurNodes
from tests.differential.probe import Connection, attempts
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.differential.nodes import Nodes

RESTARTS = 20
BROKERS = 3
PARTITIONS = 3
TOPIC = "restarts"
PAUSE_SECONDS = 0.01
IN_SYNC_SECONDS_MAX = 60
RESPONSE_SECONDS_MAX = 5
METADATA_VERSION = 8
# A crash is noticed by silence: the defaults would make ten of them last minutes.
OURS = {
    "min.insync.replicas": "2",
    "broker.session.timeout.ms": "500",
    "broker.heartbeat.interval.ms": "100",
}
KAFKAS = {
    "min.insync.replicas": "2",
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "200",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.backoff.max.ms": "200",
}


@dataclass(slots=True, kw_only=True)
class Cluster:
    """Three brokers, and who ends and starts them."""

    bootstrap_servers: str
    nodes: Nodes


@pytest.fixture(params=["broker-sim", "4.3.1"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    if request.param == "broker-sim":
        with ThreadedCluster(brokers=BROKERS, config=OURS) as ours:
            yield Cluster(bootstrap_servers=ours.bootstrap_servers, nodes=OurNodes(ours))
    else:
        with real_kafka(request.param, brokers=BROKERS, settings=KAFKAS) as kafka:
            yield Cluster(bootstrap_servers=kafka.bootstrap_servers, nodes=kafka)


class Load:
    """Sends some hundred numbered records per second until it is stopped; `futures` have the outcome of each."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self.futures: list[Any] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def goes_on(self) -> None:
        """Until a record that is sent from now on is acknowledged."""
        count = len(self.futures)
        for _ in attempts("the next record"):
            if len(self.futures) > count:
                break
        self.futures[count].result(IN_SYNC_SECONDS_MAX)

    def _send(self) -> None:
        while not self._done.wait(PAUSE_SECONDS):
            for _ in range(2 * PARTITIONS):
                number = len(self.futures)
                self.futures.append(self._producer.send(TOPIC, value_of(number), partition=number % PARTITIONS))


def value_of(number: int) -> bytes:
    return b"%09d" % number


def metadata_of(address: str) -> MetadataResponse | None:
    """Return one broker's view of the topic; None while it does not respond."""
    host, _, port = address.rpartition(":")
    request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
    try:
        connection = Connection((host, int(port)))
    except OSError:
        return None
    with contextlib.closing(connection):
        connection.send(encode_request(request, METADATA_VERSION, correlation_id=1, client_id="restarts"))
        response = connection.receive(RESPONSE_SECONDS_MAX)
    if isinstance(response, str):
        return None
    decoded = decode_response(MetadataResponse, METADATA_VERSION, response)[1]
    assert isinstance(decoded, MetadataResponse)
    return decoded


def await_in_sync(address: str) -> MetadataResponse:
    """Wait until the restarted broker itself lists all brokers in every ISR."""
    for _ in attempts(f"{address} to list {BROKERS} brokers in sync", seconds=IN_SYNC_SECONDS_MAX):
        known = metadata_of(address)
        if known is not None and len(known.brokers) == BROKERS and known.topics[0].partitions:
            partitions = known.topics[0].partitions
            if all(len(each.isr_nodes) == BROKERS and each.leader_id >= 0 for each in partitions):
                return known
    raise AssertionError


def read_all(bootstrap_servers: str) -> dict[int, list[tuple[int | None, bytes | None]]]:
    """Offset and value of all that is stored, by partition."""
    consumer = LibrdkafkaConsumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    found: dict[int, list[tuple[int | None, bytes | None]]] = {partition: [] for partition in range(PARTITIONS)}
    ended = 0
    try:
        consumer.assign([LibrdkafkaPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
        while ended < PARTITIONS:
            message = consumer.poll(IN_SYNC_SECONDS_MAX)
            assert message is not None, "the consumer did not come to the end"
            if message.error() is None:
                found[message.partition()].append((message.offset(), message.value()))
            else:
                ended += 1
    finally:
        consumer.close()
    return found


def test_nothing_is_lost_doubled_or_moved_by_twenty_restarts(cluster: Cluster) -> None:
    servers = cluster.bootstrap_servers.split(",")
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=BROKERS)
    known = await_in_sync(servers[0])
    with Producer(bootstrap_servers=cluster.bootstrap_servers, linger_ms=5, batch_size=2_000) as producer:
        with Load(producer) as load:
            for restart in range(RESTARTS):
                leaders = {each.partition_index: int(each.leader_id) for each in known.topics[0].partitions}
                broker = leaders[restart % PARTITIONS]
                load.goes_on()
                if restart % 2:
                    cluster.nodes.kill(broker)
                else:
                    cluster.nodes.shut_down(broker)
                cluster.nodes.restart(broker)
                known = await_in_sync(servers[broker - 1])
        producer.flush(IN_SYNC_SECONDS_MAX)
    futures = load.futures
    assert [future.exception(0) for future in futures if future.exception(0) is not None] == []
    acknowledged: dict[int, list[tuple[int | None, bytes | None]]] = {partition: [] for partition in range(PARTITIONS)}
    for number, future in enumerate(futures):
        place = future.result(0)
        acknowledged[place.partition].append((place.offset, value_of(number)))
    assert read_all(cluster.bootstrap_servers) == acknowledged
