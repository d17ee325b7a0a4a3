"""Where a consumer reads and what it is shown, on virtual time: times, pauses, truncated logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_client.consumer_errors import LogTruncated, NoOffsetForPartition
from broker_client.consumer_groups import OffsetAndMetadata
from broker_client.core.admin.admin_core import AdminCore
from broker_client.core.admin.records import OffsetSpec
from broker_client.core.admin.replicas import ElectionType
from broker_client.core.consumer.consumer_core import ConsumerCore, FetchOptions
from broker_client.core.consumer.offset_lookups import OffsetLookups
from broker_client.core.consumer.subscription_state import FetchPosition, SubscriptionState
from broker_client.core.network.client_core import ClientCore, ClientOptions
from broker_client.core.network.network_client import NetworkClientConfig
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.errors import ConfigError, InvalidTopic, ProducerClosed, ProducerError, ProducerTimeout
from broker_client.isolation_levels import IsolationLevel
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from broker_sim.cluster import Cluster, TopicSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sim_runtime.world import World

KEY = TopicPartition("t", 0)
OTHER = TopicPartition("u", 0)


class Room:
    """Three brokers, topics `t` and `u` of one partition each, and clients on hosts of their own."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.cluster = Cluster(
            reactor=world.reactor,
            streams=world.streams,
            topics=[TopicSpec.parse("t:1:3"), TopicSpec.parse("u:1:3")],
            config={
                "broker.session.timeout.ms": "2000",
                "broker.heartbeat.interval.ms": "500",
                "unclean.leader.election.enable": "true",
            },
            host=lambda broker: f"b{broker}",
            broker_reactor=lambda broker: world.network.host(f"b{broker}"),
        )
        self.cluster.start()
        self.clients: list[ClientCore] = []
        self.producers: list[ProducerCore] = []

    def client(self, **options: Any) -> ClientCore:
        servers = tuple(
            (host, int(port)) for host, port in (text.split(":") for text in self.cluster.bootstrap_servers.split(","))
        )
        made = ClientCore(
            ClientOptions(
                bootstrap_servers=servers,
                network=NetworkClientConfig(client_id="reader", request_timeout_ms=2_000),
                **options,
            ),
            self.world.network.host("reader"),
            self.world.streams.stream(f"reader {len(self.clients)}"),
        )
        self.clients.append(made)
        return made

    def consumer(self, *keys: TopicPartition, **fetch: Any) -> ConsumerCore:
        made = ConsumerCore(self.client(), FetchOptions(**fetch))
        made.assign(keys or [KEY])
        return made

    def producer(self, **options: Any) -> ProducerCore:
        made = ProducerCore(
            ProducerConfig(bootstrap_servers=self.cluster.bootstrap_servers, **options),
            self.world.network.host("writer"),
            self.world.streams.stream(f"writer {len(self.producers)}"),
        )
        self.producers.append(made)
        return made

    def produce(self, *numbers: int, key: TopicPartition = KEY, **options: Any) -> None:
        producer = self.producer(**options)
        for number in numbers:
            sent = producer.send(key.topic, b"%d" % number, partition=0, timestamp_ms=1_000 * number)
            self.world.run_until(sent.as_deferred())

    def poll(self, consumer: ConsumerCore, timeout_ms: int = 5_000) -> list[int]:
        return [int(record.value or b"") for record in self.world.run_until(consumer.poll(timeout_ms))]

    def drain(self, consumer: ConsumerCore) -> list[int]:
        found: list[int] = []
        while more := self.poll(consumer, 1_000):
            found += more
        return found


@pytest.fixture
def room(world: World) -> Iterator[Room]:
    made = Room(world)
    yield made
    for client in made.clients:
        client.close()
    for producer in made.producers:
        world.run_until(producer.close(0))
    world.run_until(made.cluster.close())


