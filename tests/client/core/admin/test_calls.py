"""Items of a request until each has its result: scripted nodes, and clusters whose leaders and controllers go."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from broker_client.admin_errors import ItemsFailed
from broker_client.core.admin.admin_core import AdminCore
from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.configs import ConfigResource, ConfigResourceType
from broker_client.core.admin.quotas import QuotaEntity
from broker_client.core.admin.records import HIGH_WATERMARK, OffsetSpec
from broker_client.core.admin.replicas import ElectionType
from broker_client.core.admin.routes import BrokerRoute
from broker_client.core.admin.topics import NewPartitions, NewTopic
from broker_client.core.admin.transactions import TransactionState
from broker_client.core.network.client_core import ClientCore, ClientOptions
from broker_client.core.network.cluster import Cluster as Snapshot
from broker_client.core.network.cluster import Node
from broker_client.core.network.network_client import NetworkClientConfig
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.errors import BrokerError, ConnectionFailed, ProducerError, ProducerTimeout, UnsupportedVersion
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.faults.grammar import parse_rule
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.delete_topics import DeleteTopicsRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sim_runtime.world import World

KEY: Final = TopicPartition("t", 0)
QUICK: Final = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"}
TRANSACTIONS: Final = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "transaction.state.log.num.partitions": "2",
}
RETRIED: Final = (ErrorCode.NOT_CONTROLLER,)
Response = dict[str, ErrorCode] | ProducerError


class ScriptedCore:
    """A client core whose nodes follow a script: one code per item, or an error for the whole request."""

    def __init__(self, world: World, responses: dict[int, list[Response]], timeout_ms: int = 10_000) -> None:
        self.reactor = world.reactor
        self.random = world.streams.stream("admin")
        self.options = ClientOptions(
            bootstrap_servers=(), network=NetworkClientConfig(client_id="a"), default_api_timeout_ms=timeout_ms
        )
        self.metadata = None
        self.requested: list[tuple[int, list[str]]] = []
        self.refreshes = 0
        self._responses = {node_id: deque(script) for node_id, script in responses.items()}

    async def cluster_with(self, topics: Any, *, refresh: bool, timeout_ms: int) -> Snapshot:
        del topics, timeout_ms
        self.refreshes += refresh
        return Snapshot(nodes={node_id: Node(node_id, "h", 1) for node_id in self._responses})

    def request(self, kind: Any, build: Callable[[int], Any], *, node_id: int, **options: Any) -> Deferred[Response]:
        del kind, options
        self.requested.append((node_id, build(6).topic_names))
        response = self._responses[node_id].popleft()
        return fail(response) if isinstance(response, ProducerError) else succeed(response)


def settle(world: World, core: ScriptedCore, items: list[str]) -> dict[str, str]:
    """Items are named after the node that they belong to: `1a`, `1b`, `2a`."""

    def take(response: dict[str, ErrorCode], _: list[str], outcomes: Outcomes[str, str]) -> None:
        for item, code in response.items():
            outcomes.take(item, code, None, f"done {item}", retried=RETRIED)

    call: ItemCall[str, str] = ItemCall(
        kind=DeleteTopicsRequest,
        route=BrokerRoute(lambda item: int(item[0])),
        build=lambda _version, names, _timeout_ms: DeleteTopicsRequest(topic_names=names),
        take=take,
    )
    return world.run_until(AdminCalls(core).settle(items, call))  # type: ignore[arg-type]


OK, AGAIN, EXISTS = ErrorCode.NONE, ErrorCode.NOT_CONTROLLER, ErrorCode.TOPIC_ALREADY_EXISTS


def test_each_node_gets_its_items_and_results_keep_their_order(world: World) -> None:
    core = ScriptedCore(world, {1: [{"1b": OK, "1a": OK}], 2: [{"2a": OK}]})
    assert list(settle(world, core, ["1a", "2a", "1b"])) == ["1a", "2a", "1b"]
    assert core.requested == [(1, ["1a", "1b"]), (2, ["2a"])]
    assert core.refreshes == 0


def test_only_open_items_are_requested_again_with_new_metadata(world: World) -> None:
    core = ScriptedCore(
        world, {1: [{"1a": OK, "1b": AGAIN}, ConnectionFailed("gone"), {"1b": OK}], 2: [{"2a": EXISTS}]}
    )
    with pytest.raises(ItemsFailed, match="1 of 3 failed: 2a: TOPIC_ALREADY_EXISTS") as failed:
        settle(world, core, ["1a", "1b", "2a"])
    assert failed.value.done == {"1a": "done 1a", "1b": "done 1b"}
    assert [names for _, names in core.requested] == [["1a", "1b"], ["2a"], ["1b"], ["1b"]]
    assert core.refreshes == 2
    assert world.reactor.now_us >= 200_000  # 100 ms, then 200 ms, each with its jitter


def test_the_failure_of_one_node_is_reported_beside_the_success_of_others(world: World) -> None:
    core = ScriptedCore(world, {1: [UnsupportedVersion("too old")], 2: [{"2a": OK}]})
    with pytest.raises(ItemsFailed, match="1 of 2 failed: 1a: too old") as failed:
        settle(world, core, ["1a", "2a"])
    assert failed.value.error_code is ErrorCode.UNSUPPORTED_VERSION
    core = ScriptedCore(world, {1: [UnsupportedVersion("too old")], 2: [UnsupportedVersion("too old")]})
    with pytest.raises(UnsupportedVersion, match="too old"):
        settle(world, core, ["1a", "2a"])


def test_an_item_that_a_response_leaves_out_is_no_success(world: World) -> None:
    core = ScriptedCore(world, {1: [{"1a": OK, "1x": OK}]})
    with pytest.raises(ItemsFailed, match="node 1 left 1b out of its response to DeleteTopics"):
        settle(world, core, ["1a", "1b"])


def test_the_last_error_is_reported_when_the_time_is_over(world: World) -> None:
    core = ScriptedCore(world, {1: [{"1a": AGAIN}] * 99}, timeout_ms=5_000)
    with pytest.raises(
        ProducerTimeout,
        match=r"DeleteTopics of 1a had no final response after 5000 ms \(the last one: NOT_CONTROLLER\)",
    ):
        settle(world, core, ["1a"])
    assert 5 < len(core.requested) < 12  # the pauses grow to a second


def test_many_failures_have_a_short_text() -> None:
    errors: dict[str, ProducerError] = {f"t{number}": BrokerError(EXISTS) for number in range(30)}
    text = str(ItemsFailed(errors, {}))
    assert text.startswith("30 of 30 failed: t0: TOPIC_ALREADY_EXISTS; t1")
    assert text.endswith("t9: TOPIC_ALREADY_EXISTS; and 20 more")


class RecordingCore(ClientCore):
    """Notes where each request is to go: a node id, None for any."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.requested: list[tuple[str, int | None]] = []

    def request(self, kind: type[Any], build: Any, *, node_id: int | None = None, **options: Any) -> Deferred[Any]:
        self.requested.append((kind.NAME, node_id))
        return super().request(kind, build, node_id=node_id, **options)


