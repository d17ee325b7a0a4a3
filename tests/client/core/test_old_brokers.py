"""Producers and consumers on brokers of every age before record batches, on virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client.core.client_core import ClientCore, ClientOptions
from broker_client.core.consumer_core import ConsumerCore, FetchOptions
from broker_client.core.network_client import NetworkClientConfig
from broker_client.core.producer_core import ProducerCore
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from broker_sim.cluster import Cluster, TopicSpec
from protocol_specs.records.record_set import iterate_any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sim_runtime.world import World

    RoomOf = Callable[..., "Room"]

KEY = TopicPartition("t", 0)
MAGIC_OF = {"0.8.0": 0, "0.8.2": 0, "0.9.0": 0, "0.10.0": 1, "0.10.2": 1}
CODECS_OF = {"0.8.0": ("none", "gzip", "snappy"), "0.11.0": ("none", "lz4")}
TIMED = 1_600_000_000_000


class Room:
    """A broker of a release, with one topic, and clients on a host of their own."""

    def __init__(self, world: World, release: str, **config: str) -> None:
        self.world = world
        self.cluster = Cluster(
            reactor=world.reactor,
            streams=world.streams,
            topics=[TopicSpec.parse("t:1:1")],
            release=release,
            config=config,
            brokers=1,
            host=lambda broker: f"b{broker}",
            broker_reactor=lambda broker: world.network.host(f"b{broker}"),
        )
        self.cluster.start()
        self.producers: list[ProducerCore] = []
        servers = tuple(
            (host, int(port)) for host, port in (text.split(":") for text in self.cluster.bootstrap_servers.split(","))
        )
        options = ClientOptions(bootstrap_servers=servers, network=NetworkClientConfig(client_id="small"))
        self.small = ClientCore(options, world.network.host("small"), world.streams.stream("small"))

    def producer(self, **options: Any) -> ProducerCore:
        given = {"bootstrap.servers": self.cluster.bootstrap_servers, "enable.idempotence": False, **options}
        made = ProducerCore(
            ProducerConfig(given),
            self.world.network.host("client"),
            self.world.streams.stream(f"producer {len(self.producers)}"),
        )
        self.producers.append(made)
        return made

    def consumer(self, **fetch: Any) -> ConsumerCore:
        made = ConsumerCore(self.small, FetchOptions(**fetch))
        made.assign([KEY])
        return made

    def read(
        self, count: int, consumer: ConsumerCore | None = None
    ) -> list[tuple[int, int, bytes | None, bytes | None]]:
        consumer = self.consumer() if consumer is None else consumer
        found: list[tuple[int, int, bytes | None, bytes | None]] = []
        while len(found) < count:
            records = self.world.run_until(consumer.poll(5_000))
            assert records, found
            found += [(record.offset, record.timestamp_ms, record.key, record.value) for record in records]
        return found

    @property
    def stored(self) -> list[Any]:
        """The headers of what lies in the log, wrappers as one."""
        log = self.cluster.log_of(self.cluster.leader_of("t", 0), "t", 0)
        return [header for batch in log.batches() for header, _ in iterate_any(batch.data)]

    def close(self) -> None:
        self.small.close()
        for producer in self.producers:
            self.world.run_until(producer.close(0))
            assert producer.pool.available_bytes == producer.pool.memory_bytes
            assert producer.loop_errors == 0
        self.world.run_until(self.cluster.close())


@pytest.fixture
def room_of(world: World) -> Iterator[RoomOf]:
    made: list[Room] = []

    def make(release: str, **config: str) -> Room:
        made.append(Room(world, release, **config))
        return made[-1]

    yield make
    for room in made:
        room.close()


@pytest.mark.parametrize("release", MAGIC_OF)
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_records_are_stored_in_the_brokers_format_and_read_back(
    world: World, room_of: RoomOf, release: str, codec: str
) -> None:
    if codec == "lz4" and release == "0.8.0":
        codec = "gzip"
    room = room_of(release)
    magic = MAGIC_OF[release]
    producer = room.producer(**{"compression.type": codec, "linger.ms": 5})
    sent = [(b"k%d" % number if number % 3 else None, b"v%d" % number * 20) for number in range(50)]
    futures = [
        producer.send("t", value, key=key, timestamp_ms=TIMED + 7 * number) for number, (key, value) in enumerate(sent)
    ]
    futures.append(producer.send("t", None, key=b"gone", timestamp_ms=TIMED))
    offsets = [world.run_until(future.as_deferred()).offset for future in futures]
    assert offsets == list(range(51))
    assert {header.magic for header in room.stored} == {magic}
    assert {header.codec.type_name for header in room.stored} == {codec}
    times = [TIMED + 7 * number if magic else -1 for number in range(50)] + [TIMED if magic else -1]
    expected = [(number, times[number], *pair) for number, pair in enumerate([*sent, (b"gone", None)])]
    assert room.read(51) == expected
