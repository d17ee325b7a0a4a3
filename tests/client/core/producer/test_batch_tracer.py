"""The trace events of each batch, by scripts of responses on virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from broker_client.core.batching.batch_observer import BatchObserver
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.core.producer.trace import BatchEvent, BatchEventKind
from broker_client.errors import ProducerError
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from tests.client.scripted_broker import Action, ScriptedCluster
from tests.client.scripted_coordinator import ScriptedCoordinator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sim_runtime.world import World

CREATED, READY, APPENDED, DRAINED, SENT, IN_FLIGHT, RETRIED, SPLIT, EXPIRED, ACKNOWLEDGED, FAILED, FREED = (
    BatchEventKind
)
GOES_OUT = [APPENDED, DRAINED, SENT, IN_FLIGHT]


class Traced:
    """A producer whose first record is acknowledged: it has its metadata and its producer id."""

    def __init__(self, world: World, cluster: ScriptedCluster, **options: Any) -> None:
        self.world = world
        self.events: list[BatchEvent] = []
        config = ProducerConfig({"bootstrap_servers": cluster.bootstrap_servers, "client_id": "c", **options})
        self.core = ProducerCore(config, cluster.client, world.streams.stream("p"), trace=self.events.append)
        if "transactional_id" not in options:
            self.ended(self.core.send("orders", b"first"))
        self.start_us = world.reactor.now_us
        self.events.clear()

    def send(self, *values: bytes) -> list[Any]:
        return [self.core.send("orders", value) for value in values]

    def ended(self, *futures: Any) -> None:
        for future in futures:
            try:
                self.world.run_until(future.as_deferred(), deadline_ms=200_000)
            except ProducerError:
                continue

    def kinds(self, batch: int = 1) -> list[BatchEventKind]:
        return [event.kind for event in self.events if event.batch == batch]

    def of(self, kind: BatchEventKind) -> list[BatchEvent]:
        return [event for event in self.events if event.kind is kind]

    def after_ms(self, event: BatchEvent) -> float:
        return (event.time_us - self.start_us) / 1000


@pytest.fixture
def traced(world: World, cluster: ScriptedCluster) -> Iterator[Any]:
    made: list[Traced] = []

    def make(**options: Any) -> Traced:
        made.append(Traced(world, cluster, **options))
        return made[-1]

    yield make
    for each in made:
        world.run_until(each.core.close(0))
        assert each.core.loop_errors == 0
        assert each.core.pool.available_bytes == each.core.pool.memory_bytes


def test_an_acknowledged_batch_has_each_event_once(world: World, traced: Any) -> None:
    one = traced(linger_ms=5)
    futures = one.send(b"a", b"b")
    world.run_for(ms=2)
    futures += one.send(b"c")
    one.ended(*futures)
    assert one.kinds() == [CREATED, READY, *GOES_OUT, ACKNOWLEDGED, FREED]
    assert [event.detail for event in one.of(READY)] == ["lingered"]
    (appended,) = one.of(APPENDED)
    assert [((at_us - one.start_us) / 1000, count) for at_us, count in appended.appends] == [(0, 2), (2, 1)]
    assert one.after_ms(one.of(DRAINED)[0]) == pytest.approx(5, abs=1)
    (acknowledged,) = one.of(ACKNOWLEDGED)
    assert (acknowledged.base_offset, acknowledged.records, acknowledged.base_sequence) == (1, 3, 1)
    assert (acknowledged.producer_id, acknowledged.producer_epoch) == (1000, 0)
    (sent,), (in_flight,) = one.of(SENT), one.of(IN_FLIGHT)
    assert (sent.node, sent.correlation_id) == (in_flight.node, in_flight.correlation_id)
    assert (sent.node, in_flight.detail) == (1, "Produce v13")
    assert {event.client_id for event in one.events} == {"c"}
    assert [event.time_us for event in one.events] == sorted(event.time_us for event in one.events)


def test_memory_that_is_taken_comes_back(traced: Any) -> None:
    one = traced(batch_size=1_000, buffer_memory=10_000)
    one.ended(*one.send(b"a"))
    assert [event.detail for event in one.of(CREATED)] == ["1,000 bytes, 9,000 left"]
    assert [event.detail for event in one.of(FREED)] == ["1,000 bytes"]


def test_a_batch_is_full_by_its_last_record_or_by_the_next_one_that_does_not_fit(world: World, traced: Any) -> None:
    one = traced(linger_ms=1_000, batch_size=497)
    one.send(*[b"x" * 100] * 3)
    assert one.of(READY) == []
    one.send(b"x" * 100)
    assert [(event.batch, event.detail) for event in one.of(READY)] == [(1, "full")]
    one.send(*[b"y" * 101] * 3)
    assert len(one.of(READY)) == 1
    one.send(b"z" * 101)
    assert [(event.batch, event.detail) for event in one.of(READY)] == [(1, "full"), (2, "full")]


def test_a_lingering_batch_is_ready_for_a_reported_reason(world: World, cluster: ScriptedCluster, traced: Any) -> None:
    cluster.create("others")
    one = traced(linger_ms=60_000, batch_size=1_000, buffer_memory=1_500)
    one.send(b"a")
    world.run_until(one.core.flush())
    one.send(b"b")
    world.run_for(ms=10)
    one.core.send("others", b"waits for memory", partition=0)
    world.run_for(ms=10)
    one.core.close(10_000)
    world.run_for(ms=10)
    assert [event.detail for event in one.of(READY)] == ["a flush", "a caller waits for memory", "the producer closes"]
    assert "after a wait" in one.of(CREATED)[-1].detail


def test_a_batch_that_is_not_ready_goes_along_with_one_that_is(
    world: World, cluster: ScriptedCluster, traced: Any
) -> None:
    cluster.create("others")
    one = traced(linger_ms=1_000)
    world.run_until(one.core.partitions_for("others"))
    one.send(b"a")
    world.run_for(ms=500)
    one.ended(one.core.send("others", b"b"))
    assert [event.detail for event in one.of(READY)] == ["lingered", "another batch goes to its node"]
    assert len({event.correlation_id for event in one.of(SENT)}) == 1


def test_a_retry_has_its_error_and_its_back_off(cluster: ScriptedCluster, traced: Any) -> None:
    one = traced(linger_ms=0, retry_backoff_ms=100)
    cluster.script.append(Action(error=ErrorCode.NOT_ENOUGH_REPLICAS))
    one.ended(*one.send(b"a"))
    again = [READY, DRAINED, SENT, IN_FLIGHT, ACKNOWLEDGED, FREED]
    assert one.kinds() == [CREATED, READY, *GOES_OUT, RETRIED, *again]
    (retried,) = one.of(RETRIED)
    assert (retried.error, retried.attempts) == ("NOT_ENOUGH_REPLICAS", 1)
    assert 80 <= retried.backoff_ms <= 120
    assert [event.detail for event in one.of(READY)] == ["lingered", "backed off"]
    assert one.of(SENT)[0].correlation_id != one.of(SENT)[1].correlation_id
    assert one.of(DRAINED)[1].time_us - retried.time_us >= 1000 * retried.backoff_ms


def test_a_lost_connection_is_a_reason_to_retry(cluster: ScriptedCluster, traced: Any) -> None:
    one = traced()
    cluster.script.append(Action(disconnects=True))
    one.ended(*one.send(b"a"))
    (retried,) = one.of(RETRIED)
    assert (retried.error, retried.detail) == ("NETWORK_EXCEPTION", "disconnected from node 1")


def test_the_parts_of_a_split_batch_know_where_they_come_from(cluster: ScriptedCluster, traced: Any) -> None:
    one = traced(linger_ms=5, batch_size=2_000)
    cluster.max_batch_bytes = 1_200
    one.ended(*one.send(*[b"x" * 300] * 5))
    assert one.kinds(1)[-2:] == [SPLIT, FREED]
    parts = [event for event in one.of(CREATED) if event.part_of == 1]
    assert [(event.first_record, event.records) for event in parts] == split_places(parts)
    last = [event for event in one.events if event.kind is ACKNOWLEDGED]
    assert sum(event.records for event in last) == 5
    assert FREED not in one.kinds(parts[0].batch), "what it took went back with the batch that it is a part of"


def split_places(parts: list[BatchEvent]) -> list[tuple[int, int]]:
    places, first = [], 0
    for part in parts:
        places.append((first, part.records))
        first += part.records
    return places


def test_expiry_in_the_queue_and_in_flight_differ_by_memory(
    world: World, cluster: ScriptedCluster, traced: Any
) -> None:
    one = traced(
        linger_ms=0, delivery_timeout_ms=1_000, request_timeout_ms=1_000, max_in_flight_requests_per_connection=1
    )
    cluster.script.append(Action(responds=False))
    futures = one.send(b"a")
    world.run_for(ms=10)
    one.ended(*futures, *one.send(b"b"))
    world.run_for(ms=2_000)
    assert one.kinds(1) == [CREATED, READY, *GOES_OUT, EXPIRED, FREED]
    assert one.kinds(2) == [CREATED, READY, EXPIRED, FREED]
    assert [event.error for event in one.of(EXPIRED)] == ["BatchExpired"] * 2
    assert "ms has passed since batch creation" in one.of(EXPIRED)[0].detail


def test_a_refused_batch_fails_with_the_brokers_error(cluster: ScriptedCluster, traced: Any) -> None:
    one = traced()
    cluster.script.append(Action(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    one.ended(*one.send(b"a"))
    assert one.kinds()[-2:] == [FAILED, FREED]
    assert [event.error for event in one.of(FAILED)] == ["TOPIC_AUTHORIZATION_FAILED"]


def test_what_is_given_up_at_the_end_fails_wherever_it_is(world: World, cluster: ScriptedCluster, traced: Any) -> None:
    one = traced(linger_ms=0)
    cluster.default = Action(responds=False)
    one.send(b"in flight")
    world.run_for(ms=10)
    one.core.accumulator.mute_partition(TopicPartition("orders", 0))
    one.send(b"queued")
    world.run_until(one.core.close(0))
    assert [(event.batch, event.error) for event in one.of(FAILED)] == [(1, "ProducerClosed"), (2, "ProducerClosed")]
    assert one.kinds(2) == [CREATED, FAILED, FREED]


def test_with_acks_0_a_batch_is_acknowledged_when_it_is_written(traced: Any) -> None:
    one = traced(acks="0")
    one.ended(*one.send(b"a"))
    assert one.kinds() == [CREATED, READY, *GOES_OUT, ACKNOWLEDGED, FREED]
    assert [event.base_offset for event in one.of(ACKNOWLEDGED)] == [-1]


def test_rows_of_a_table_are_a_batch_that_is_full_at_once(world: World, traced: Any) -> None:
    one = traced(linger_ms=1_000)
    table = pa.table({"value": pa.array([b"a", b"b"], pa.binary())})
    world.run_until(one.core.send_batch("orders", table).as_deferred(), deadline_ms=1_000)
    assert one.kinds() == [CREATED, APPENDED, READY, *GOES_OUT[1:], ACKNOWLEDGED, FREED]
    assert [event.detail for event in one.of(READY)] == ["full"]


def test_the_end_of_a_transaction_makes_its_batches_ready(world: World, cluster: ScriptedCluster, traced: Any) -> None:
    ScriptedCoordinator(cluster)
    one = traced(linger_ms=60_000, transactional_id="tx")
    world.run_until(one.core.transactional.init_transactions())
    one.core.transactional.begin_transaction()
    one.send(b"a")
    world.run_for(ms=100)
    world.run_until(one.core.transactional.commit_transaction())
    assert [event.detail for event in one.of(READY)] == ["the transaction ends"]


def test_a_producer_without_a_trace_has_nothing_of_it(world: World, cluster: ScriptedCluster) -> None:
    config = ProducerConfig({"bootstrap_servers": cluster.bootstrap_servers})
    core = ProducerCore(config, cluster.client, world.streams.stream("p"))
    assert type(core.accumulator.observer) is BatchObserver
    assert core.client.selector.on_written is None
    world.run_until(core.close(0))


def test_a_trace_that_raises_gets_no_more_events_and_stops_nothing(world: World, cluster: ScriptedCluster) -> None:
    notified: list[BatchEvent] = []

    def trace(event: BatchEvent) -> None:
        notified.append(event)
        raise OSError("no space left on device")

    config = ProducerConfig({"bootstrap_servers": cluster.bootstrap_servers})
    core = ProducerCore(config, cluster.client, world.streams.stream("p"), trace=trace)
    assert world.run_until(core.send("orders", b"a").as_deferred(), deadline_ms=1_000).offset == 0
    assert [event.kind for event in notified] == [CREATED]
    world.run_until(core.close(0))