class Room:
    """Three brokers of a release and an admin on a host of its own."""

    def __init__(self, world: World, release: str) -> None:
        self.world = world
        self.cluster = Cluster(
            reactor=world.reactor,
            streams=world.streams,
            topics=[TopicSpec.parse("t:1:3")],
            release=release,
            config={"zookeeper.session.timeout.ms": "2000"} if release.startswith("0.") else QUICK | TRANSACTIONS,
            host=lambda broker: f"b{broker}",
            broker_reactor=lambda broker: world.network.host(f"b{broker}"),
        )
        self.cluster.start()
        servers = tuple(
            (host, int(port)) for host, port in (text.split(":") for text in self.cluster.bootstrap_servers.split(","))
        )
        network = NetworkClientConfig(client_id="admin", request_timeout_ms=2_000)
        self.core = RecordingCore(
            ClientOptions(bootstrap_servers=servers, network=network),
            world.network.host("admin"),
            world.streams.stream("admin"),
        )
        self.admin = AdminCore(self.core)

    def open_transaction(self, transactional_id: str, host: str) -> ProducerCore:
        """Return a producer on a host of its own, in a transaction with one record."""
        config = ProducerConfig(bootstrap_servers=self.cluster.bootstrap_servers, transactional_id=transactional_id)
        producer = ProducerCore(config, self.world.network.host(host), self.world.streams.stream(host))
        self.world.run_until(producer.transactional.init_transactions())
        producer.transactional.begin_transaction()
        self.world.run_until(producer.send("t", b"open").as_deferred())
        return producer

    def close(self) -> None:
        self.core.close()
        self.world.run_until(self.cluster.close())


@pytest.fixture(params=["0.10.2", "2.8", "4.3.1"])
def room(world: World, request: pytest.FixtureRequest) -> Iterator[Room]:
    made = Room(world, request.param)
    yield made
    made.close()


