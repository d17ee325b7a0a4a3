"""Two instances of a service that consumes, transforms and produces in transactions, with faults drawn from a seed.

Everything is on virtual time: the brokers of a release, the producer of the input, and our consumers and producers.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_client.consumer_options import consumer_options
from broker_client.core.consumer.consumer_core import ConsumerCore
from broker_client.core.network.client_core import ClientCore
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.errors import ProducerError
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from broker_client.transaction_errors import TransactionTimeout
from broker_sim.cluster import Cluster, TopicSpec
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from broker_client.core.consumer.fetched_batches import ConsumerRecord

PARTITIONS: Final = 3
BROKERS: Final = 3
INPUTS: Final = 60
INPUT_EVERY_MS: Final = 150
WORK_MAX_MS: Final = 500
"""The time between the records of a transaction and its end, in which faults find it open."""
FAULTS_MS: Final = 12_000
FAULTS: Final = 8
RESTART_MS: Final = 400
COMPLETE_WITHIN_MS: Final = 120_000
SETTLE_MS: Final = 8_000
_CONFIG: Final = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    "group.initial.rebalance.delay.ms": "100",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "3",
    "replica.lag.time.max.ms": "2000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "transaction.state.log.num.partitions": "2",
}


class Instance:
    """One incarnation of an instance, on a host of its own. It ends with the first error that no abort heals."""

    def __init__(self, pipeline: Pipeline, number: int, incarnation: int) -> None:
        name = f"service-{number}-{incarnation}"
        self.host = pipeline.world.network.host(name)
        self.number = number
        self.is_running = True
        servers = pipeline.cluster.bootstrap_servers
        given: dict[str, Any] = {
            "bootstrap.servers": servers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "request.timeout.ms": 3_000,
            "default.api.timeout.ms": 6_000,
            "fetch.max.wait.ms": 200,
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 500,
            "max.poll.records": 5,
        }
        parsed = consumer_options(given)
        random = pipeline.world.streams.stream(name)
        self._client = ClientCore(parsed.client, self.host, random, by_subscription=True)
        self._network = pipeline.world.network
        self.consumer = ConsumerCore(self._client, parsed.fetch, parsed.group)
        config = ProducerConfig(
            bootstrap_servers=servers,
            transactional_id=f"service-{number}",
            transaction_timeout_ms=5_000,
            max_block_ms=4_000,
            request_timeout_ms=2_000,
            delivery_timeout_ms=4_000,
        )
        self.producer = ProducerCore(config, self.host, random)
        self._random = Random(name)
        Deferred.fromCoroutine(self._run()).addErrback(lambda failure: self._ended(failure, pipeline))

    def crash(self) -> None:
        """End the process: nothing that it does from now on leaves its host."""
        self.is_running = False
        self._network.isolate(self.host.name)
        self.host.crash()
        self.producer.close(0)
        self.consumer.wakeup()

    def _ended(self, failure: Any, pipeline: Pipeline) -> None:
        failure.trap(ProducerError)
        self._client.close()
        if self.is_running:
            pipeline.replace(self)

    async def _run(self) -> None:
        calls = self.producer.transactional
        await _until_in_time(calls.init_transactions)
        await self.consumer.subscribe(["in"])
        while True:
            records = await self.consumer.poll(200)
            if not records:
                continue
            calls.begin_transaction()
            try:
                await self._transform(records)
            except ProducerError:
                await _until_in_time(calls.abort_transaction)
                await self._rewind()

    async def _transform(self, records: list[ConsumerRecord]) -> None:
        calls = self.producer.transactional
        offsets: dict[TopicPartition, int] = {}
        for record in records:
            self.producer.send("out", record.value, record.value)
            offsets[TopicPartition(record.topic, record.partition)] = record.offset + 1
        work: Deferred[None] = Deferred()
        self.host.callLater(self._random.uniform(0, WORK_MAX_MS) / 1000, work.callback, None)
        await work
        await _until_in_time(lambda: calls.send_offsets_to_transaction(offsets, self.consumer.group_metadata()))
        await _until_in_time(calls.commit_transaction)

    async def _rewind(self) -> None:
        """Read on from the committed offsets, as the records of an aborted transaction are to be read again."""
        committed = await self.consumer.committed(self.consumer.assignment)
        for key in self.consumer.assignment:
            found = committed.get(key)
            self.consumer.seek(key, 0 if found is None else found.offset)


async def _until_in_time(call: Callable[[], Awaitable[None]]) -> None:
    """Make a call, and again while it takes longer than max.block.ms: then it goes on."""
    while True:
        try:
            return await call()
        except TransactionTimeout:
            continue


class Pipeline:
    """The world of one seed."""

    def __init__(self, seed: int, *, release: str = "4.3.1") -> None:
        self.world = World(seed)
        self.random = Random(seed)
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            brokers=BROKERS,
            topics=[TopicSpec.parse(f"in:{PARTITIONS}:3"), TopicSpec.parse(f"out:{PARTITIONS}:3")],
            config=_CONFIG,
            release=release,
            host=lambda broker: f"b{broker}",
            broker_reactor=lambda broker: self.world.network.host(f"b{broker}"),
        )
        self.cluster.start()
        self.input = ProducerCore(
            ProducerConfig(bootstrap_servers=self.cluster.bootstrap_servers),
            self.world.network.host("input"),
            self.world.streams.stream("input"),
        )
        self.incarnations = 0
        self.faults: list[str] = []
        self.instances = [self._start_instance(number) for number in range(2)]

    def _start_instance(self, number: int) -> Instance:
        self.incarnations += 1
        return Instance(self, number, self.incarnations)

    def replace(self, instance: Instance) -> None:
        """Crash an instance; the next incarnation starts soon."""
        instance.crash()

        def start() -> None:
            self.instances[instance.number] = self._start_instance(instance.number)

        self.world.reactor.callLater(RESTART_MS / 1000, start)

    def run(self) -> list[bytes]:
        """Return the committed output, after all faults."""
        reactor = self.world.reactor
        for number in range(INPUTS):
            reactor.callLater(number * INPUT_EVERY_MS / 1000, self._produce, number)
        for _ in range(FAULTS):
            fault = self.random.choice((self._crash_instance, self._crash_instance, self._kill_broker, self._cut_off))
            reactor.callLater(self.random.uniform(500, FAULTS_MS) / 1000, fault)
        self.world.run_for(ms=FAULTS_MS)
        output: list[bytes] = []
        self._read_into(output)
        self.world.run_until(lambda: len(output) >= INPUTS, deadline_ms=COMPLETE_WITHIN_MS)
        self.world.run_for(ms=SETTLE_MS)
        return output

    def _produce(self, number: int) -> None:
        self.input.send("in", b"%d" % number, partition=number % PARTITIONS)

    def _read_into(self, output: list[bytes]) -> None:
        """Read the committed output, for ever."""
        options = {
            "bootstrap.servers": self.cluster.bootstrap_servers,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
        parsed = consumer_options(options)
        client = ClientCore(parsed.client, self.world.network.host("reader"), Random(0), by_subscription=True)
        reader = ConsumerCore(client, parsed.fetch)
        reader.assign(TopicPartition("out", partition) for partition in range(PARTITIONS))

        async def read() -> None:
            while True:
                output.extend(record.value or b"" for record in await reader.poll(200))

        Deferred.fromCoroutine(read())

    # Faults.

    def _crash_instance(self) -> None:
        instance = self.random.choice(self.instances)
        if instance.is_running:
            self.faults.append(f"instance {instance.number} crashes")
            self.replace(instance)

    def _kill_broker(self) -> None:
        broker_id = self.random.randint(1, BROKERS)
        if all(self.cluster.is_running(each) for each in self.cluster.broker_ids):
            self.faults.append(f"broker {broker_id} is killed")
            self.cluster.kill(broker_id)
            self.world.reactor.callLater(self.random.uniform(0.2, 4), self.cluster.restart, broker_id)

    def _cut_off(self) -> None:
        """Cut off an instance for a time: the group goes on without it, and it returns as a zombie."""
        instance = self.random.choice(self.instances)
        if instance.is_running:
            self.faults.append(f"instance {instance.number} is cut off")
            self.world.network.isolate(instance.host.name)
            self.world.reactor.callLater(self.random.uniform(0.5, 9), self._rejoin, instance)

    def _rejoin(self, instance: Instance) -> None:
        if instance.is_running:
            self.world.network.rejoin(instance.host.name)

    def close(self) -> None:
        """End everything."""
        for instance in self.instances:
            instance.crash()
        self.world.run_until(self.input.close(0))
        self.world.run_until(self.cluster.close())
