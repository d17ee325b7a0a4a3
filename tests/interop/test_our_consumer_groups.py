"""Our consumer in groups of real Kafka, alone and together with librdkafka's consumer."""

from __future__ import annotations

import asyncio
import re
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer as LibrdkafkaConsumer

from broker_client import Admin, AsyncConsumer, Consumer, OffsetAndMetadata, Producer, TopicPartition
from broker_client.consumer_errors import CommitFailed, FencedInstanceId, RebalanceCallbackFailed, WakeupError
from broker_client.consumer_groups import RebalanceListener, SubscriptionPattern
from broker_client.errors import BrokerError, ProducerError
from tests.interop.kafka_release import RELEASES
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.interop.real_kafka import RealKafka

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "500",
}
PARTITIONS = 4
RECORDS = 40
DEADLINE_S = 60


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    with real_kafka(request.param, settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def modern() -> Iterator[RealKafka]:
    """A release that has the consumer protocol (KIP-848)."""
    with real_kafka("4.3.1", settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def topic(kafka: RealKafka) -> str:
    return make_topic(kafka)


def make_topic(kafka: RealKafka) -> str:
    """A topic with records in each partition."""
    name = f"topic-{uuid.uuid4().hex[:8]}"
    with Admin(bootstrap_servers=kafka.bootstrap_servers) as admin:
        admin.create_topic(name, partitions=PARTITIONS, replication_factor=1)
    with Producer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        for number in range(RECORDS):
            producer.send(name, b"%d" % number, partition=number % PARTITIONS)
    return name


class Calls(RebalanceListener):
    """Records the callbacks, and the thread that they are called on."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[int]]] = []
        self.threads: set[int] = set()

    def _called(self, name: str, partitions: Sequence[TopicPartition]) -> None:
        self.calls.append((name, [key.partition for key in partitions]))
        self.threads.add(threading.get_ident())

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self._called("revoked", partitions)

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self._called("assigned", partitions)

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        self._called("lost", partitions)


def consumer_on(kafka: RealKafka, group: str, *, protocol: str = "classic", **options: Any) -> Consumer:
    if protocol == "classic":
        options = {"session_timeout_ms": 45_000, "heartbeat_interval_ms": 200, **options}
    return Consumer(
        bootstrap_servers=kafka.bootstrap_servers,
        group_id=group,
        group_protocol=protocol,
        auto_offset_reset="earliest",
        **options,
    )


def poll_until(consumers: Sequence[Consumer], done: Callable[[], bool]) -> list[bytes | None]:
    values = []
    deadline_s = time.monotonic() + DEADLINE_S
    while not done():
        assert time.monotonic() < deadline_s
        for consumer in consumers:
            values += [record.value for record in consumer.poll(0.05)]
    return values


def wait_until_members_left(kafka: RealKafka, group: str, *, protocol: str = "classic") -> None:
    """Return when the broker has the group without members; its consumers are not polled."""
    deadline_s = time.monotonic() + DEADLINE_S
    with Admin(bootstrap_servers=kafka.bootstrap_servers) as admin:
        describe = admin.describe_groups if protocol == "classic" else admin.describe_consumer_groups
        while describe([group])[group].members:
            assert time.monotonic() < deadline_s, f"group {group} still has members"


def owned(consumer: Consumer) -> list[int]:
    return sorted(key.partition for key in consumer.assignment())


def all_owned(*consumers: Consumer) -> bool:
    """Every partition belongs to one member, and every member has some."""
    numbers = sorted(number for consumer in consumers for number in owned(consumer))
    return all(map(owned, consumers)) and numbers == list(range(PARTITIONS))


def test_a_group_reads_everything_once_and_continues_at_its_commits(kafka: RealKafka, topic: str) -> None:
    listener = Calls()
    with consumer_on(kafka, topic) as consumer:
        consumer.subscribe([topic], listener)
        values: list[bytes | None] = []
        while len(values) < RECORDS:
            values += [record.value for record in consumer.poll(1.0)]
        consumer.commit()
        keys = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        assert [found and found.offset for found in consumer.committed(keys).values()] == [RECORDS // PARTITIONS] * 4
        metadata = consumer.group_metadata()
        assert metadata.group_id == topic
        assert metadata.generation_id == 1
    assert sorted(values, key=lambda value: int(value or b"-1")) == [b"%d" % number for number in range(RECORDS)]
    assert listener.calls == [("assigned", [0, 1, 2, 3]), ("revoked", [0, 1, 2, 3])]
    assert listener.threads == {threading.get_ident()}
    with consumer_on(kafka, topic) as consumer:
        consumer.subscribe([topic])
        poll_until([consumer], lambda: owned(consumer) == [0, 1, 2, 3])
        assert consumer.position(TopicPartition(topic, 1)) == RECORDS // PARTITIONS


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_members_share_the_partitions_and_take_over_those_of_a_leaver(
    kafka: RealKafka, topic: str, strategy: str
) -> None:
    listener = Calls()
    with consumer_on(kafka, topic, partition_assignment_strategy=strategy) as first:
        first.subscribe([topic], listener)
        poll_until([first], lambda: owned(first) == [0, 1, 2, 3])
        with consumer_on(kafka, topic, partition_assignment_strategy=strategy) as second:
            second.subscribe(re.compile("topic-.*" + topic[-4:]))
            poll_until([first, second], lambda: all_owned(first, second))
            kept = owned(first)
        poll_until([first], lambda: owned(first) == [0, 1, 2, 3])
    revoked = [partitions for name, partitions in listener.calls if name == "revoked"]
    if strategy == "cooperative-sticky":
        assert revoked[0] == [number for number in range(PARTITIONS) if number not in kept]
    else:
        assert revoked[0] == [0, 1, 2, 3]


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_the_broker_assigns_with_the_consumer_protocol(modern: RealKafka, assignor: str) -> None:
    topic = make_topic(modern)
    listener = Calls()
    with consumer_on(modern, topic, protocol="consumer", group_remote_assignor=assignor) as first:
        first.subscribe([topic], listener)
        values = poll_until([first], lambda: owned(first) == [0, 1, 2, 3])
        while len(values) < RECORDS:
            values += [record.value for record in first.poll(1.0)]
        with consumer_on(modern, topic, protocol="consumer") as second:
            second.subscribe(SubscriptionPattern(".*" + topic[-6:]))
            poll_until([first, second], lambda: all_owned(first, second))
            kept = owned(first)
            metadata = second.group_metadata()
            assert metadata.generation_id > 0
            assert metadata.member_id
        poll_until([first], lambda: owned(first) == [0, 1, 2, 3])
        offsets = [found and found.offset for found in first.committed(first.assignment()).values()]
        assert offsets == [RECORDS // PARTITIONS] * PARTITIONS  # committed before the revocation
    revoked = [partitions for name, partitions in listener.calls if name == "revoked"]
    assert revoked == [[number for number in range(PARTITIONS) if number not in kept], [0, 1, 2, 3]]
    assert all(name != "lost" for name, _ in listener.calls)


def test_a_member_of_the_consumer_protocol_that_does_not_poll_returns(modern: RealKafka) -> None:
    topic = make_topic(modern)
    listener = Calls()
    with consumer_on(modern, topic, protocol="consumer", max_poll_interval_ms=500) as consumer:
        consumer.subscribe([topic], listener)
        poll_until([consumer], lambda: owned(consumer) == [0, 1, 2, 3])
        wait_until_members_left(modern, topic, protocol="consumer")
        poll_until([consumer], lambda: listener.calls[-1] == ("assigned", [0, 1, 2, 3]) and len(listener.calls) > 1)
        # A broker may assign nothing to a member that has just joined, until it computes the next assignment.
        assert [name for name, partitions in listener.calls if partitions] == ["assigned", "lost", "assigned"]
        consumer.unsubscribe()
        assert listener.calls[-1] == ("revoked", [0, 1, 2, 3])
        consumer.subscribe(re.compile(topic[:-1] + "."), listener)
        poll_until([consumer], lambda: owned(consumer) == [0, 1, 2, 3])


def test_a_cluster_without_the_consumer_protocol_and_a_wrong_assignor_are_named(
    kafka: RealKafka, modern: RealKafka
) -> None:
    if kafka.release < "4":
        with consumer_on(kafka, "g", protocol="consumer") as consumer:
            consumer.subscribe(["t"])
            with pytest.raises(ProducerError, match=r"UNSUPPORTED_VERSION|does not serve group\.protocol=consumer"):
                poll_until([consumer], lambda: False)
    with consumer_on(modern, "g", protocol="consumer", group_remote_assignor="best") as consumer:
        consumer.subscribe(["t"])
        with pytest.raises(BrokerError, match="UNSUPPORTED_ASSIGNOR"):
            poll_until([consumer], lambda: False)


def test_a_member_of_the_classic_protocol_joins_a_group_of_the_consumer_protocol(modern: RealKafka) -> None:
    topic = make_topic(modern)
    with consumer_on(modern, topic, protocol="consumer") as first, consumer_on(modern, topic) as second:
        first.subscribe([topic])
        poll_until([first], lambda: owned(first) == [0, 1, 2, 3])
        second.subscribe([topic])
        poll_until([first, second], lambda: all_owned(first, second))


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
@pytest.mark.parametrize("is_ours_first", [True, False])
def test_our_members_and_those_of_librdkafka_understand_each_other(
    kafka: RealKafka, topic: str, strategy: str, *, is_ours_first: bool
) -> None:
    theirs = LibrdkafkaConsumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": topic,
            "partition.assignment.strategy": strategy,
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 200,
        }
    )
    with consumer_on(kafka, topic, partition_assignment_strategy=strategy) as ours:

        def their_partitions() -> list[int]:
            theirs.poll(0.05)
            return sorted(one.partition for one in theirs.assignment())

        def subscribe_theirs() -> None:
            theirs.subscribe([topic])
            poll_until([ours] if is_ours_first else [], lambda: bool(their_partitions()))

        if is_ours_first:
            ours.subscribe([topic])
            poll_until([ours], lambda: owned(ours) == [0, 1, 2, 3])
            subscribe_theirs()
        else:
            subscribe_theirs()
            ours.subscribe([topic])
        poll_until([ours], lambda: sorted(owned(ours) + their_partitions()) == [0, 1, 2, 3] and len(owned(ours)) == 2)
        theirs.close()
        poll_until([ours], lambda: owned(ours) == [0, 1, 2, 3])


def test_offsets_are_committed_by_hand_asynchronously_and_automatically(kafka: RealKafka, topic: str) -> None:
    key = TopicPartition(topic, 0)
    completed: list[object] = []
    with consumer_on(kafka, topic, enable_auto_commit=False) as consumer:
        consumer.assign([key])
        assert consumer.committed([key]) == {key: None}
        consumer.commit({key: OffsetAndMetadata(offset=3, metadata="why")})
        assert consumer.committed([key]) == {key: OffsetAndMetadata(offset=3, metadata="why")}
        assert consumer.position(key) == 3
        consumer.commit_async(
            {key: OffsetAndMetadata(offset=5)}, lambda offsets, error: completed.append((offsets, error))
        )
        poll_until([consumer], lambda: bool(completed))
        assert completed == [({key: OffsetAndMetadata(offset=5)}, None)]
    with consumer_on(kafka, topic, auto_commit_interval_ms=50) as consumer:
        consumer.subscribe([topic])
        values: list[bytes | None] = []
        while len(values) < RECORDS - 5:
            values += [record.value for record in consumer.poll(1.0)]
        consumer.poll(0.2)

        def is_committed() -> bool:
            found = consumer.committed([key])[key]
            return found is not None and found.offset == RECORDS // PARTITIONS

        poll_until([consumer], is_committed)


def test_a_member_that_does_not_poll_loses_its_partitions(kafka: RealKafka, topic: str) -> None:
    listener = Calls()
    with consumer_on(kafka, topic, max_poll_interval_ms=500, enable_auto_commit=False) as consumer:
        consumer.subscribe([topic], listener)
        poll_until([consumer], lambda: owned(consumer) == [0, 1, 2, 3])
        wait_until_members_left(kafka, topic)
        with pytest.raises(CommitFailed, match="not part of an active group"):
            consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(offset=1)})
        poll_until([consumer], lambda: len(listener.calls) == 3)
    assert [name for name, _ in listener.calls] == ["assigned", "lost", "assigned", "revoked"]


def test_a_static_member_returns_without_a_rebalance_and_its_copy_fences_it(kafka: RealKafka, topic: str) -> None:
    first = consumer_on(kafka, topic, group_instance_id="i")
    first.subscribe([topic])
    poll_until([first], lambda: owned(first) == [0, 1, 2, 3])
    with consumer_on(kafka, topic, group_instance_id="i") as second:
        second.subscribe([topic])
        poll_until([second], lambda: owned(second) == [0, 1, 2, 3])
        assert second.group_metadata().generation_id == 1
        with pytest.raises(FencedInstanceId):
            poll_until([first, second], lambda: False)
        first.close()


def test_wakeup_ends_a_poll_and_listeners_may_raise_and_call_the_consumer(kafka: RealKafka, topic: str) -> None:
    class Committing(RebalanceListener):
        def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
            consumer.commit({key: OffsetAndMetadata(offset=7) for key in partitions})

        def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
            for key in partitions:
                consumer.seek(key, 9)
            if partitions:
                raise KeyError("thrown by the test")

    consumer = consumer_on(kafka, topic, enable_auto_commit=False)
    consumer.subscribe([topic], Committing())
    with pytest.raises(RebalanceCallbackFailed, match="KeyError: 'thrown by the test'"):
        poll_until([consumer], lambda: False)
    assert [record.offset for record in consumer.poll(60.0)][:1] == [9]
    poll_until([consumer], lambda: not consumer.poll(0.1))
    threading.Timer(0.2, consumer.wakeup).start()
    with pytest.raises(WakeupError):
        consumer.poll(60.0)
    consumer.close()
    with consumer_on(kafka, topic) as reader:
        keys = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        assert [found and found.offset for found in reader.committed(keys).values()] == [7] * PARTITIONS


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_on_an_event_loop_share_the_partitions(modern: RealKafka, protocol: str) -> None:
    topic = make_topic(modern)
    calls: list[str] = []

    class Committing(RebalanceListener):
        async def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
            assert partitions
            await first.commit()
            calls.append("revoked")

        async def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
            await asyncio.sleep(0 * len(partitions))
            calls.append("assigned")

    def consumer() -> AsyncConsumer:
        return AsyncConsumer(
            bootstrap_servers=modern.bootstrap_servers,
            group_id=topic,
            group_protocol=protocol,
            auto_offset_reset="earliest",
            **({"heartbeat_interval_ms": 200} if protocol == "classic" else {}),
        )

    async def run() -> None:
        await first.subscribe([topic], Committing())
        read = 0
        async for _ in first:
            read += 1
            if read == RECORDS:
                break
        async with consumer() as second:
            await second.subscribe(re.compile(topic))
            async with asyncio.timeout(DEADLINE_S):
                while len(first.assignment()) != 2 or len(second.assignment()) != 2:
                    await asyncio.gather(first.poll(0.1), second.poll(0.1))
            committed = await second.committed([TopicPartition(topic, number) for number in range(PARTITIONS)])
            assert [found and found.offset for found in committed.values()] == [RECORDS // PARTITIONS] * PARTITIONS
        await first.close()
        assert calls[:2] == ["assigned", "revoked"]

    first = consumer()
    asyncio.run(run())