def test_requests_go_where_javas_admin_sends_them(world: World) -> None:
    room = Room(world, "4.3.1")
    admin, topic = room.admin, ConfigResource.topic("t")
    quota = QuotaEntity.of({"user": None})
    calls: list[tuple[str, Any, str]] = [
        ("CreateTopics", admin.create_topics([NewTopic(name="n")]), "controller"),
        ("CreatePartitions", admin.create_partitions({"t": NewPartitions(total_count=2)}), "controller"),
        ("DeleteTopics", admin.delete_topics(["n"]), "controller"),
        ("Metadata", admin.list_topics(), "any"),
        ("DescribeTopicPartitions", admin.describe_topics(["t"]), "any"),
        ("DescribeConfigs", admin.describe_configs([topic, ConfigResource.broker(None)]), "any"),
        ("DescribeConfigs", admin.describe_configs([ConfigResource.broker(2)]), "2"),
        ("DescribeConfigs", admin.describe_configs([ConfigResource(ConfigResourceType.BROKER_LOGGER, "3")]), "3"),
        ("IncrementalAlterConfigs", admin.incremental_alter_configs({topic: []}), "any"),
        ("IncrementalAlterConfigs", admin.incremental_alter_configs({ConfigResource.broker(3): []}), "3"),
        ("ListConfigResources", admin.list_config_resources(), "any"),
        ("ListOffsets", admin.list_offsets({KEY: OffsetSpec.LATEST}), "leader"),
        ("DeleteRecords", admin.delete_records({KEY: HIGH_WATERMARK}), "leader"),
        ("ElectLeaders", admin.elect_leaders(ElectionType.PREFERRED), "controller"),
        ("AlterPartitionReassignments", admin.alter_partition_reassignments({KEY: [1, 2, 3]}), "controller"),
        ("ListPartitionReassignments", admin.list_partition_reassignments(), "controller"),
        ("DescribeLogDirs", admin.describe_log_dirs([2]), "2"),
        ("DescribeCluster", admin.describe_cluster(), "any"),
        ("DescribeQuorum", admin.describe_metadata_quorum(), "any"),
        ("ApiVersions", admin.describe_features(), "any"),
        ("DescribeClientQuotas", admin.describe_client_quotas(), "any"),
        ("AlterClientQuotas", admin.alter_client_quotas({quota: {"producer_byte_rate": 1.0}}), "any"),
    ]
    for name, call, where in calls:
        room.core.requested.clear()
        world.run_until(call)
        snapshot = room.core.metadata.cluster
        places = {"any": None, "controller": snapshot.controller_id, "leader": room.cluster.leader_of("t", 0)}
        assert room.core.requested == [(name, places[where] if where in places else int(where))]
    room.close()


def test_topics_are_described_page_by_page(world: World) -> None:
    room = Room(world, "4.3.1")
    counts = {"a": 3, "b": 1, "c": 4}
    for name, count in counts.items():
        world.run_until(room.cluster.create_topic(TopicSpec.parse(f"{name}:{count}:1")))
    for limit, pages in ((1, 8), (2, 4), (3, 3), (8, 1), (2_000, 1)):
        room.core.requested.clear()
        reported = world.run_until(room.admin.describe_topics(["c", "a", "b"], partitions_per_response=limit))
        assert {name: [one.partition for one in topic.partitions] for name, topic in reported.items()} == {
            name: list(range(count)) for name, count in counts.items()
        }
        assert len(room.core.requested) == pages
    with pytest.raises(ItemsFailed, match="1 of 3 failed: bb: UNKNOWN_TOPIC_OR_PARTITION") as failed:
        world.run_until(room.admin.describe_topics(["a", "bb", "c"], partitions_per_response=2))
    assert [len(topic.partitions) for topic in failed.value.done.values()] == [3, 4]
    room.close()


def test_replicas_that_may_still_lead_are_reported(world: World) -> None:
    room = Room(world, "4.3.1")
    world.run_until(
        room.admin.create_topics([NewTopic(name="s", assignments={0: [1, 2, 3]}, configs={"min.insync.replicas": "2"})])
    )
    world.run_until(room.admin.wait_for_topic("s"))
    for broker in (2, 3):
        room.cluster.kill(broker)
    world.run_for(ms=5_000)
    (partition,) = world.run_until(room.admin.describe_topics(["s"]))["s"].partitions
    assert (partition.leader, partition.isr) == (1, (1,))
    assert len(partition.eligible_leader_replicas or ()) == 1
    room.close()


def test_offsets_are_requested_from_the_next_leader(world: World, room: Room) -> None:
    assert world.run_until(room.admin.list_offsets({KEY: OffsetSpec.LATEST}))[KEY].offset == 0
    leader = room.cluster.leader_of("t", 0)
    assert leader is not None
    room.cluster.kill(leader)
    assert world.run_until(room.admin.list_offsets({KEY: OffsetSpec.LATEST}))[KEY].offset == 0
    assert room.cluster.leader_of("t", 0) not in (None, leader)


