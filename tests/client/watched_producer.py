"""A producer on a scripted cluster, and all its visible state: records sent, notified, stored and in flight.

Callers are the threads of a program, on virtual time: each sends one record after the other, as Producer.send does, and
waits for metadata and memory at most max.block.ms.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred

from broker_client.core.batching.buffer_pool import WaiterState
from broker_client.core.producer.future_record_metadata import FutureRecordMetadata
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.core.producer.waits import WaitFor
from broker_client.errors import ProducerClosed, ProducerError
from broker_client.producer_config import ProducerConfig
from broker_client.records import RecordMetadata, TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.produce import ProduceRequest
from protocol_specs.records.batch_peek import iterate_batches
from tests.client.scripted_broker import ScriptedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.batching.producer_batch import ProducerBatch
    from sim_runtime.world import World


@dataclass(slots=True, kw_only=True, eq=False)
class Sent:
    """One record and its notifications; times are of the world, in ms."""

    number: int
    sender: str
    topic: str
    partition: int | None
    key: bytes | None
    value: bytes
    sent_ms: int = 0
    ended_ms: int = 0
    future: FutureRecordMetadata | None = None
    refused: ProducerError | None = None
    notified: list[tuple[RecordMetadata, ProducerError | None]] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        return self.refused is not None or (self.future is not None and self.future.done())

    @property
    def error(self) -> ProducerError | None:
        if self.refused is not None:
            return self.refused
        assert self.future is not None
        return self.future.error()


class WatchedCluster(ScriptedCluster):
    """Keeps the producer id and epoch of every stored record; can forget the sequences of producers."""

    def __init__(self, world: World, brokers: int) -> None:
        super().__init__(world, brokers=brokers)
        self.takes_any_first_sequence = False
        self.identities: dict[TopicPartition, list[tuple[int, int]]] = {}
        self.forgot_a_producer = False
        self.returns_unknown_producer = False

    def append(self, key: TopicPartition, records: Any) -> tuple[ErrorCode, int]:
        ((header, _),) = iterate_batches(records)
        if (
            self.returns_unknown_producer
            and header.base_sequence > 0
            and not self.producers.get((key, header.producer_id))
        ):
            return ErrorCode.UNKNOWN_PRODUCER_ID, -1
        before = len(self.logs.get(key, ()))
        result = super().append(key, records)
        written = len(self.logs[key]) - before
        self.identities.setdefault(key, []).extend([(header.producer_id, header.producer_epoch)] * written)
        return result

    def forget_producers(self, *, returns_unknown_producer: bool) -> None:
        """Forget all producers, as after retention has removed their segments."""
        self.forgot_a_producer = True
        self.returns_unknown_producer = returns_unknown_producer
        self.log_start_offset = 0 if returns_unknown_producer else -1
        self.producers.clear()

    def add_partition(self, topic: str, leader: int) -> None:
        self.topics[topic].leaders.append(leader)
        self.topics[topic].epochs.append(0)


@dataclass(slots=True, kw_only=True, eq=False)
class InFlight:
    """A Produce request in flight, and its batches with their memory and bytes."""

    node_id: int
    batches: list[tuple[ProducerBatch, int, bytes]]


class WatchedProducer:
    """A ProducerCore whose Produce requests are recorded from their sending to their end."""

    def __init__(self, world: World, cluster: ScriptedCluster, options: dict[str, Any]) -> None:
        self.world = world
        self.cluster = cluster
        config = ProducerConfig({"bootstrap_servers": cluster.bootstrap_servers, **options})
        self.config = config
        self.core = ProducerCore(config, cluster.client, world.streams.stream("producer"))
        self.sent: list[Sent] = []
        self.in_flight: list[InFlight] = []
        self.acknowledged: list[Sent] = []
        self.waiting_for_memory: list[Caller] = []
        self.violations: list[str] = []
        """Violations found in callbacks, where an AssertionError would only be logged."""
        self.on_request: Callable[[list[ProducerBatch]], object] = lambda _: None
        self.callers = {name: Caller(self, name) for name in ("a", "b", "c")}
        self._drained: dict[TopicPartition, ProducerBatch] = {}
        self._watch()

    @property
    def now_ms(self) -> int:
        return self.world.reactor.now_us // 1000

    def new(self, sender: str, topic: str, partition: int | None, key: bytes | None, filler: bytes) -> Sent:
        number = len(self.sent)
        value = b"%s:%06d:%s" % (sender.encode(), number, filler)
        one = Sent(number=number, sender=sender, topic=topic, partition=partition, key=key, value=value)
        self.sent.append(one)
        return one

    def send(self, one: Sent) -> None:
        """Send a record on the reactor's thread."""
        one.sent_ms = self.now_ms
        try:
            one.future = self.core.send(one.topic, one.value, one.key, one.partition, on_delivery=self.callback_of(one))
        except ProducerError as error:
            one.refused = error

    def callback_of(self, one: Sent) -> Callable[[RecordMetadata, ProducerError | None], None]:
        def on_delivery(metadata: RecordMetadata, error: ProducerError | None) -> None:
            one.notified.append((metadata, error))
            one.ended_ms = self.now_ms
            if error is None:
                self.acknowledged.append(one)

        return on_delivery

    def _watch(self) -> None:
        core = self.core
        drain, send = core.accumulator.drain, core.client.send

        def watched_drain(*arguments: Any) -> dict[int, list[ProducerBatch]]:
            drained = drain(*arguments)
            for batches in drained.values():
                self._drained.update((batch.topic_partition, batch) for batch in batches)
            return drained

        def watched_send(node_id: int, request: Any, now_ms: int, **options: Any) -> None:
            if isinstance(request, ProduceRequest):
                noted = InFlight(node_id=node_id, batches=self._batches_of(request))
                self.on_request([batch for batch, _, _ in noted.batches])
                self.in_flight.append(noted)
                callback = options["callback"]

                def ended(response: Any) -> None:
                    self.in_flight.remove(noted)
                    callback(response)

                options["callback"] = ended
            send(node_id, request, now_ms, **options)

        core.accumulator.drain = watched_drain  # type: ignore[method-assign, assignment]
        core.client.send = watched_send  # type: ignore[method-assign, assignment]

    def _batches_of(self, request: ProduceRequest) -> list[tuple[ProducerBatch, int, bytes]]:
        found = []
        for topic in request.topic_data:
            for partition in topic.partition_data:
                batch = self._drained[TopicPartition(topic.name, partition.index)]
                assert isinstance(partition.records, bytes), "what a request points at cannot change"
                found.append((batch, batch.granted_bytes, partition.records))
        return found


