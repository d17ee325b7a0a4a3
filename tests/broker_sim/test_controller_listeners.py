"""Controllers listen: on virtual time, on machines of their own or on their brokers'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.protocol import ClientFactory, Protocol

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.events import RequestReceived
from broker_sim.control.journal import Detail
from broker_sim.errors import BrokerSimError
from broker_sim.metadata.metadata_log_codec import decode_batches
from protocol_specs.error_codes import ErrorCode
from protocol_specs.framing import FrameReader, decode_response, encode_request
from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol_specs.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    PartitionSnapshot,
    SnapshotId,
    TopicSnapshot,
)
from protocol_specs.messages.vote import PartitionData, TopicData, VoteRequest
from protocol_specs.registry import response_type
from protocol_specs.uuids import METADATA_TOPIC_UUID
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

METADATA_TOPIC = "__cluster_metadata"


class Client(Protocol):
    def __init__(self) -> None:
        self.reader = FrameReader(limit_bytes=1 << 24, option="test")
        self.frames: list[bytes] = []
        self.closed = False

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        self.frames += self.reader.receive(data)

    def connectionLost(self, reason: object = None) -> None:  # noqa: ARG002, N802
        self.closed = True


class Served:
    """A cluster on simulated hosts b1, b2, ..., and a client on another one."""

    def __init__(self, **shape: Any) -> None:
        self.world = World(1)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            topics=[TopicSpec.parse("t:1:1")],
            host=lambda broker_id: f"b{broker_id}",
            broker_reactor=lambda broker_id: self.world.network.host(f"b{broker_id}"),
            **shape,
        )
        self.cluster.start()

    def connect(self, node_id: int) -> Client:
        client = Client()
        factory = ClientFactory.forProtocol(lambda: client)
        factory.noisy = False
        host, port = self.cluster.controller_endpoints[node_id]
        self.world.network.host("client").connectTCP(host, port, factory)
        self.world.run_for(ms=5)
        return client

    def send(self, client: Client, request: Any, version: int) -> None:
        client.transport.write(encode_request(request, version, correlation_id=1, client_id="test"))

    def call(self, node_id: int, request: Any, version: int) -> Any:
        client = self.connect(node_id)
        self.send(client, request, version)
        self.world.run_until(lambda: client.frames)
        response = decode_response(response_type(request.API_KEY), version, client.frames[0])[1]
        client.transport.loseConnection()
        return response


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    made: list[Served] = []

    def serve(**shape: Any) -> Served:
        made.append(Served(**shape))
        return made[-1]

    yield serve
    for served in made:
        served.world.run_until(served.cluster.close())
        served.world.run_for(ms=10)  # what is on the wire arrives
        assert served.world.reactor.getDelayedCalls() == [], "a closed cluster has no timers"


def fetch(offset: int, *, epoch: int = 1, last_epoch: int = 1, max_wait_ms: int = 0) -> FetchRequest:
    partition = FetchPartition(
        partition=0, current_leader_epoch=epoch, fetch_offset=offset, last_fetched_epoch=last_epoch
    )
    topic = FetchTopic(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_UUID, partitions=[partition])
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=0, max_bytes=1 << 20, topics=[topic])


def vote(epoch: int) -> VoteRequest:
    partition = PartitionData(partition_index=0, replica_epoch=epoch, replica_id=77, last_offset=0, last_offset_epoch=0)
    return VoteRequest(topics=[TopicData(topic_name=METADATA_TOPIC, partitions=[partition])])


def topic(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1)], timeout_ms=10_000
    )


def test_every_broker_is_a_controller_on_its_own_machine(serve: Callable[..., Served]) -> None:
    served = serve(brokers=3)
    assert {node: host for node, (host, _) in served.cluster.controller_endpoints.items()} == {
        1: "b1",
        2: "b2",
        3: "b3",
    }
    response = served.call(2, DescribeClusterRequest(endpoint_type=2), 1)
    assert (response.controller_id, [each.broker_id for each in response.brokers]) == (1, [1, 2, 3])
    assert {each.broker_id: (each.host, each.port) for each in response.brokers} == served.cluster.controller_endpoints


def test_a_quorum_has_controllers_of_its_own_and_one_of_them_decides(serve: Callable[..., Served]) -> None:
    served = serve(brokers=2, controllers=3)
    assert list(served.cluster.controller_endpoints) == [3000, 3001, 3002]
    refused = served.call(3001, topic("u"), 7)
    assert refused.topics[0].error_code == ErrorCode.NOT_CONTROLLER
    assert refused.topics[0].error_message == "The active controller appears to be node 3000."
    assert served.call(3000, topic("u"), 7).topics[0].error_code == ErrorCode.NONE
    assert served.cluster.leader_of("u", 0) is not None


def test_a_dead_controller_refuses_and_comes_back_on_its_port(serve: Callable[..., Served]) -> None:
    served = serve(brokers=1, controllers=3)
    before = served.cluster.controller_endpoints[3001]
    client = served.connect(3001)
    served.cluster.kill(3001)
    served.world.run_for(ms=5)
    assert client.closed
    assert served.connect(3001).closed is False  # refused: it was never made
    served.world.run_until(served.cluster.restart(3001))
    assert served.cluster.controller_endpoints[3001] == before
    assert served.call(3001, DescribeClusterRequest(endpoint_type=2), 1).error_code == ErrorCode.NONE


def test_a_restarted_controller_numbers_its_requests_on(serve: Callable[..., Served]) -> None:
    served = serve(brokers=1, controllers=3, journal_detail=Detail.FULL)
    for _ in range(2):
        served.call(3001, DescribeClusterRequest(endpoint_type=2), 1)
        served.cluster.kill(3001)
        served.world.run_until(served.cluster.restart(3001))
    received = [event for event in served.cluster.journal.events_of(RequestReceived) if event.broker_id == 3001]
    first, second = [event.request_id for event in received if event.api == "DescribeCluster"]
    assert second > first


def test_nothing_is_made_for_controllers_without_requests(serve: Callable[..., Served]) -> None:
    served = serve(brokers=2)
    listeners = served.cluster._controller_listeners
    assert listeners is not None
    servers = served.cluster._controller_servers
    assert list(servers) == [1], "brokers reach the active controller over its links"
    assert servers[1].socket_server is None
    served.connect(2)
    assert [server.socket_server is None for server in servers.values()] == [True, False]


@pytest.mark.parametrize("controllers", [1, 3])
def test_the_log_is_fetched_as_bytes(serve: Callable[..., Served], controllers: int) -> None:
    served = serve(brokers=1, controllers=controllers)
    leader = min(served.cluster.controller_endpoints)
    partition = served.call(leader, fetch(0, last_epoch=0), 17).responses[0].partitions[0]
    log = served.cluster.controller.metadata_log
    fetched = [record for batch in decode_batches(bytes(partition.records)) for record in batch.logged()]
    assert fetched == log.records()[: len(fetched)]
    assert partition.high_watermark == len(fetched)
    assert partition.current_leader.leader_id == leader


def test_a_fetch_waits_for_what_comes_next(serve: Callable[..., Served]) -> None:
    served = serve(brokers=1, config={"metadata.max.idle.interval.ms": "0"})
    log = served.cluster.controller.metadata_log
    end = log.end_offset
    client = served.connect(1)
    served.send(client, fetch(end, max_wait_ms=60_000), 16)
    served.world.run_for(ms=3_000)
    assert client.frames == []
    served.cluster.create_topic(TopicSpec.parse("u:1:1"))
    served.world.run_for(ms=10)
    response = decode_response(response_type(1), 16, client.frames[0])[1]
    assert decode_batches(bytes(response.responses[0].partitions[0].records))[0].base_offset == end
    served.send(client, fetch(log.end_offset, max_wait_ms=2_000), 16)
    served.world.run_for(ms=1_900)
    assert len(client.frames) == 1
    served.world.run_for(ms=200)
    assert bytes(decode_response(response_type(1), 16, client.frames[1])[1].responses[0].partitions[0].records) == b""


def test_an_idle_log_grows_for_who_waits(serve: Callable[..., Served]) -> None:
    served = serve(brokers=1)
    served.world.run_for(ms=10)
    log = served.cluster.controller.metadata_log
    log.write_no_ops()
    client = served.connect(1)
    served.send(client, fetch(log.end_offset, max_wait_ms=60_000), 16)
    served.world.run_for(ms=1_100)
    assert len(client.frames) == 1
    served.send(client, fetch(log.end_offset, max_wait_ms=60_000), 16)  # still waits when the cluster closes
    served.world.run_for(ms=10)


def test_who_has_nothing_gets_the_snapshot(serve: Callable[..., Served]) -> None:
    served = serve(brokers=1)
    log = served.cluster.controller.metadata_log
    snapshot = log.make_snapshot()
    wanted = served.call(1, fetch(0, last_epoch=0), 17).responses[0].partitions[0].snapshot_id
    assert (wanted.end_offset, wanted.epoch) == snapshot.id
    part = PartitionSnapshot(
        current_leader_epoch=1, snapshot_id=SnapshotId(end_offset=wanted.end_offset, epoch=wanted.epoch), position=10
    )
    request = FetchSnapshotRequest(max_bytes=50, topics=[TopicSnapshot(name=METADATA_TOPIC, partitions=[part])])
    response = served.call(1, request, 1).topics[0].partitions[0]
    assert (bytes(response.unaligned_records), response.size) == (snapshot.encode()[10:60], len(snapshot.encode()))


def test_a_higher_epoch_is_obeyed_and_brokers_go_on(serve: Callable[..., Served]) -> None:
    served = serve(brokers=2)
    response = served.call(1, vote(9), 1).topics[0].partitions[0]
    assert (response.error_code, response.leader_epoch, response.vote_granted) == (ErrorCode.NONE, 9, False)
    assert served.cluster.controller.metadata_log.leader_epoch == 10
    served.world.run_until(served.cluster.create_topic(TopicSpec.parse("u:1:2")))
    assert served.call(1, vote(9), 1).topics[0].partitions[0].error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_a_quorum_that_receives_a_higher_epoch_elects_again(serve: Callable[..., Served]) -> None:
    served = serve(brokers=1, controllers=3)
    response = served.call(3000, vote(9), 1).topics[0].partitions[0]
    assert (response.error_code, response.leader_epoch) == (ErrorCode.NONE, 9)
    served.world.run_until(lambda: served.cluster.active_controller is not None)
    assert served.cluster.controller.metadata_log.leader_epoch > 9


def test_ports_may_be_chosen(serve: Callable[..., Served]) -> None:
    served = serve(brokers=2, controller_ports=[9093, 9094])
    assert served.cluster.controller_bootstrap_servers == "b1:9093,b2:9094"


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"brokers": 2, "controller_ports": [9093]}, "controller_ports: 1 were given for 2 controllers"),
        ({"brokers": 1, "controller_ports": [9093], "release": "2.3"}, "its controllers do not listen"),
    ],
)
def test_ports_that_cannot_be_are_refused(serve: Callable[..., Served], shape: dict[str, Any], words: str) -> None:
    with pytest.raises(BrokerSimError, match=words):
        serve(**shape)


def test_controllers_of_zookeeper_do_not_listen(serve: Callable[..., Served]) -> None:
    assert serve(brokers=1, release="2.3").cluster.controller_bootstrap_servers == ""
