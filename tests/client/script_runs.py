"""Runs a script: a cluster that responds by it, a producer that runs its program, and the results of both."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from twisted.internet.defer import Deferred

from broker_client.consumer_errors import CommitFailed
from broker_client.consumer_groups import ConsumerGroupMetadata
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.errors import BrokerError, IllegalState, ProducerError, ProducerTimeout, UnsupportedVersion
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from sim_runtime.deadlines import sleep
from sim_runtime.world import World
from tests.client.producer_script import (
    Await,
    Close,
    Disconnect,
    Ended,
    Finalize,
    Flush,
    MoveCoordinator,
    MoveLeader,
    Pause,
    Script,
    Send,
    SendOffsets,
    Start,
    Step,
    StopListening,
    Transact,
)
from tests.client.request_stream import streams_of
from tests.client.script_cluster import Place, ScriptCluster, Waits

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from broker_client.consumer_groups import OffsetAndMetadata
    from broker_client.core.producer.future_record_metadata import FutureRecordMetadata

PORT = 9092
AFTER_CLOSE_MS = SETTLING_MS = 30
# Time for the first metadata response, whose arrival is not visible here.
RECEIVING_MS = 100
STEP_MS = 10
DEADLINE_MS = 1_000_000


Waiting: TypeAlias = Coroutine[Deferred[Any], Any, None]
CallWaiting: TypeAlias = Coroutine[Deferred[Any], Any, str]


@dataclass(slots=True)
class RunResult:
    """The streams of requests, and the outcome of each record: "ok t-0@3" or "failed".

    `calls`: how each transactional call ended, an error by the name of Java's class.
    """

    streams: dict[str, list[str]]
    outcomes: list[str]
    calls: list[str]


@dataclass(slots=True, kw_only=True)
class Record:
    """A record to send."""

    topic: str
    partition: int | None
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None


class ScriptedProducer(Protocol):
    """A producer that a program drives; it calls `ended` for every record."""

    def start(self, servers: str, config: Mapping[str, object]) -> None: ...

    def send(self, index: int, record: Record) -> Waiting: ...

    def flush(self) -> Waiting: ...

    def transact(self, call: str) -> CallWaiting: ...

    def send_offsets(self, step: SendOffsets) -> CallWaiting: ...

    def close(self, timeout_ms: int | None) -> Waiting: ...


@dataclass(slots=True)
class Progress:
    """The outcomes of the records of a run so far."""

    waits: Waits
    sent: int = 0
    outcomes: dict[int, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def ended(self, index: int, outcome: str) -> None:
        self.outcomes[index] = outcome
        self.waits.look()


class OurProducer:
    """ProducerCore on the reactor of the run."""

    def __init__(self, reactor: Any, random: random.Random, progress: Progress) -> None:
        self._reactor = reactor
        self._random = random
        self._progress = progress
        self.core: ProducerCore | None = None

    def start(self, servers: str, config: Mapping[str, object]) -> None:
        given = {"bootstrap.servers": servers, **config}
        self.core = ProducerCore(ProducerConfig(given), self._reactor, self._random)

    async def send(self, index: int, record: Record) -> None:
        """Append a record; like Java's send, it waits for metadata and memory."""
        core = self.core
        assert core is not None
        future = core.send(record.topic, record.value, record.key, record.partition, timestamp_ms=record.timestamp_ms)
        future.add_done_callback(lambda done: self._progress.ended(index, _outcome(done)))
        while future in core._pending.futures():
            await sleep(self._reactor, 0.5)

    async def flush(self) -> None:
        assert self.core is not None
        await self.core.flush()

    async def transact(self, call: str) -> str:
        assert self.core is not None
        calls = self.core.transactional
        try:
            if call == "begin":
                calls.begin_transaction()
            else:
                await {"init": calls.init_transactions, "commit": calls.commit_transaction}.get(
                    call, calls.abort_transaction
                )()
        except ProducerError as error:
            return f"failed {java_name(error)}"
        return "ok"

    async def send_offsets(self, step: SendOffsets) -> str:
        assert self.core is not None
        offsets: dict[TopicPartition, OffsetAndMetadata | int] = {
            partition_of(key): offset for key, offset in step.offsets.items()
        }
        group = ConsumerGroupMetadata(group_id=step.group, generation_id=step.generation, member_id=step.member)
        try:
            await self.core.transactional.send_offsets_to_transaction(offsets, group)
        except ProducerError as error:
            return f"failed {java_name(error)}"
        return "ok"

    async def close(self, timeout_ms: int | None) -> None:
        assert self.core is not None
        await self.core.close(timeout_ms)


def partition_of(key: str) -> TopicPartition:
    topic, _, partition = key.rpartition("-")
    return TopicPartition(topic, int(partition))


# Exceptions whose names differ from those of their codes.
_JAVA_NAMES: Final = {
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalIdAuthorization",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorization",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "GroupAuthorization",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorization",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: "InvalidPidMapping",
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "OutOfOrderSequence",
    ErrorCode.MESSAGE_TOO_LARGE: "RecordTooLarge",
}


def java_name(error: ProducerError) -> str:
    """Return the name of the exception that Java's producer throws in this case."""
    named = {IllegalState: "IllegalState", ProducerTimeout: "Timeout", CommitFailed: "CommitFailed"}
    for kind, name in named.items():
        if isinstance(error, kind):
            return f"{name}Exception"
    if isinstance(error, BrokerError | UnsupportedVersion):
        code = error.error_code
        return f"{_JAVA_NAMES.get(code) or code.name.title().replace('_', '')}Exception"
    return "KafkaException"