class Caller:
    """A simulated thread that sends one record after the other, as Producer.send does."""

    def __init__(self, producer: WatchedProducer, name: str) -> None:
        self.producer = producer
        self.name = name
        self.queue: deque[Sent] = deque()
        self.sending: Sent | None = None

    def send(self, one: Sent) -> None:
        self.queue.append(one)
        if self.sending is None:
            self.sending = self.queue.popleft()
            Deferred.fromCoroutine(self._run(self.sending))

    async def _run(self, one: Sent) -> None:
        producer = self.producer
        while True:
            self.sending = one
            one.sent_ms = producer.now_ms
            try:
                one.future = await self._send(one)
            except ProducerError as error:
                one.refused = error
                one.ended_ms = producer.now_ms
            if not self.queue:
                break
            one = self.queue.popleft()
        self.sending = None

    async def _send(self, one: Sent) -> FutureRecordMetadata:
        producer = self.producer
        core = producer.core
        deadline_ms = producer.now_ms + producer.config.number("max.block.ms")
        granted = 0
        while True:
            woken: Deferred[None] = Deferred()
            notify = self._waking(woken)
            core.metadata.on_change(notify)
            appended = core.try_append(
                one.topic, one.partition, None, one.key, one.value, (), producer.callback_of(one), granted
            )
            if appended is not WaitFor.METADATA:
                core.metadata.forget(notify)
            elif granted:
                core.pool.deallocate(granted)
            if isinstance(appended, FutureRecordMetadata):
                return appended
            granted = 0
            if appended is WaitFor.METADATA:
                if not await self._woken_in_time(woken, deadline_ms):
                    core.metadata.forget(notify)
                    raise core.topics.timeout(one.topic, one.partition)
            else:
                granted = await self._memory(core.accumulator.batch_memory(one.key, one.value, ()), deadline_ms)

    async def _memory(self, size_bytes: int, deadline_ms: int) -> int:
        producer = self.producer
        core = producer.core
        woken: Deferred[None] = Deferred()
        wake = self._waking(woken)

        def granted() -> None:
            if not core.pool.closed and producer.waiting_for_memory[0] is not self:
                producer.violations.append(f"{self.name} got memory before {producer.waiting_for_memory[0].name}")
            producer.waiting_for_memory.remove(self)
            wake()

        producer.waiting_for_memory.append(self)
        waiter = core.pool.wait(size_bytes, granted)
        core.wakeup()
        await self._woken_in_time(woken, deadline_ms)
        if self in producer.waiting_for_memory:
            producer.waiting_for_memory.remove(self)
        if waiter.abandon():
            raise core.memory_timeout(size_bytes)
        if waiter.state is WaiterState.CLOSED:
            raise ProducerClosed("the producer was closed while a send waited for memory")
        return size_bytes

    def _waking(self, woken: Deferred[None]) -> Callable[[], object]:
        """Return a callback that continues a waiting thread in a later loop iteration, not within the call."""
        reactor = self.producer.cluster.client

        def wake() -> None:
            if not woken.called:
                woken.callback(None)

        return lambda: reactor.callLater(0, wake)

    async def _woken_in_time(self, woken: Deferred[None], deadline_ms: int) -> bool:
        in_time = True

        def give_up() -> None:
            nonlocal in_time
            if not woken.called:
                in_time = False
                woken.callback(None)

        left_ms = max(deadline_ms - self.producer.now_ms, 0)
        timer = self.producer.cluster.client.callLater(left_ms / 1000, give_up)
        await woken
        if timer.active():
            timer.cancel()
        return in_time
