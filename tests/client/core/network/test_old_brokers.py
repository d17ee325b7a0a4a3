"""Producers and consumers on brokers of every age before record batches, on virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client.core.consumer.consumer_core import EARLIEST, LATEST, ConsumerCore, FetchOptions
from broker_client.core.network.api_versions import NodeApiVersions
from broker_client.core.network.client_core import ClientCore, ClientOptions
from broker_client.core.network.network_client import NetworkClientConfig
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.errors import ProducerError, UnsupportedVersion
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from broker_sim.cluster import Cluster, TopicSpec
from protocol_specs import releases
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.record_set import iterate_any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sim_runtime.world import World

    RoomOf = Callable[..., "Room"]

KEY = TopicPartition("t", 0)
MAGIC_OF = {"0.8.0": 0, "0.8.2": 0, "0.9.0": 0, "0.10.0": 1, "0.10.2": 1}
TIMED = 1_600_000_000_000


class Room:
    """Brokers of a release, with a topic of a partition each, and clients on hosts of their own."""

    def __init__(self, world: World, release: str, *, brokers: int = 1, **config: str) -> None:
        self.world = world
        self.cluster = Cluster(
            reactor=world.reactor,
            streams=world.streams,
            topics=[TopicSpec.parse(f"t:{brokers}:1")],
            release=release,
            config=config,
            brokers=brokers,
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

    def make(release: str, *, brokers: int = 1, **config: str) -> Room:
        made.append(Room(world, release, brokers=brokers, **config))
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


def error_of(world: World, response: Any) -> Any:
    with pytest.raises(ProducerError) as caught:
        world.run_until(response.as_deferred())
    return caught.value


@pytest.mark.parametrize("release", ["0.8.2", "0.9.0", "0.10.2"])
def test_idempotence_is_refused_with_what_to_set(world: World, room_of: RoomOf, release: str) -> None:
    producer = room_of(release).producer(**{"enable.idempotence": True})
    for _ in range(2):
        error = error_of(world, producer.send("t", b"v"))
        assert isinstance(error, UnsupportedVersion)
        assert "enable.idempotence needs brokers of 0.11 or later" in str(error)
        assert "set enable.idempotence=False" in str(error)


@pytest.mark.parametrize("release", ["0.8.2", "0.10.2"])
def test_transactions_are_refused_with_what_to_set(world: World, room_of: RoomOf, release: str) -> None:
    producer = room_of(release).producer(**{"enable.idempotence": True, "transactional.id": "tx"})
    with pytest.raises(UnsupportedVersion, match=r"transactional\.id"):
        world.run_until(producer.transactional.init_transactions())


@pytest.mark.parametrize("release", ["0.8.2", "0.10.2"])
def test_headers_are_refused_and_the_others_go(world: World, room_of: RoomOf, release: str) -> None:
    room = room_of(release)
    producer = room.producer(**{"linger.ms": 5})
    sent = [producer.send("t", b"%d" % number, headers=[("h", b"x")] * (number == 1)) for number in range(3)]
    reported = "headers need brokers of 0.11 or later, and node -?[0-9]+ is of 0"
    with pytest.raises(UnsupportedVersion, match=reported):
        world.run_until(sent[1].as_deferred())
    assert [world.run_until(sent[number].as_deferred()).offset for number in (0, 2)] == [0, 1]
    assert [value for *_, value in room.read(2)] == [b"0", b"2"]


@pytest.mark.parametrize("release", ["0.9.0", "0.10.2", "0.11.0", "2.0"])
def test_zstd_is_refused_before_2_1(world: World, room_of: RoomOf, release: str) -> None:
    producer = room_of(release).producer(**{"compression.type": "zstd"})
    error = error_of(world, producer.send("t", b"v"))
    assert error.error_code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert "compression.type=zstd needs brokers of 2.1 or later, and node" in str(error)
    assert "choose lz4, snappy, gzip or none" in str(error)


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_batch_is_full_where_its_messages_are_as_large_as_it(world: World, room_of: RoomOf, codec: str) -> None:
    room = room_of("0.10.2")
    producer = room.producer(**{"linger.ms": 1_000, "batch.size": 500, "compression.type": codec})
    futures = [producer.send("t", b"x" * 66) for _ in range(11)]
    world.run_for(ms=200)
    # A message is 12 + 22 + 66 = 100 bytes; a wrapper's own 34 count too, and gzip is trusted with nothing yet.
    assert sum(future.done() for future in futures) == {"none": 10, "gzip": 8}[codec]


def test_what_is_too_large_for_the_broker_is_split_where_it_is_in_a_wrapper(world: World, room_of: RoomOf) -> None:
    room = room_of("0.10.2", **{"message.max.bytes": "300"})
    producer = room.producer(**{"linger.ms": 5, "compression.type": "gzip"})
    values = [world.streams.stream("noise").randbytes(60) for _ in range(8)]
    futures = [producer.send("t", value, timestamp_ms=TIMED) for value in values]
    assert [world.run_until(future.as_deferred()).offset for future in futures] == list(range(8))
    assert len(room.stored) > 1
    assert [value for *_, value in room.read(8)] == values


def test_messages_without_a_wrapper_are_measured_one_by_one_and_not_split(world: World, room_of: RoomOf) -> None:
    room = room_of("0.10.2", **{"message.max.bytes": "300"})
    producer = room.producer(**{"linger.ms": 5})
    fine = [producer.send("t", b"x" * 200) for _ in range(4)]
    assert [world.run_until(future.as_deferred()).offset for future in fine] == [0, 1, 2, 3]
    futures = [producer.send("t", b"x" * size) for size in (10, 400)]
    assert [error_of(world, future).error_code for future in futures] == [ErrorCode.MESSAGE_TOO_LARGE] * 2


def test_rows_of_a_table_are_converted_down(world: World, room_of: RoomOf) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    room = room_of("0.8.2")
    producer = room.producer()
    table = pyarrow.table({"value": [b"%d" % number for number in range(100)]})
    ended = producer.send_batch("t", table)
    assert world.run_until(ended.as_deferred()).column("offset").to_pylist() == list(range(100))
    assert {header.magic for header in room.stored} == {0}
    assert [value for *_, value in room.read(100)] == [b"%d" % number for number in range(100)]


@pytest.mark.parametrize("release", ["0.8.0", "0.9.0", "0.10.2"])
def test_offsets_are_found_on_brokers_of_every_age(world: World, room_of: RoomOf, release: str) -> None:
    room = room_of(release)
    producer = room.producer()
    for number in range(3):
        world.run_until(producer.send("t", b"%d" % number).as_deferred())
    consumer = room.consumer(auto_offset_reset="latest")
    assert world.run_until(consumer.offsets([KEY], EARLIEST)) == {KEY: 0}
    assert world.run_until(consumer.offsets([KEY], LATEST)) == {KEY: 3}
    consumer.seek(KEY, 1)
    assert [value for *_, value in room.read(2, consumer)] == [b"1", b"2"]


def test_a_batch_begun_before_an_older_broker_came_is_converted_down(world: World, room_of: RoomOf) -> None:
    room = room_of("2.8")
    producer = room.producer(**{"linger.ms": 200, "compression.type": "gzip"})
    world.run_until(producer.send("t", b"first").as_deferred())
    futures = [producer.send("t", b"%d" % number, key=b"k", timestamp_ms=TIMED + number) for number in range(20)]
    producer.api_versions.update(99, NodeApiVersions(releases.get("0.10.2").api_versions))
    assert [world.run_until(future.as_deferred()).offset for future in futures] == list(range(1, 21))
    # What came as magic 1 is up-converted by the broker: it has no producer id, and one batch more.
    assert room.read(21)[1:] == [(number + 1, TIMED + number, b"k", b"%d" % number) for number in range(20)]


def test_a_broker_that_is_upgraded_gets_the_newer_format(world: World, room_of: RoomOf) -> None:
    room = room_of("2.8")
    producer = room.producer()
    producer.api_versions.update(99, NodeApiVersions(releases.get("0.9.0").api_versions))
    world.run_until(producer.send("t", b"old").as_deferred())
    producer.api_versions.remove(99)
    world.run_until(producer.send("t", b"new", headers=[("h", b"v")]).as_deferred())
    (record,) = (record for record in world.run_until(room.consumer().poll(5_000)) if record.headers)
    assert (record.value, record.headers) == (b"new", (("h", b"v"),))


@pytest.mark.parametrize("release", ["0.11.0", "1.0", "2.0"])
def test_from_0_11_on_nothing_is_refused_but_zstd(world: World, room_of: RoomOf, release: str) -> None:
    room = room_of(release)
    producer = room.producer(**{"enable.idempotence": True, "compression.type": "lz4"})
    world.run_until(producer.send("t", b"v", headers=[("h", None)], timestamp_ms=TIMED).as_deferred())
    assert {(header.magic, header.base_sequence) for header in room.stored} == {(2, 0)}
    (record,) = world.run_until(room.consumer().poll(5_000))
    assert (record.value, record.headers, record.timestamp_ms) == (b"v", (("h", None),), TIMED)


def test_a_leader_of_another_address_is_found_out_too(world: World, room_of: RoomOf) -> None:
    room = room_of("0.9.0", brokers=3)
    producer = room.producer()
    sent = [producer.send("t", b"%d" % number, partition=number) for number in range(3)]
    began_ms = world.reactor.now_us // 1000
    assert [world.run_until(future.as_deferred()).offset for future in sent] == [0, 0, 0]
    # One silence of a second, and two of a tenth at once.
    assert 1_100 <= world.reactor.now_us // 1000 - began_ms < 1_400
