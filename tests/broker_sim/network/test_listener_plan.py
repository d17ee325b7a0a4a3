"""Several listeners of one broker: each is bound, advertised and limited by itself."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.protocol import ClientFactory, Protocol

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.errors import ConfigError
from broker_sim.network.processor import CONNECTION_QUEUE_SIZE
from protocol_specs.error_codes import ErrorCode
from protocol_specs.framing import FrameReader, decode_response, encode_request
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.record_batch import RecordBatchBuilder
from protocol_specs.registry import response_type
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

TWO = {
    "listeners": "PLAINTEXT://:9092,EXTERNAL://:9192",
    "advertised.listeners": "PLAINTEXT://:9092,EXTERNAL://kafka.example.com:19092",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT",
}


class Client(Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self.reader = FrameReader(limit_bytes=1 << 20, option="test")
        self.frames: list[bytes] = []
        self.closed = False

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        self.frames += self.reader.receive(data)

    def connectionLost(self, reason: object = None) -> None:  # noqa: ARG002, N802
        self.closed = True


class Served:
    """A cluster on simulated hosts b1, b2, ..."""

    def __init__(self, config: dict[str, str], *, brokers: int = 1, release: str = "4.3.1") -> None:
        self.world = World(1)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            brokers=brokers,
            config=config,
            topics=[TopicSpec.parse(f"t:1:{brokers}")],
            release=release,
            host=lambda broker_id: f"b{broker_id}",
            broker_reactor=lambda broker_id: self.world.network.host(f"b{broker_id}"),
        )
        self.cluster.start()

    def connect(self, port: int, host: str = "b1", source: str = "client") -> Client:
        client = Client()
        factory = ClientFactory.forProtocol(lambda: client)
        factory.noisy = False
        self.world.network.host(source).connectTCP(host, port, factory)
        self.world.run_for(ms=5)
        return client

    def exchange(self, request: Any, version: int, port: int, host: str = "b1") -> Any:
        client = self.connect(port, host)
        client.transport.write(encode_request(request, version, correlation_id=1, client_id="test"))
        self.world.run_until(lambda: client.frames)
        return decode_response(response_type(request.API_KEY), version, client.frames[0])[1]

    def server(self, broker_id: int = 1) -> Any:
        return self.cluster.broker(broker_id).socket_server


@pytest.fixture
def serve() -> Callable[..., Served]:
    return Served


def endpoints(metadata: Any) -> list[tuple[int, str, int]]:
    return [(each.node_id, each.host, each.port) for each in metadata.brokers]


def test_each_listener_returns_its_own_endpoints(serve: Callable[..., Served]) -> None:
    served = serve(TWO, brokers=2)
    inside = served.exchange(MetadataRequest(topics=None), 12, 9092)
    outside = served.exchange(MetadataRequest(topics=None), 12, 9192, "b2")
    assert endpoints(inside) == [(1, "b1", 9092), (2, "b2", 9092)]
    assert endpoints(outside) == [(1, "kafka.example.com", 19092), (2, "kafka.example.com", 19092)]
    cluster = served.exchange(DescribeClusterRequest(), 1, 9192)
    assert [(each.host, each.port) for each in cluster.brokers] == [("kafka.example.com", 19092)] * 2
    assert served.cluster.bootstrap_servers == "b1:9092,b2:9092"
    assert served.cluster.bootstrap_servers_of("external") == "kafka.example.com:19092,kafka.example.com:19092"


@pytest.mark.parametrize(("version", "error"), [(5, ErrorCode.LEADER_NOT_AVAILABLE), (6, ErrorCode.LISTENER_NOT_FOUND)])
def test_a_leader_without_the_listener_is_no_leader_for_clients_of_it(
    serve: Callable[..., Served], version: int, error: ErrorCode
) -> None:
    alone = {f"1:{name}": value for name, value in TWO.items()}
    served = serve(alone, brokers=2)
    assert served.cluster.leader_of("t", 0) == 1
    seen = served.exchange(MetadataRequest(topics=None), version, 9192)
    assert endpoints(seen) == [(1, "kafka.example.com", 19092)]
    partition = seen.topics[0].partitions[0]
    assert (partition.error_code, partition.leader_id, partition.offline_replicas) == (0, 1, [2])
    served.cluster.kill(1)
    served.world.run_for(ms=30_000)
    served.world.run_until(served.cluster.restart(1), deadline_ms=60_000)
    served.world.run_for(ms=100)
    assert served.cluster.leader_of("t", 0) == 2
    partition = served.exchange(MetadataRequest(topics=None), version, 9192).topics[0].partitions[0]
    assert (partition.error_code, partition.leader_id, partition.offline_replicas) == (error, -1, [2])


def test_a_listener_that_is_not_advertised_is_bound_but_leads_nowhere(serve: Callable[..., Served]) -> None:
    served = serve(TWO | {"advertised.listeners": "PLAINTEXT://:9092"})
    seen = served.exchange(MetadataRequest(topics=None), 12, 9192)
    assert (endpoints(seen), seen.topics[0].partitions[0].error_code) == ([], ErrorCode.LISTENER_NOT_FOUND)


def test_each_listener_has_its_own_processors_and_limits(serve: Callable[..., Served]) -> None:
    own = {"listener.name.external.num.network.threads": "5", "listener.name.external.max.connections": "1"}
    served = serve(TWO | own | {"num.network.threads": "2"})
    acceptors = served.server().acceptors
    assert {name: [each.id for each in found.processors] for name, found in acceptors.items()} == {
        "PLAINTEXT": [0, 1],
        "EXTERNAL": [2, 3, 4, 5, 6],
    }
    first, second = served.connect(9192), served.connect(9192)
    inside = [served.connect(9092) for _ in range(3)]
    assert [len(acceptors[name].waiting) for name in ("EXTERNAL", "PLAINTEXT")] == [1, 0]
    assert served.server().connection_quotas.listener_count("PLAINTEXT") == len(inside)
    first.transport.loseConnection()
    served.world.run_for(ms=5)
    assert (len(acceptors["EXTERNAL"].waiting), second.closed) == (0, False)


def test_the_listener_of_other_brokers_is_not_held_up_by_the_brokers_limit(serve: Callable[..., Served]) -> None:
    served = serve(TWO | {"max.connections": "2"})
    outside = [served.connect(9192) for _ in range(2)]
    waits = served.connect(9192)
    assert len(served.server().acceptors["EXTERNAL"].waiting) == 1
    inside = served.connect(9092)
    served.world.run_for(ms=5)
    assert [each.closed for each in (*outside, waits, inside)] == [True, False, False, False], "the oldest made room"


def test_ports_of_one_text_are_counted_on_by_brokers_of_one_machine() -> None:
    world = World(1)
    config = TWO | {"listeners": "PLAINTEXT://:9092,EXTERNAL://:9192", "advertised.listeners": "PLAINTEXT://:9092"}
    cluster = Cluster(reactor=world.reactor, streams=world.streams, brokers=3, config=config, listen=False)
    assert [[each.port for each in broker.listeners.all] for broker in cluster.brokers.values()] == [
        [9092, 9192],
        [9093, 9193],
        [9094, 9194],
    ]
    assert cluster.bootstrap_servers == "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094"
    files = [(broker.config.static["listeners"], broker.config["listeners"]) for broker in cluster.brokers.values()]
    assert files[2] == ("PLAINTEXT://:9094,EXTERNAL://:9194", ["PLAINTEXT://:9094", "EXTERNAL://:9194"]), "as shown"


def test_what_is_given_to_one_broker_is_taken_as_it_is() -> None:
    world = World(1)
    config = TWO | {"advertised.listeners": "PLAINTEXT://far:9092", "2:listeners": "PLAINTEXT://:7000,EXTERNAL://:7001"}
    cluster = Cluster(reactor=world.reactor, streams=world.streams, brokers=2, config=config, listen=False)
    second = cluster.broker(2).listeners
    assert ([each.port for each in second.all], second.endpoints) == ([7000, 7001], {"PLAINTEXT": ("far", 9093)})


def test_ports_that_two_brokers_would_take_are_named() -> None:
    world = World(1)
    config = TWO | {"listeners": "PLAINTEXT://:9092,EXTERNAL://:9093", "advertised.listeners": "PLAINTEXT://:9092"}
    with pytest.raises(ConfigError, match="broker 1 and broker 2 would both bind :9093"):
        Cluster(reactor=world.reactor, streams=world.streams, brokers=2, config=config, listen=False)


def test_port_0_is_the_systems_choice_and_what_is_advertised(serve: Callable[..., Served]) -> None:
    zero = {"listeners": "PLAINTEXT://:0,EXTERNAL://:0", "advertised.listeners": "PLAINTEXT://:0,EXTERNAL://far:0"}
    served = serve(TWO | zero)
    inside, outside = (each.port for each in served.cluster.broker(1).listeners.all)
    assert inside != outside
    seen = served.exchange(MetadataRequest(topics=None), 12, outside)
    assert endpoints(seen) == [(1, "far", outside)]
    served.world.run_until(served.cluster.restart(1), deadline_ms=60_000)
    served.world.run_for(ms=100)
    assert [each.port for each in served.cluster.broker(1).listeners.all] == [inside, outside]


def test_a_port_and_listeners_together_are_refused() -> None:
    world = World(1)
    with pytest.raises(ConfigError, match="both set the address of broker 1"):
        Cluster(reactor=world.reactor, streams=world.streams, brokers=1, config=TWO, ports=[9092], listen=False)


@pytest.mark.parametrize("port", [9092, 9192])
def test_full_queues_of_new_connections_hold_up_their_own_listener_alone(
    serve: Callable[..., Served], port: int
) -> None:
    served = serve(TWO | {"num.network.threads": "2", "num.io.threads": "1", "queued.max.requests": "1"})
    server = served.server()
    server.handler_pool.service_time = lambda _context: 10_000.0
    names = ("PLAINTEXT", "EXTERNAL") if port == 9092 else ("EXTERNAL", "PLAINTEXT")
    busy, idle = (server.acceptors[name] for name in names)
    # One is handled, one is queued, and each Processor of the listener blocks with one.
    frame = encode_request(MetadataRequest(topics=None), 12, correlation_id=1, client_id="test")
    for client in [served.connect(port) for _ in range(4)]:
        client.transport.write(frame)
    served.world.run_for(ms=5)
    assert [processor.blocked for processor in busy.processors] == [True, True]
    newcomers = [served.connect(port) for _ in range(2 * CONNECTION_QUEUE_SIZE)]
    assert [len(processor.new_connections) for processor in busy.processors] == [CONNECTION_QUEUE_SIZE] * 2
    assert busy.waiting == deque()
    before_us = busy.blocked_us()
    newcomers += [served.connect(port) for _ in range(3)]
    served.world.run_for(ms=1000)
    assert (len(busy.waiting), busy.blocked_us() - before_us > 1_000_000) == (3, True)
    other = served.connect(9092 + 9192 - port)
    assert (len(idle.waiting), idle.blocked_us(), sum(len(each.channels) for each in idle.processors)) == (0, 0, 1)
    metrics = {
        dict(metric.tags)["listener"]: metric.value
        for metric in served.cluster.metrics().find("AcceptorBlockedPercent")
    }
    assert (metrics[busy.listener] > 0, metrics[idle.listener]) == (True, 0.0)
    server.handler_pool.service_time = None
    served.world.run_for(ms=60_000)
    assert (busy.waiting, sum(len(each.channels) for each in busy.processors)) == (deque(), 4 + len(newcomers))
    assert not other.closed


def test_an_acks_0_producer_that_closes_with_requests_buffered_is_served_to_the_last(
    serve: Callable[..., Served],
) -> None:
    served = serve({"listeners": "PLAINTEXT://:9092"})
    pool = served.server().handler_pool
    pool.service_time = lambda _context: 10.0
    client = served.connect(9092)
    batch = RecordBatchBuilder()
    batch.append(0, None, b"v", ())
    topic = TopicProduceData(
        name="t", partition_data=[PartitionProduceData(index=0, records=memoryview(batch.build()))]
    )
    request = ProduceRequest(transactional_id=None, acks=0, timeout_ms=1000, topic_data=[topic])
    client.transport.write(b"".join(encode_request(request, 9, correlation_id=id_, client_id="a") for id_ in range(25)))
    client.transport.loseConnection()
    served.world.run_for(ms=15)
    log = served.cluster.log_of(1, "t", 0)
    assert log is not None
    assert (client.closed, log.log_end_offset, pool.busy, len(served.server().request_channel)) == (True, 1, 1, 0)
    served.world.run_for(ms=100)
    assert 1 < log.log_end_offset < 25, "one by one"
    served.world.run_for(ms=500)
    assert (log.log_end_offset, served.server().connections, client.frames) == (25, 0, [])


def test_an_unknown_listener_is_named_with_those_that_there_are(serve: Callable[..., Served]) -> None:
    with pytest.raises(ConfigError, match="no listener 'FAR'; there are PLAINTEXT, EXTERNAL"):
        serve(TWO).cluster.bootstrap_servers_of("FAR")


CONTROL = {
    "listeners": "PLAINTEXT://:9092,CONTROL://:9292",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROL:PLAINTEXT",
    "control.plane.listener.name": "CONTROL",
}


def test_the_control_plane_has_a_processor_a_handler_and_a_queue_of_its_own(serve: Callable[..., Served]) -> None:
    served = serve(CONTROL | {"num.io.threads": "1", "num.network.threads": "2"}, release="2.8")
    server = served.server()
    control, data = server.acceptors["CONTROL"], server.acceptors["PLAINTEXT"]
    assert ([each.id for each in control.processors], [each.id for each in data.processors]) == ([0], [1, 2])
    assert (control.plane.handler_pool.size, control.plane.request_channel.limit) == (1, 20)
    server.handler_pool.service_time = lambda _context: 60_000.0
    busy = served.connect(9092)
    busy.transport.write(encode_request(MetadataRequest(topics=None), 9, correlation_id=1, client_id="test"))
    served.world.run_for(ms=10)
    assert server.handler_pool.busy == 1
    seen = served.exchange(MetadataRequest(topics=None), 9, 9292)
    assert (endpoints(seen), busy.frames) == ([(1, "b1", 9292)], []), "served beside the data plane"
    server.resize_processors(4)
    assert (len(control.processors), len(data.processors)) == (1, 4)
    names = [metric.name for metric in served.cluster.metrics() if metric.name.startswith("ControlPlane")]
    assert names == [
        "ControlPlaneRequestQueueSize",
        "ControlPlaneExpiredConnectionsKilledCount",
        "ControlPlaneNetworkProcessorAvgIdlePercent",
    ]


def test_the_control_plane_blocks_its_processor_alone_when_its_queue_is_full(serve: Callable[..., Served]) -> None:
    served = serve(CONTROL, release="2.8")
    server = served.server()
    server.control_plane.handler_pool.service_time = lambda _context: 1_000.0
    frame = encode_request(MetadataRequest(topics=None), 9, correlation_id=1, client_id="test")
    for client in [served.connect(9292) for _ in range(22)]:
        client.transport.write(frame)
    served.world.run_for(ms=5)
    channel = server.control_plane.request_channel
    assert (len(channel), channel.blocked_processors) == (20, 1)
    assert endpoints(served.exchange(MetadataRequest(topics=None), 9, 9092)) == [(1, "b1", 9092)]


def test_kraft_has_no_control_plane() -> None:
    world = World(1)
    with pytest.raises(ConfigError, match=r"control.plane.listener.name is not supported in KRaft mode"):
        Cluster(reactor=world.reactor, streams=world.streams, config=CONTROL, release="3.7", listen=False)


def test_a_listeners_threads_and_limits_change_while_it_serves(serve: Callable[..., Served]) -> None:
    served = serve(TWO | {"num.network.threads": "2"})
    server = served.server()
    clients = [served.connect(9192) for _ in range(4)]
    broker = served.cluster.broker(1)
    own = {"listener.name.external.num.network.threads": "4", "listener.name.external.max.connections": "4"}
    server.reconfigure(broker.config.with_dynamic({}, own))
    assert {name: len(found.processors) for name, found in server.acceptors.items()} == {"PLAINTEXT": 2, "EXTERNAL": 4}
    waits = served.connect(9192)
    assert len(server.acceptors["EXTERNAL"].waiting) == 1
    server.reconfigure(broker.config.with_dynamic({}, {}))
    served.world.run_for(ms=5)
    assert {name: len(found.processors) for name, found in server.acceptors.items()} == {"PLAINTEXT": 2, "EXTERNAL": 2}
    assert (len(server.acceptors["EXTERNAL"].waiting), waits.closed) == (0, False)
    assert [client.closed for client in clients] == [False] * 4, "they are on the Processors that stay"