def _outcome(future: FutureRecordMetadata) -> str:
    if future.error() is not None:
        return "failed"
    place = future.metadata()
    return f"ok {place.topic}-{place.partition}@{place.offset}"


class Run:
    """One script, one cluster, one producer."""

    def __init__(self, script: Script, cluster: ScriptCluster, producer: ScriptedProducer, progress: Progress) -> None:
        self.script = script
        self.cluster = cluster
        self.producer = producer
        self.progress = progress
        self.reactor = cluster.waits.reactor
        self.waits = cluster.waits
        self._closed = False

    async def run(self) -> RunResult:
        servers = ",".join(f"{place.host}:{place.port}" for place in self.cluster.places.values())
        self.producer.start(servers, self.script.config)
        for step in self.script.program:
            await self.take(step)
        await self.take(Ended())
        if not self._closed:
            await self.take(Close())
        await sleep(self.reactor, AFTER_CLOSE_MS)
        self.cluster.close()
        never = self.cluster.never_fired()
        assert not never, f"{self.script.name}: never happened: {never}"
        outcomes = [self.progress.outcomes[index] for index in range(self.progress.sent)]
        return RunResult(streams_of(self.cluster.seen, self.script.brokers), outcomes, self.progress.calls)

    async def take(self, step: Step) -> None:
        cluster = self.cluster
        match step:
            case Start():
                await self.waits.until("the first Metadata", lambda: cluster.count("Metadata") > 0)
                if self.requests_id_immediately:
                    await self.waits.until("InitProducerId", lambda: cluster.count("InitProducerId") > 0)
                await self.pause(SETTLING_MS if self.requests_id_immediately else RECEIVING_MS)
            case Send():
                await self.begin(self.send(step), waits=step.waits)
            case Transact():
                await self.begin(self.call(step.call, self.producer.transact(step.call)), waits=step.waits)
            case SendOffsets():
                await self.call("send_offsets", self.producer.send_offsets(step))
            case MoveCoordinator():
                cluster.coordinator.brokers[step.kind] = step.broker
            case Finalize():
                cluster.finalize(step.feature, step.level)
            case Flush():
                await self.begin(self.producer.flush(), waits=step.waits)
            case Close():
                self._closed = True
                await self.begin(self.producer.close(step.timeout_ms), waits=step.waits)
            case Await():
                await self.waits.until(f"{step.api} {step.count}", lambda: cluster.count(step.api) >= step.count)
            case Ended():
                count = self.progress.sent if step.count is None else step.count
                await self.waits.until(f"the end of {count} records", lambda: len(self.progress.outcomes) >= count)
            case Pause():
                await self.pause(step.ms)
            case MoveLeader():
                cluster.move_leader(step.partition, step.broker)
            case Disconnect():
                cluster.brokers[step.broker].disconnect()
            case StopListening():
                cluster.brokers[step.broker].stop()
                self.reactor.callLater(step.ms / 1000, cluster.brokers[step.broker].listen)

    @property
    def requests_id_immediately(self) -> bool:
        config = {"bootstrap.servers": "b:1", **self.script.config}
        given = ProducerConfig(config)
        return given.idempotent and given["transactional.id"] is None

    async def pause(self, ms: int) -> None:
        """Wait in small steps: a process that was stopped for a long time loses one step only."""
        for passed in range(0, ms, STEP_MS):
            await sleep(self.reactor, min(STEP_MS, ms - passed))

    async def call(self, name: str, doing: CallWaiting) -> None:
        self.progress.calls.append(f"{name} ...")
        index = len(self.progress.calls) - 1
        self.progress.calls[index] = f"{name} {await doing}"

    async def begin(self, doing: Waiting, *, waits: bool) -> None:
        """Start the call, and wait for its end unless the program continues meanwhile."""
        begun = Deferred.fromCoroutine(doing)
        if waits:
            await begun

    async def send(self, step: Send) -> None:
        for number in range(step.count):
            value = None
            if step.value is not None:
                text = f"{step.value}{number}" if step.count > 1 else step.value
                value = text.encode().ljust(step.size, b".")
            record = Record(
                topic=step.topic,
                partition=step.partition,
                timestamp_ms=step.timestamp_ms,
                key=None if step.key is None else step.key.encode(),
                value=value,
            )
            self.progress.sent += 1
            await self.producer.send(self.progress.sent - 1, record)


def run_on_virtual_time(script: Script, seed: int = 7) -> RunResult:
    """Run a script with our producer, on simulated hosts."""
    world = World(seed)
    waits = Waits(world.reactor)
    numbers = range(1, script.brokers + 1)
    places = {number: Place(world.network.host(f"broker-{number}"), f"broker-{number}", PORT) for number in numbers}
    cluster = ScriptCluster(script, places, waits)
    progress = Progress(waits)
    producer = OurProducer(world.network.host("client"), world.streams.stream("producer"), progress)
    result = world.run_until(Run(script, cluster, producer, progress).run(), deadline_ms=DEADLINE_MS)
    core = producer.core
    assert core is not None
    assert core.loop_errors == 0
    assert core.pool.available_bytes == core.pool.memory_bytes
    return result