def test_reading_goes_on_from_the_beginning_the_end_or_a_time(world: World, room: Room) -> None:
    room.produce(1, 2, 3)
    consumer = room.consumer()
    consumer.seek_to(KEY, OffsetSpec.LATEST)
    assert consumer.position(KEY) is None
    assert world.run_until(consumer.known_position(KEY)) == 3
    consumer.seek_to(KEY, 1_500)
    assert room.drain(consumer) == [2, 3]
    consumer.seek_to(KEY, OffsetSpec.EARLIEST)
    assert room.drain(consumer) == [1, 2, 3]
    consumer.seek_to(KEY, 9_000)
    assert room.poll(consumer, 100) == []
    assert consumer.position(KEY) == 3
    times = world.run_until(consumer.offsets_for_times({KEY: 2_500}))
    assert (times[KEY].offset, times[KEY].timestamp_ms) == (2, 3_000)


def test_by_duration_begins_at_the_first_record_that_is_young_enough(world: World, room: Room) -> None:
    world.run_for(ms=10_000)
    room.produce(1, 2, 9, 10)  # seconds
    now_ms = round(world.reactor.seconds() * 1000)
    consumer = room.consumer(auto_offset_reset=f"by_duration:PT{(now_ms - 8_500) / 1000:.3f}S")
    assert room.drain(consumer) == [9, 10]


def test_by_duration_waits_for_a_record_that_is_young_enough(world: World, room: Room) -> None:
    world.run_for(ms=10_000)
    room.produce(1)
    consumer = room.consumer(auto_offset_reset="by_duration:PT3S")
    assert room.poll(consumer, 500) == []
    with pytest.raises(ProducerTimeout):
        world.run_until(consumer.known_position(KEY, 1_000))
    young = round(world.reactor.seconds()) + 100
    room.produce(young)
    assert room.poll(consumer) == [young]


def test_the_lag_is_known_from_a_fetch_or_looked_up(world: World, room: Room) -> None:
    room.produce(1, 2, 3)
    consumer = room.consumer(max_poll_records=1)
    assert room.poll(consumer) == [1]
    assert consumer.current_lag(KEY) == 2
    waiting = room.consumer()
    waiting.pause([KEY])
    assert room.poll(waiting, 300) == []
    assert waiting.current_lag(KEY) is None
    world.run_for(ms=100)
    assert waiting.current_lag(KEY) == 3
    with pytest.raises(ProducerError, match="u-0 is not assigned"):
        waiting.current_lag(OTHER)


def test_topics_are_listed_whether_they_are_read_or_not(world: World, room: Room) -> None:
    consumer = room.consumer()
    (partition,) = world.run_until(consumer.partitions_for("u"))
    assert (partition.topic, partition.partition, len(partition.replicas)) == ("u", 0, 3)
    assert world.run_until(consumer.partitions_for("none")) == []
    assert {"t", "u"} <= set(world.run_until(consumer.list_topics()))
    with pytest.raises(InvalidTopic):
        world.run_until(consumer.partitions_for("a name"))
    for broker_id in (1, 2, 3):
        room.cluster.kill(broker_id)
    with pytest.raises(ProducerTimeout, match="no metadata of topics after 700 ms"):
        world.run_until(consumer.list_topics(700))


def test_a_seek_takes_an_offset_with_its_epoch(world: World, room: Room) -> None:
    room.produce(1, 2, 3)
    consumer = room.consumer()
    consumer.seek(KEY, OffsetAndMetadata(offset=2, leader_epoch=0, metadata="m"))
    assert room.drain(consumer) == [3]
    with pytest.raises(ProducerError, match="cannot seek t-0 to offset -1"):
        consumer.seek(KEY, OffsetAndMetadata(offset=-1))


def test_a_paused_partition_brings_nothing_until_it_is_resumed(room: Room) -> None:
    room.produce(1)
    room.produce(2, key=OTHER)
    consumer = room.consumer(KEY, OTHER)
    consumer.pause([KEY])
    assert consumer.paused == (KEY,)
    assert room.drain(consumer) == [2]
    consumer.resume([KEY])
    assert room.drain(consumer) == [1]
    assert consumer.assignment == (KEY, OTHER)


