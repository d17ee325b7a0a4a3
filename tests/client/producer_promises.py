"""The promises of a producer under its configuration and the faults so far; each check names the broken promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_client.errors import BufferExhausted, MetadataTimeout
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch
    from tests.client.watched_producer import InFlight, Sent, WatchedProducer

# A loop iteration that is due at a whole millisecond, and the one after it.
SLACK_MS: Final = 2
# A new epoch renumbers the batches in flight; a batch that succeeds nevertheless leaves a gap (KIP-360).
FIRST_IDENTITY: Final = (1000, 0)


class Promises:
    """`check` after each step; `await_everything`, then `check_logs`, at the end."""

    def __init__(self, producer: WatchedProducer) -> None:
        self.producer = producer
        config = producer.config
        self.acks = config["acks"]
        self.idempotent = config.idempotent
        self.retries = config.number("retries")
        self.in_flight_max = config.number("max.in.flight.requests.per.connection")
        self.block_ms = config.number("max.block.ms") + SLACK_MS
        self.longest_ms = config.number("max.block.ms") + config.number("delivery.timeout.ms") + SLACK_MS
        self.request_ms = config.number("request.timeout.ms") + SLACK_MS
        self.leaders_moved = False
        self.network_was_cut = False
        self.flushes: list[tuple[list[Sent], list[int]]] = []
        self.closing: list[int] = []
        self.close_by_ms: int | None = None
        self.next_sequences: dict[TopicPartition, int] = {}
        producer.on_request = self.note_request

    # Observations

    def flush(self) -> None:
        producer = self.producer
        before = [one for one in producer.sent if one.future is not None and not one.ended]
        ended: list[int] = []
        self.flushes.append((before, ended))

        def over(_: object) -> None:
            assert all(one.ended for one in before), "flush ended before a record that was sent before it"
            ended.append(producer.now_ms)

        Deferred.fromCoroutine(producer.core.flush()).addCallback(over)

    def close(self, timeout_ms: int | None) -> None:
        producer = self.producer

        def closed(_: None) -> None:
            assert all(one.ended for one in producer.sent if one.future is not None), "closed with records open"
            self.closing.append(producer.now_ms)

        if timeout_ms is not None:
            self.close_by_ms = producer.now_ms + timeout_ms
        producer.core.close(timeout_ms).addCallback(closed)

    def note_request(self, batches: list[ProducerBatch]) -> None:
        """Check the batches of a request that is about to be sent."""
        if self.idempotent:
            self.note_sequences(batches)
        if self.in_flight_max == 1:
            under_way = [other.topic_partition for one in self.producer.in_flight for other, _, _ in one.batches]
            twice = [batch for batch in batches if batch.topic_partition in under_way]
            if twice:
                self.producer.violations.append(f"{twice} go out while others of their partitions are in flight")

    def note_sequences(self, batches: list[ProducerBatch]) -> None:
        producer = self.producer
        open_batches = [other for other in producer.core.accumulator.incomplete_batches() if other.has_sequence]
        for batch in batches:
            key = batch.topic_partition
            identity = (batch.producer_id, batch.producer_epoch)
            for other in open_batches:
                if other.topic_partition != key or other is batch:
                    continue
                if (other.producer_id, other.producer_epoch) < identity:
                    producer.violations.append(f"{batch} goes out in a new epoch while {other} of an old one is open")
                if batch.attempts and other.base_sequence < batch.base_sequence and not other.is_done:
                    producer.violations.append(f"{batch} is retried while {other} before it is open")
            if identity == FIRST_IDENTITY:
                expected = self.next_sequences.setdefault(key, 0)
                if batch.base_sequence > expected:
                    producer.violations.append(f"{batch} begins at {batch.base_sequence}, not at {expected}")
                self.next_sequences[key] = max(expected, batch.last_sequence + 1)

    # After each step

    def check(self) -> None:
        assert not self.producer.violations, self.producer.violations
        self.each_record_ends_once()
        self.nothing_waits_past_its_deadline()
        self.requests_in_flight_keep_their_memory()
        self.requests_in_flight_are_as_many_as_allowed()

    def each_record_ends_once(self) -> None:
        for one in self.producer.sent:
            assert len(one.notified) <= 1, f"{one} was notified twice"
            if one.future is not None:
                assert bool(one.notified) == one.future.done(), f"{one}: its callback and its future disagree"
            else:
                assert not one.notified, f"{one} was notified though send raised"

    def nothing_waits_past_its_deadline(self) -> None:
        now_ms = self.producer.now_ms
        for one in self.producer.sent:
            if one.sent_ms and not one.ended:
                late_ms = now_ms - one.sent_ms - self.longest_ms
                assert late_ms <= 0, f"{one} is {late_ms} ms past max.block.ms and delivery.timeout.ms"
        if self.close_by_ms is not None and now_ms > self.close_by_ms:
            assert self.closing, "close has taken longer than its time-out"

    def requests_in_flight_keep_their_memory(self) -> None:
        core = self.producer.core
        if self.closing:
            return
        holding = {batch: batch.granted_bytes for batch in core.accumulator.incomplete_batches()}
        for request in self.producer.in_flight:
            for batch, granted, _ in request.batches:
                assert batch.granted_bytes == granted, f"{batch} gave its memory back while a request points at it"
                holding[batch] = granted
        held = sum(holding.values())
        assert core.pool.available_bytes + held <= core.pool.memory_bytes, "memory that batches hold is free"

    def requests_in_flight_are_as_many_as_allowed(self) -> None:
        by_node: dict[int, list[InFlight]] = {}
        for request in self.producer.in_flight:
            by_node.setdefault(request.node_id, []).append(request)
        for node_id, requests in by_node.items():
            assert len(requests) <= self.in_flight_max, f"{len(requests)} requests in flight to node {node_id}"

    # At the end

    def await_everything(self) -> None:
        producer = self.producer
        core = producer.core
        world = producer.world
        callers = producer.callers.values()
        waits = 1 + max(len(caller.queue) for caller in callers)
        world.run_until(
            lambda: all(one.ended for one in producer.sent), deadline_ms=waits * self.longest_ms, awaited="all records"
        )
        self.check()
        if core.closed:
            world.run_until(
                lambda: self.closing, deadline_ms=2 * self.longest_ms + 5 * self.request_ms, awaited="close"
            )
        else:
            world.run_until(
                lambda: not producer.in_flight, deadline_ms=5 * self.request_ms + 5_000, awaited="requests in flight"
            )
        world.run_for(ms=SLACK_MS)
        assert all(ended for _, ended in self.flushes), "flush goes on after all records have ended"
        assert core.pool.available_bytes == core.pool.memory_bytes, "memory is missing"
        assert core.pool.queued == 0
        assert core.loop_errors == 0

    def waits_end_with_max_block(self) -> None:
        for one in self.producer.sent:
            if isinstance(one.error, MetadataTimeout | BufferExhausted):
                assert one.ended_ms - one.sent_ms <= self.block_ms, f"{one} has waited longer than max.block.ms"

    def check_logs(self) -> None:
        self.waits_end_with_max_block()
        producer = self.producer
        for topic, found in producer.cluster.topics.items():
            for partition in range(len(found.leaders)):
                self.check_log(TopicPartition(topic, partition))
        self.callbacks_come_in_order()

    def check_log(self, key: TopicPartition) -> None:
        producer = self.producer
        cluster = producer.cluster
        stored = cluster.values(*key)
        identities = cluster.identities.get(key, [])
        for one in producer.sent:
            if one.topic != key.topic:
                continue
            if one.error is None:
                metadata = one.notified[0][0]
                if metadata.partition == key.partition and self.acks != "0":
                    assert one.value in stored, f"{one} was acknowledged and is not in the log"
                    assert metadata.offset == -1 or stored[metadata.offset] == one.value, f"{one}: wrong offset"
            elif not one.error.maybe_written:
                assert one.value not in stored, f"{one} is in the log, which its error excludes"
        if self.idempotent and not cluster.forgot_a_producer:
            for identity in dict.fromkeys(identities):
                of_identity = [value for value, other in zip(stored, identities, strict=True) if other == identity]
                assert_in_order(of_identity, key)
                assert_once(of_identity, key)
        if self.keeps_order(identities):
            assert_in_order(list(dict.fromkeys(stored)), key)
        if self.writes_once(identities):
            assert_once(stored, key)

    def keeps_order(self, identities: list[tuple[int, int]]) -> bool:
        if self.idempotent:
            return len(dict.fromkeys(identities)) <= 1 and not self.producer.cluster.forgot_a_producer
        if self.network_was_cut:
            return False  # a request of a closed connection may arrive after later requests
        if self.in_flight_max == 1:
            return True
        return self.retries == 0 and ErrorCode.MESSAGE_TOO_LARGE not in self.producer.cluster.errors_of_produce

    def writes_once(self, identities: list[tuple[int, int]]) -> bool:
        if self.idempotent:
            return len(dict.fromkeys(identities)) <= 1 and not self.producer.cluster.forgot_a_producer
        return self.retries == 0

    def callbacks_come_in_order(self) -> None:
        """Check the records of one caller for one partition; a new leader may be faster than the one before it."""
        numbers_by_sender: dict[tuple[TopicPartition, str], list[int]] = {}
        for one in self.producer.acknowledged:
            metadata = one.notified[0][0]
            numbers_by_sender.setdefault((TopicPartition(metadata.topic, metadata.partition), one.sender), []).append(
                one.number
            )
        if (self.idempotent or self.in_flight_max == 1) and not self.leaders_moved:
            for (key, sender), numbers in numbers_by_sender.items():
                assert numbers == sorted(numbers), f"callbacks of {sender} for {key} in another order: {numbers}"


def assert_in_order(values: list[bytes], key: TopicPartition) -> None:
    """Check that the records of each sender are in the order in which they were sent."""
    latest: dict[bytes, bytes] = {}
    for value in values:
        sender, number, _ = value.split(b":", 2)
        assert latest.get(sender, b"") <= number, f"{key}: {sender!r} sent {number!r} before {latest[sender]!r}"
        latest[sender] = number


def assert_once(values: list[bytes], key: TopicPartition) -> None:
    twice = [value for value in dict.fromkeys(values) if values.count(value) > 1]
    assert not twice, f"{key}: {len(twice)} records are there twice, the first is {twice[0]!r}"
