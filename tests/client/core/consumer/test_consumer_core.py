"""Reading assigned partitions on virtual time, while leaders move and brokers die."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from twisted.internet.defer import Deferred

from broker_client.core.admin.admin_core import AdminCore, NewTopic
from broker_client.core.consumer.consumer_core import EARLIEST, LATEST, ConsumerCore, FetchOptions
from broker_client.core.network.client_core import ClientCore, ClientOptions
from broker_client.core.network.network_client import NetworkClientConfig
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.errors import BrokerError, ProducerError
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from broker_sim.cluster import Cluster, TopicSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sim_runtime.world import World

KEY = TopicPartition("t", 0)


class Room:
    """Three brokers, a topic `t:1:3`, a producer, and small clients, each on a host of its own."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.cluster = Cluster(
            reactor=world.reactor,
            streams=world.streams,
            topics=[TopicSpec.parse("t:1:3")],
            config={"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"},
            host=lambda broker: f"b{broker}",
            broker_reactor=lambda broker: world.network.host(f"b{broker}"),
        )
        self.cluster.start()
        servers = tuple(
            (host, int(port)) for host, port in (text.split(":") for text in self.cluster.bootstrap_servers.split(","))
        )
        options = ClientOptions(
            bootstrap_servers=servers, network=NetworkClientConfig(client_id="small", request_timeout_ms=2_000)
        )
        self.small = ClientCore(options, world.network.host("small"), world.streams.stream("small"))
        self.producer = ProducerCore(
            ProducerConfig(bootstrap_servers=self.cluster.bootstrap_servers),
            world.network.host("producer"),
            world.streams.stream("producer"),
        )

    def consumer(self, **fetch: object) -> ConsumerCore:
        made = ConsumerCore(self.small, FetchOptions(**fetch))  # type: ignore[arg-type]
        made.assign([KEY])
        return made

    def produce(self, *numbers: int) -> None:
        futures = [self.producer.send("t", b"%d" % number, partition=0) for number in numbers]
        for future in futures:
            self.world.run_until(future.as_deferred())

    def poll(self, consumer: ConsumerCore, timeout_ms: int = 5_000) -> list[bytes | None]:
        return [record.value for record in self.world.run_until(consumer.poll(timeout_ms))]


@pytest.fixture
def room(world: World) -> Iterator[Room]:
    made = Room(world)
    yield made
    made.small.close()
    world.run_until(made.producer.close(0))
    world.run_until(made.cluster.close())


def test_a_poll_waits_for_records_at_most_its_time(world: World, room: Room) -> None:
    consumer = room.consumer()
    began_us = world.reactor.now_us
    assert room.poll(consumer, 2_000) == []
    assert 2_000 <= (world.reactor.now_us - began_us) / 1000 < 2_600
    room.produce(1, 2)
    assert room.poll(consumer) == [b"1", b"2"]
    assert consumer.position(KEY) == 2


def test_reading_goes_on_at_the_next_leader(world: World, room: Room) -> None:
    consumer = room.consumer()
    room.produce(1)
    assert room.poll(consumer) == [b"1"]
    leader = room.cluster.leader_of("t", 0)
    assert leader is not None
    room.cluster.kill(leader)
    room.produce(2)
    assert room.poll(consumer, 20_000) == [b"2"]


def test_offsets_are_found_by_time(world: World, room: Room) -> None:
    consumer = room.consumer()
    room.produce(1, 2, 3)
    later_ms = world.reactor.now_us // 1000 + 1_000
    assert world.run_until(consumer.offsets([KEY], EARLIEST)) == {KEY: 0}
    assert world.run_until(consumer.offsets([KEY], LATEST)) == {KEY: 3}
    assert world.run_until(consumer.offsets([KEY], later_ms)) == {KEY: -1}


def test_an_offset_out_of_range_is_reset_or_raised(world: World, room: Room) -> None:
    room.produce(1)
    consumer = room.consumer()
    consumer.seek(KEY, 100)
    assert room.poll(consumer) == [b"1"]
    strict = room.consumer(auto_offset_reset="none")
    with pytest.raises(ProducerError, match="t-0 has no position"):
        room.poll(strict)
    strict.seek(KEY, 100)
    with pytest.raises(BrokerError, match="OFFSET_OUT_OF_RANGE"):
        room.poll(strict)


def test_admin_makes_topics_by_count_and_by_assignment(world: World, room: Room) -> None:
    admin = AdminCore(room.small)
    world.run_until(
        admin.create_topics(
            [
                NewTopic(name="counted", partitions=2, replication_factor=2, configs={"retention.ms": "1000"}),
                NewTopic(name="assigned", assignments={0: [2, 1], 1: [3, 2]}),
            ]
        )
    )
    assigned = world.run_until(admin.wait_for_topic("assigned"))
    assert [(one.leader, one.replicas) for one in assigned] == [(2, (2, 1)), (3, (3, 2))]
    configs = world.run_until(admin.describe_topic_configs("counted"))
    assert configs["retention.ms"].value == "1000"
    world.run_until(admin.delete_topics(["counted"]))
    with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        world.run_until(admin.describe_topic("counted"))


def test_admin_finds_another_broker_when_its_broker_dies(world: World, room: Room) -> None:
    admin = AdminCore(room.small)
    world.run_until(room.small.cluster_with(()))
    room.cluster.kill(room.small.metadata.cluster.controller_id)
    world.run_until(admin.create_topics([NewTopic(name="after", partitions=1, replication_factor=2)]))
    assert len(world.run_until(admin.wait_for_topic("after"))) == 1


def test_a_close_behind_records_ends_the_session_of_the_fetch_that_is_under_way(world: World, room: Room) -> None:
    consumer = room.consumer()
    room.produce(1)
    assert room.poll(consumer) == [b"1"]
    leader = room.cluster.leader_of("t", 0)
    assert leader is not None
    sessions = room.cluster.broker(leader).apis.fetch_sessions
    before = len(sessions)
    world.reactor.run_for(ms=5)
    world.run_until(Deferred.fromCoroutine(consumer.close(5_000)))
    assert before - len(sessions) == 1
