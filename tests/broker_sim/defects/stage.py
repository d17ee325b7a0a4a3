"""A cluster with or without defects, and clients on virtual time that meet them: each test runs it twice, same seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred, ensureDeferred

from broker_client.consumer_options import consumer_options
from broker_client.core.consumer.consumer_core import ConsumerCore
from broker_client.core.network.client_core import ClientCore
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from broker_sim.cluster import Cluster
from broker_sim.config.definitions import broker_definitions
from broker_sim.config.release_behaviour import DEFAULT_RELEASE, behaviour_of
from broker_sim.faults.grammar import parse_rule
from broker_sim.rpc.plain_call import PlainCalls
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol_specs.records.record_set import read_any
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from broker_client.errors import ProducerError
    from broker_sim.defects.defect import Defect
    from broker_sim.log.replica_log import ReplicaLog

SEED: Final = 7
WAIT_MS: Final = 200_000
ORDERS: Final = TopicPartition("orders", 0)
_CONFIG: Final = {
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "2000",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "transaction.state.log.num.partitions": "1",
}


class Outcome:
    """How a send ends: `offset` of the acknowledgement (-1 without one), or `error`."""

    def __init__(self, value: str) -> None:
        self.value = value
        self.done = False
        self.offset = -1
        self.error: ProducerError | None = None

    def delivered(self, metadata: Any, error: ProducerError | None) -> None:
        """Take the report of the producer."""
        self.done = True
        self.offset = -1 if error is not None else metadata.offset
        self.error = error


class Stage:
    """`orders` has one partition unless `topics` states others; times are virtual."""

    def __init__(
        self,
        defects: Sequence[str | Defect] = (),
        *,
        brokers: int = 1,
        topics: Sequence[Any] = ("orders:1:1",),
        config: Mapping[str, Any] | None = None,
        link_delay_ms: float = 0.4,
        release: str = DEFAULT_RELEASE,
        **options: Any,
    ) -> None:
        self.world = World(SEED)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            brokers=brokers,
            topics=topics,
            config={**_known({**_CONFIG, **_replicated(brokers)}, release), **(config or {})},
            release=release,
            host=lambda broker_id: f"broker-{broker_id}",
            broker_reactor=lambda broker_id: self.world.network.host(f"broker-{broker_id}"),
            link_delay_ms=link_delay_ms,
            digest=self.world.digest,
            defects=defects,
            **options,
        )
        self.cluster.attach_to_network(self.world.network)
        self.cluster.start()
        self.hosts = 0

    def run(self, ms: float) -> None:
        """Let virtual time pass."""
        self.world.run_for(ms=ms)

    def call(self, result: Awaitable[Any], deadline_ms: float = WAIT_MS) -> Any:
        """Return the result of a call of a client."""
        return self.world.run_until(
            result if isinstance(result, Deferred) else ensureDeferred(result),  # type: ignore[arg-type]
            deadline_ms=deadline_ms,
        )

    def settle(self, within_ms: int = 60_000) -> None:
        """Run until the cluster rests."""
        for _ in range(within_ms // 100):
            if not self.cluster.pending():
                return
            self.run(100)
        raise AssertionError(self.cluster.pending())

    def rule(self, **rule: Any) -> None:
        """Add a fault rule, written as in a scenario."""
        name = f"rule-{len(self.cluster.faults.reports())}"
        self.cluster.faults.add(parse_rule({"name": name, **rule}))

    def lose_response(self, api: str, nth: int) -> None:
        """Have the nth request of an API served, and its connection closed without a response."""
        self.rule(act="disconnect", phase="before_response", select={"api": api, "nth": nth})

    # Administration.

    def request(self, request: Any, version: int) -> Any:
        """Return the response of a broker that runs."""
        broker = next(each for each in self.cluster.brokers.values() if each.alive)
        context = PlainCalls(broker).context(request, version, client_id="administrator")
        broker.rpc.receive(context)
        return self.call(context.origin)

    def reassign(self, at: TopicPartition, *replicas: int) -> None:
        """Have other replicas of a partition, the first one as its leader."""
        assignment = ReassignablePartition(partition_index=at.partition, replicas=list(replicas))
        topics = [ReassignableTopic(name=at.topic, partitions=[assignment])]
        self.request(AlterPartitionReassignmentsRequest(topics=topics), 0)
        self.world.run_until(lambda: not self.cluster.registration_of(*at).is_reassigning or None)
        preferred = [TopicPartitions(topic=at.topic, partitions=[at.partition])]
        self.request(ElectLeadersRequest(topic_partitions=preferred), 2)
        self.run(10)

    # Clients.

    def _host(self, kind: str) -> Any:
        self.hosts += 1
        return self.world.network.host(f"{kind}-{self.hosts}")

    def producer(self, **config: Any) -> ProducerCore:
        """Return a producer on a host of its own."""
        given = {"bootstrap_servers": self.cluster.bootstrap_servers, "linger_ms": 0, **config}
        host = self._host("producer")
        return ProducerCore(ProducerConfig(**given), host, self.world.streams.stream(host.name))

    def transactional(self, transactional_id: str = "t", **config: Any) -> ProducerCore:
        """Return a producer that has initialized its transactions."""
        producer = self.producer(transactional_id=transactional_id, **config)
        self.call(producer.transactional.init_transactions())
        return producer

    def send(
        self, producer: ProducerCore, value: str, at: TopicPartition = ORDERS, key: bytes | None = None
    ) -> Outcome:
        """Begin to send one record."""
        outcome = Outcome(value)
        producer.send(at.topic, value.encode(), key, partition=at.partition, on_delivery=outcome.delivered)
        return outcome

    def sent(self, producer: ProducerCore, *values: str, at: TopicPartition = ORDERS) -> list[Outcome]:
        """Send records one after another, each when the one before has its outcome."""
        outcomes = []
        for value in values:
            outcomes.append(self.send(producer, value, at))
            self.until(outcomes)
        return outcomes

    def until(self, outcomes: Iterable[Outcome]) -> None:
        """Run until all sends have ended."""
        self.world.run_until(lambda: all(each.done for each in outcomes) or None, deadline_ms=WAIT_MS)

    def consumer(self, **options: Any) -> ConsumerCore:
        """Return a consumer on a host of its own."""
        given = {
            "bootstrap.servers": self.cluster.bootstrap_servers,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.max.wait.ms": 100,
            **options,
        }
        parsed = consumer_options(given)
        host = self._host("consumer")
        client = ClientCore(parsed.client, host, self.world.streams.stream(host.name), by_subscription=True)
        return ConsumerCore(client, parsed.fetch, parsed.group)

    def reader(self, at: TopicPartition = ORDERS, **options: Any) -> ConsumerCore:
        """Return a consumer that reads one partition from its beginning."""
        consumer = self.consumer(**options)
        consumer.assign([at])
        return consumer

    def poll(self, consumer: ConsumerCore, for_ms: int = 1_000) -> list[str]:
        """Return the values that a consumer polls in a time."""
        values: list[str] = []
        until_ms = self.world.reactor.now_us // 1000 + for_ms
        while (left_ms := until_ms - self.world.reactor.now_us // 1000) > 0:
            records = self.call(consumer.poll(left_ms))
            values += [record.value.decode() for record in records if record.value is not None]
        return values

    def read(self, at: TopicPartition = ORDERS, **options: Any) -> list[str]:
        """Return the values that a new consumer reads from the beginning of a partition."""
        return self.poll(self.reader(at, **options))

    # The truth.

    def log(self, at: TopicPartition = ORDERS, broker_id: int | None = None) -> ReplicaLog:
        """Return the log of a replica, by default of the leader."""
        found = self.cluster.log_of(broker_id or self.cluster.leader_of(*at) or 1, *at)
        assert found is not None
        return found

    def stored(self, at: TopicPartition = ORDERS, broker_id: int | None = None) -> list[tuple[int, str]]:
        """Return the offset and value of each record of a replica, markers left out."""
        return [
            (record.offset, (record.value or b"").decode())
            for batch in self.log(at, broker_id).batches()
            if not batch.is_control
            for record in read_any(batch.data)
        ]

    def values(self, at: TopicPartition = ORDERS, broker_id: int | None = None) -> list[str]:
        """Return the values of a replica."""
        return [value for _, value in self.stored(at, broker_id)]

    def close(self) -> None:
        """End all nodes."""
        self.cluster.close()


def _replicated(brokers: int) -> dict[str, str]:
    factor = str(min(brokers, 3))
    return {
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.replication.factor": factor,
    }


def _known(config: Mapping[str, str], release: str) -> dict[str, str]:
    """Return the configurations that a release has."""
    known = broker_definitions(behaviour_of(release).release)
    return {name: text for name, text in config.items() if name in known}


def with_and_without(show: Callable[[Sequence[str]], Any], *defects: str) -> tuple[Any, Any]:
    """Return what a scenario shows with defects and without them."""
    return show(defects), show(())