def test_what_was_fetched_before_a_seek_is_not_shown_after_it(world: World, room: Room) -> None:
    room.produce(1, 2, 3)
    consumer = room.consumer()
    assert room.poll(consumer) == [1, 2, 3]
    assert room.poll(consumer, 0) == []  # a fetch is under way
    room.produce(4)
    world.run_for(ms=1_000)  # and has brought the record
    consumer.seek(KEY, 1)
    assert room.drain(consumer) == [2, 3, 4]


def test_a_poll_ends_in_time_though_its_leader_is_silent(world: World, room: Room) -> None:
    room.produce(1)
    consumer = room.consumer()
    assert room.poll(consumer) == [1]
    leader = room.cluster.leader_of("t", 0)
    links = [world.network.link("reader", f"b{leader}"), world.network.link(f"b{leader}", "reader")]
    for link in links:
        link.hold()
    began_us = world.reactor.now_us
    assert room.poll(consumer, 300) == []
    assert (world.reactor.now_us - began_us) / 1000 < 320
    for link in links:
        link.release()
    room.produce(2)
    assert room.poll(consumer, 20_000) == [2]


def test_an_unclean_election_is_recognised_and_read_from_where_the_log_diverged(world: World, room: Room) -> None:
    room.produce(1)
    resetting = room.consumer()
    strict = room.consumer(auto_offset_reset="none")
    strict.seek(KEY, 0)
    leader = room.cluster.leader_of("t", 0)
    assert leader is not None
    _lose_the_tail(world, room, leader)
    assert room.drain(resetting) == [1, 2, 3]
    assert room.drain(strict) == [1, 2, 3]
    room.cluster.kill(leader)
    world.run_for(ms=4_000)
    for broker in (1, 2, 3):
        if broker != leader:
            room.cluster.restart(broker)
    world.run_for(ms=8_000)
    assert room.cluster.leader_of("t", 0) not in (None, leader)
    room.produce(7)
    assert room.drain(resetting) == [7]
    with pytest.raises(LogTruncated, match="truncated below position 3: it diverges at offset 1") as truncated:
        room.poll(strict)
    assert truncated.value.divergent_offset == 1
    strict.seek(KEY, 1)
    assert room.drain(strict) == [7]


def _lose_the_tail(world: World, room: Room, leader: int) -> None:
    """Kill the followers, then write two records that the leader alone has."""
    for broker in (1, 2, 3):
        if broker != leader:
            room.cluster.kill(broker)
    world.run_for(ms=4_000)
    room.produce(2, 3, acks="1", enable_idempotence=False)


def test_reading_goes_on_where_an_election_moves_the_leader(world: World, room: Room) -> None:
    room.produce(1)
    consumer = room.consumer()
    assert room.poll(consumer) == [1]
    first, second, third = _replicas(world, room)
    admin = AdminCore(room.client())
    world.run_until(admin.alter_partition_reassignments({KEY: [second, third, first]}))
    assert world.run_until(admin.elect_leaders(ElectionType.PREFERRED, [KEY])) == [KEY]
    room.produce(2)
    began_us = world.reactor.now_us
    assert room.poll(consumer) == [2]
    assert (world.reactor.now_us - began_us) / 1000 < 1_000
    world.run_until(admin.delete_records({KEY: 1}))
    consumer.seek(KEY, 0)
    assert room.poll(consumer) == [2]


def _replicas(world: World, room: Room) -> tuple[int, ...]:
    return world.run_until(AdminCore(room.client()).describe_topics(["t"]))["t"].partitions[0].replicas


def test_the_epoch_given_with_a_seek_is_checked(world: World, room: Room) -> None:
    room.produce(1, 2)
    consumer = room.consumer(auto_offset_reset="none")
    consumer.seek(KEY, 1, leader_epoch=0)
    assert room.drain(consumer) == [2]


