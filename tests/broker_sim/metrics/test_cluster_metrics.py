from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.errors import BrokerSimError
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.framing import decode_response, encode_request
from protocol_specs.registry import response_type
from tests.differential.probe import Connection
from tests.differential.requests import batch, fetch, metadata, produce, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.metrics.metric import MetricsSnapshot
    from protocol_specs.message import Message


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, topics=["orders:2:1"]) as running:
        yield running


class Client:
    def __init__(self, cluster: ThreadedCluster) -> None:
        host, _, port = cluster.bootstrap_servers.partition(":")
        self.connection = Connection((host, int(port)))

    def send(self, request: Message, version: int) -> Any:
        self.connection.send(encode_request(request, version, correlation_id=1, client_id="c"))
        frame = self.connection.receive(10)
        assert isinstance(frame, bytes)
        return decode_response(response_type(request.API_KEY), version, frame)[1]


@pytest.fixture
def client(cluster: ThreadedCluster) -> Iterator[Client]:
    each = Client(cluster)
    yield each
    each.connection.close()


def test_traffic_is_counted_by_topic_and_in_all(cluster: ThreadedCluster, client: Client) -> None:
    records = batch(b"a", b"b", b"c")
    client.send(produce("orders", records), 9)
    client.send(produce("orders", records, partition=1), 9)
    client.send(produce("orders", records[:-1] + b"\1"), 9)
    client.send(fetch("orders", wanted(0)), 11)
    read = cluster.metrics()
    for tags in ({}, {"topic": "orders"}):
        found = {
            name: [metric.value.count for metric in read.find(name, **tags) if bool(metric.tags) == bool(tags)]  # type: ignore[union-attr]
            for name in ("MessagesInPerSec", "BytesInPerSec", "BytesOutPerSec", "TotalProduceRequestsPerSec")
        }
        assert found == {
            "MessagesInPerSec": [6],
            "BytesInPerSec": [2 * len(records)],
            "BytesOutPerSec": [len(records)],
            "TotalProduceRequestsPerSec": [3],
        }
    assert read.value("FailedProduceRequestsPerSec", topic="orders") == 1


def test_requests_are_counted_and_timed_by_api(cluster: ThreadedCluster, client: Client) -> None:
    for _ in range(3):
        client.send(metadata("orders"), 9)
    client.send(metadata("orders"), 8)
    client.send(fetch("orders", wanted(0)), 11)
    read = cluster.metrics()
    assert read.value("RequestsPerSec", request="Metadata", version="9") == 3
    assert read.value("RequestsPerSec", request="Metadata", version="8") == 1
    assert read.value("RequestsPerSec", request="FetchConsumer") == 1
    assert read.find("RequestsPerSec", request="FetchFollower") == []
    total = read.histogram("TotalTimeMs", request="Metadata")
    local = read.histogram("LocalTimeMs", request="Metadata")
    assert total.count == local.count == 4
    assert 0 <= local.min <= local.p50 <= local.p99 <= local.max <= total.max
    assert read.histogram("RequestBytes", request="Metadata").min > 0


def test_a_fetch_that_waits_spends_its_time_remote(cluster: ThreadedCluster, client: Client) -> None:
    client.send(fetch("orders", wanted(0), max_wait_ms=60, min_bytes=1), 11)
    read = cluster.metrics()
    assert read.histogram("RemoteTimeMs", request="Fetch").max >= 50
    assert read.histogram("LocalTimeMs", request="Fetch").max < 50


def test_gauges_have_kafka_s_names(cluster: ThreadedCluster, client: Client) -> None:
    client.send(metadata("orders"), 9)
    read = cluster.metrics()
    values = {
        name: read.value(name)
        for name in (
            "PartitionCount",
            "LeaderCount",
            "UnderReplicatedPartitions",
            "UnderMinIsrPartitionCount",
            "AtMinIsrPartitionCount",
            "OfflinePartitionsCount",
            "GlobalTopicCount",
            "GlobalPartitionCount",
            "ActiveBrokerCount",
            "FencedBrokerCount",
            "RequestQueueSize",
            "IsrShrinksPerSec",
            "IsrExpandsPerSec",
        )
    }
    assert values == {
        "PartitionCount": 2,
        "LeaderCount": 2,
        "UnderReplicatedPartitions": 0,
        "UnderMinIsrPartitionCount": 0,
        "AtMinIsrPartitionCount": 2,
        "OfflinePartitionsCount": 0,
        "GlobalTopicCount": 1,
        "GlobalPartitionCount": 2,
        "ActiveBrokerCount": 1,
        "FencedBrokerCount": 0,
        "RequestQueueSize": 0,
        "IsrShrinksPerSec": 0,
        "IsrExpandsPerSec": 0,
    }
    assert 0.9 < read.value("RequestHandlerAvgIdlePercent") <= 1
    assert read.value("NetworkProcessorAvgIdlePercent") == 1
    assert sum(metric.value for metric in read.find("connection-count")) == 1  # type: ignore[misc]
    assert read.get("LeaderCount").mbean == "kafka.server:type=ReplicaManager,name=LeaderCount"