def test_the_next_controller_gets_the_request_when_one_goes(world: World, room: Room) -> None:
    first = NewTopic(name="first", partitions=1, replication_factor=2)
    world.run_until(room.admin.create_topics([first]))
    room.cluster.kill(room.core.metadata.cluster.controller_id)
    second = NewTopic(name="second", partitions=1, replication_factor=2)
    assert list(world.run_until(room.admin.create_topics([second]))) == ["second"]
    assert len(world.run_until(room.admin.wait_for_topic("second"))) == 1


def test_a_silent_controller_is_given_up_after_the_request_timeout(world: World, room: Room) -> None:
    first = NewTopic(name="first", partitions=1, replication_factor=2)
    world.run_until(room.admin.create_topics([first]))
    silent = f"b{room.core.metadata.cluster.controller_id}"
    link = world.network.link(silent, "admin")
    link.hold()
    world.reactor.callLater(3, link.release)
    began_us = world.reactor.now_us
    topic = NewTopic(name="late", partitions=1, replication_factor=2)
    # As in Java: the request that timed out has been carried out.
    with pytest.raises(ItemsFailed, match="late: TOPIC_ALREADY_EXISTS"):
        world.run_until(room.admin.create_topics([topic]))
    assert 2_000 <= (world.reactor.now_us - began_us) / 1000 < 15_000


def test_a_partition_without_leader_is_named_when_the_time_is_over(world: World, room: Room) -> None:
    unknown = TopicPartition("t", 9)
    no_node = (
        r"ListOffsets of t-9 had no final response after 60000 ms \(the last one: UNKNOWN_TOPIC_OR_PARTITION: no leader"
    )
    with pytest.raises(ProducerTimeout, match=rf"{no_node}.*raise default\.api\.timeout\.ms"):
        world.run_until(room.admin.list_offsets({unknown: OffsetSpec.LATEST}), deadline_ms=90_000)
    both = {unknown: OffsetSpec.LATEST, KEY: OffsetSpec.LATEST}
    with pytest.raises(ItemsFailed, match=f"1 of 2 failed: t-9: {no_node}") as failed:
        world.run_until(room.admin.list_offsets(both), deadline_ms=90_000)
    assert failed.value.done[KEY].offset == 0
    with pytest.raises(ProducerTimeout, match="broker 9 is not among the brokers 1, 2, 3"):
        world.run_until(room.admin.describe_log_dirs([9]), deadline_ms=90_000)


def test_producers_are_fenced_while_markers_are_held_and_the_coordinator_moves(world: World) -> None:
    room = Room(world, "4.3.1")
    admin = room.admin
    producer = room.open_transaction("payments", "shop")
    (before,) = world.run_until(admin.describe_producers([KEY]))[KEY]
    assert before.current_transaction_start_offset == 0
    described = world.run_until(admin.describe_transactions(["payments"]))["payments"]
    assert (described.state, described.topic_partitions) == (TransactionState.ONGOING, (KEY,))
    room.cluster.faults.add(
        parse_rule({"name": "late", "select": {"api": "WriteTxnMarkers", "replica": "any"}, "act": "hold"})
    )
    fencing = Deferred.fromCoroutine(admin.fence_producers(["payments"]))
    world.run_for(ms=500)
    assert not fencing.called  # CONCURRENT_TRANSACTIONS until the marker is written
    room.cluster.kill(described.coordinator_id)
    room.cluster.faults.remove("late")
    fenced = world.run_until(fencing)["payments"]
    assert (fenced.producer_id, fenced.producer_epoch > before.producer_epoch) == (before.producer_id, True)
    (after,) = world.run_until(admin.describe_producers([KEY]))[KEY]
    assert (after.current_transaction_start_offset, after.coordinator_epoch) == (None, 1)
    moved = world.run_until(admin.describe_transactions(["payments"]))["payments"]
    assert (moved.state, moved.topic_partitions) == (TransactionState.EMPTY, ())
    assert moved.coordinator_id != described.coordinator_id
    assert world.run_until(admin.list_transactions(states=[TransactionState.ONGOING])) == {}
    with pytest.raises(ProducerError, match=r"PRODUCER_FENCED|INVALID_PRODUCER_EPOCH"):
        world.run_until(producer.send("t", b"late").as_deferred())
    producer.close(0)
    room.close()


def test_lists_of_all_brokers_do_not_wait_for_the_metadata(world: World) -> None:
    room = Room(world, "4.3.1")
    world.run_until(room.admin.list_transactions())
    began_us = world.reactor.now_us
    for _ in range(10):
        world.run_until(room.admin.list_transactions())
        world.run_until(room.admin.list_groups())
    assert world.reactor.now_us - began_us < 100_000
    room.close()