def test_the_validation_of_a_position_that_is_reset_meanwhile_has_no_effect(world: World, room: Room) -> None:
    room.produce(1, 2)
    subscriptions = SubscriptionState()
    subscriptions.assign([KEY])
    subscriptions.seek(KEY, FetchPosition(offset=1, offset_epoch=0))
    lookups = OffsetLookups(
        room.client(), subscriptions, isolation_level=IsolationLevel.READ_UNCOMMITTED, default_reset=OffsetSpec.LATEST
    )
    state = subscriptions.states[KEY]
    validation = Deferred.fromCoroutine(lookups.validate({KEY: state}))
    state.position, state.reset = None, OffsetSpec.EARLIEST  # as after OFFSET_OUT_OF_RANGE
    world.run_until(validation)
    assert (state.position, state.reset, state.busy) == (None, OffsetSpec.EARLIEST, False)
    world.run_until(Deferred.fromCoroutine(lookups.reset(lookups.to_reset())))
    assert (state.position is not None and state.position.offset, state.reset) == (0, None)


def test_what_cannot_be_is_refused_by_name(world: World, room: Room) -> None:
    with pytest.raises(ConfigError, match=r"isolation\.level='committed': expected read_uncommitted or read_committed"):
        FetchOptions(isolation_level="committed")
    with pytest.raises(ConfigError, match=r"fetch\.min\.bytes=-1: expected a number from 0 on"):
        FetchOptions(fetch_min_bytes=-1)
    with pytest.raises(ConfigError, match=r"fetch\.max\.wait\.ms=2000: must be below request\.timeout\.ms, 2000"):
        room.consumer(fetch_max_wait_ms=2_000)
    consumer = room.consumer(auto_offset_reset="none")
    with pytest.raises(NoOffsetForPartition, match="t-0 has no position: seek, or set"):
        world.run_until(consumer.known_position(KEY))
    with pytest.raises(ProducerError, match="cannot seek t-0 to offset -1"):
        consumer.seek(KEY, -1)
    with pytest.raises(ProducerError, match="u-0 is not assigned"):
        consumer.pause([OTHER])
    consumer.assign([])
    with pytest.raises(ProducerError, match="nothing is assigned"):
        room.poll(consumer)


def test_a_topic_that_never_comes_is_named_when_the_time_is_over(world: World, room: Room) -> None:
    consumer = ConsumerCore(room.client(default_api_timeout_ms=3_000), FetchOptions())
    nowhere = TopicPartition("nowhere", 0)
    consumer.assign([nowhere])
    assert room.poll(consumer, 500) == []
    with pytest.raises(ProducerTimeout, match=r"nowhere-0 .* 3000 ms .*UNKNOWN_TOPIC.*default\.api\.timeout\.ms"):
        room.poll(consumer, 10_000)


def test_a_close_ends_a_poll_that_waits(world: World, room: Room) -> None:
    consumer = room.consumer()
    waiting = Deferred.fromCoroutine(consumer.poll(60_000))
    world.run_for(ms=500)
    room.clients[0].close()
    with pytest.raises(ProducerClosed):
        world.run_until(waiting)


def test_admin_sees_a_move_on_its_way_and_stops_it(world: World, room: Room) -> None:
    admin = AdminCore(room.client())
    first, second, third = _replicas(world, room)
    world.run_until(admin.alter_partition_reassignments({KEY: [first, second]}))
    world.run_for(ms=2_000)
    room.cluster.isolate(third)
    world.run_until(admin.alter_partition_reassignments({KEY: [first, third]}))
    moving = world.run_until(admin.list_partition_reassignments([KEY]))[KEY]
    assert (moving.replicas, moving.adding_replicas, moving.removing_replicas) == (
        (first, third, second),
        (third,),
        (second,),
    )
    world.run_until(admin.alter_partition_reassignments({KEY: None}))
    assert world.run_until(admin.list_partition_reassignments()) == {}
    room.cluster.rejoin(third)