@pytest.mark.parametrize(("release", "counts"), [("3.4.1", []), ("3.5.2", [(1, 3)])])
def test_the_producers_of_each_partition_are_counted(release: str, counts: list[tuple[int, float]]) -> None:
    with ThreadedCluster(brokers=1, topics=["orders:2:1"], release=release) as cluster:
        each = Client(cluster)
        for producer_id, partition in ((7, 0), (7, 1), (8, 0)):
            records = batch(b"a", producer_id=producer_id, producer_epoch=0, base_sequence=0)
            each.send(produce("orders", records, partition=partition), 9)
        each.connection.close()
        assert cluster.metrics().values("ProducerIdCount") == counts


def test_a_dead_broker_shows_in_the_metrics_of_the_others() -> None:
    config = {"broker.session.timeout.ms": "300", "broker.heartbeat.interval.ms": "50"}
    with ThreadedCluster(brokers=3, topics=["orders:3:3"], config=config) as cluster:
        cluster.kill(2)
        cluster.call(lambda: _leaderless(cluster))
        read = cluster.metrics()
        assert read.find("LeaderCount", broker=2) == []
        assert sum(read.value("UnderReplicatedPartitions", broker=broker) for broker in (1, 3)) == 3
        assert sum(read.value("IsrShrinksPerSec", broker=broker) for broker in (1, 3)) >= 2
        assert (read.value("FencedBrokerCount"), read.value("OfflinePartitionsCount")) == (1, 0)


def _leaderless(cluster: ThreadedCluster) -> Any:
    """Fires when the controller has moved every leadership away from the dead broker, and all brokers know."""
    from twisted.internet.defer import Deferred

    reactor = cluster.cluster.reactor
    done: Deferred[None] = Deferred()

    def look() -> None:
        image = cluster.cluster.controller.image
        alive = [broker for broker in cluster.cluster.brokers.values() if broker.alive]
        seen = all(broker.metadata_version == image.version for broker in alive)
        isrs = [partition.isr for partition in image.topics["orders"].partitions]
        if seen and all(2 not in isr for isr in isrs):
            done.callback(None)
        else:
            reactor.callLater(0.02, look)

    look()
    return done


def test_a_name_that_is_wrong_or_not_enough_is_explained(cluster: ThreadedCluster) -> None:
    read: MetricsSnapshot = cluster.metrics()
    with pytest.raises(BrokerSimError, match="did you mean 'LeaderCount'"):
        read.value("LeadrCount")
    with pytest.raises(BrokerSimError, match="name the broker or a tag"):
        read.value("connection-count")
    with pytest.raises(BrokerSimError, match="is no histogram"):
        read.histogram("LeaderCount")


def test_prometheus_text_has_a_type_and_a_sample_for_each_metric(cluster: ThreadedCluster, client: Client) -> None:
    client.send(metadata("orders"), 9)
    text = cluster.metrics().to_prometheus()
    lines = text.splitlines()
    assert "# TYPE kafka_network_requestmetrics_totaltimems summary" in lines
    assert 'kafka_network_requestmetrics_totaltimems_count{broker="1",request="Metadata"} 1' in lines
    assert 'kafka_network_requestmetrics_requestspersec_total{broker="1",request="Metadata",version="9"} 1' in lines
    assert 'kafka_server_replicamanager_leadercount{broker="1"} 2.0' in lines
    assert "kafka_controller_kafkacontroller_globalpartitioncount 2.0" in lines
    names = [line.split("{")[0].split(" ")[0] for line in lines if not line.startswith("#")]
    assert all(name.replace("_", "").isalnum() for name in names)
