"""Clients with defects, on simulated brokers and virtual time: the anomaly appears with the defect and not without."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from broker_client.consumer_options import consumer_options
from broker_client.core.consumer.consumer_core import ConsumerCore
from broker_client.core.network.client_core import ClientCore
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.errors import ProducerError
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.events import RequestReceived
from broker_sim.faults.grammar import parse_rule
from protocol_specs.records.record_set import read_any
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable
    from typing import TypeVar

    from twisted.internet.defer import Deferred

    from broker_client.core.consumer.consumer_core import ConsumerRecord
    from broker_client.core.producer.future_record_metadata import FutureRecordMetadata
    from broker_sim.control.events import Event

    E = TypeVar("E", bound=Event)

SEED = 7
BROKER_CONFIG = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
METADATA_OF_ORDERS = {"api": "Metadata", "topic": "orders"}


class Room:
    """Brokers `b1`, `b2`, ... with topics, and clients on hosts of their own. Every room has the same seed."""

    def __init__(
        self,
        *,
        brokers: int = 1,
        topics: Iterable[str] = ("orders:1:1",),
        config: dict[str, str] | None = None,
        release: str = "4.3.1",
        seed: int = SEED,
    ) -> None:
        self.world = World(seed)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            brokers=brokers,
            topics=[TopicSpec.parse(topic) for topic in topics],
            config=BROKER_CONFIG | (config or {}),
            release=release,
            host=lambda broker: f"b{broker}",
            broker_reactor=lambda broker: self.world.network.host(f"b{broker}"),
        )
        self.cluster.attach_to_network(self.world.network)
        self.cluster.start()

    def producer(self, *defects: str, host: str = "app", **options: Any) -> ProducerCore:
        """A producer; no retry is hurried, and nothing lingers."""
        given = {"bootstrap_servers": self.cluster.bootstrap_servers, "linger_ms": 0, "client_id": host, **options}
        return ProducerCore(
            ProducerConfig(given), self.world.network.host(host), self.world.streams.stream(host), defects=defects
        )

    def consumer(self, *defects: str, host: str = "reader", **options: Any) -> ConsumerCore:
        """A consumer that reads from the beginning; options are Java's names with underscores."""
        given = {
            "bootstrap.servers": self.cluster.bootstrap_servers,
            "client.id": host,
            "auto.offset.reset": "earliest",
            **{name.replace("_", "."): value for name, value in options.items()},
        }
        parsed = consumer_options(given)
        client = ClientCore(
            parsed.client, self.world.network.host(host), Random(host), by_subscription=True, defects=defects
        )
        return ConsumerCore(client, parsed.fetch, parsed.group)

    def rule(self, name: str, **rule: Any) -> None:
        """Add a fault rule."""
        self.cluster.faults.add(parse_rule({"name": name, **rule}))

    def release(self, name: str) -> None:
        """End the holds of a rule, and the rule."""
        self.cluster.faults.release(name)
        self.cluster.faults.remove(name)

    def run(self, ms: float) -> None:
        """Let time pass."""
        self.world.run_for(ms=ms)

    def warm(self, producer: ProducerCore, topic: str = "orders", partition: int = 0) -> None:
        """Send one record: metadata, connections and the producer id are there afterwards."""
        sent = producer.send(topic, b"warm", partition=partition)
        self.world.run_until(sent.as_deferred(), deadline_ms=60_000)

    def warm_producer(self, *defects: str, **options: Any) -> ProducerCore:
        """A producer that has sent one record to orders-0."""
        producer = self.producer(*defects, **options)
        self.warm(producer)
        return producer

    def forget_topic(self) -> None:
        """Report orders as an unknown topic in the next two Metadata responses."""
        unknown = {"set": "topics[0].error_code", "to": 3}
        self.rule("unknown-topic", select=METADATA_OF_ORDERS, times=2, act={"edit": [unknown]})

    def values(self, topic: str = "orders", partition: int = 0) -> list[bytes | None]:
        """The values of the leader's log, without those of `warm` and of control batches."""
        leader = self.cluster.leader_of(topic, partition)
        assert leader is not None
        log = self.cluster.log_of(leader, topic, partition)
        assert log is not None
        return [
            record.value
            for batch in log.batches()
            if not batch.is_control
            for record in read_any(batch.data)
            if record.value != b"warm"
        ]

    def events(self, kind: type[E]) -> list[E]:
        """The journal's events of one kind."""
        return [event for event in self.cluster.journal.events if isinstance(event, kind)]

    def requests(self, api: str, client_id: str = "app") -> list[RequestReceived]:
        """The requests of a client, in order of arrival."""
        return [one for one in self.events(RequestReceived) if (one.api, one.client_id) == (api, client_id)]


def outcome(sent: FutureRecordMetadata) -> int | str | None:
    """The offset of an acknowledged record, the name of its error, or None while it has no outcome."""
    if not sent.done():
        return None
    error = sent.exception()
    return sent.result().offset if error is None else type(error).__name__


def read(room: Room, topic: str = "orders", partitions: Iterable[int] = (0,), ms: int = 3_000) -> list[bytes]:
    """The values that a read_committed consumer gets, in the order of partitions and offsets."""
    consumer = room.consumer(host="checker", isolation_level="read_committed")
    consumer.assign([TopicPartition(topic, partition) for partition in partitions])
    records: list[ConsumerRecord] = []

    async def poll() -> None:
        deadline_s = room.world.reactor.seconds() + ms / 1000
        while room.world.reactor.seconds() < deadline_s:
            records.extend(await consumer.poll(200))

    room.world.run_until(poll(), deadline_ms=10 * ms)
    return [record.value for record in sorted(records, key=lambda one: (one.partition, one.offset))]


def result_of(room: Room, call: Coroutine[Deferred[Any], Any, Any], deadline_ms: float = 200_000) -> str:
    """Run a call to its end; return "ok" or the name of its error."""
    try:
        room.world.run_until(call, deadline_ms=deadline_ms)
    except ProducerError as error:
        return type(error).__name__
    return "ok"
