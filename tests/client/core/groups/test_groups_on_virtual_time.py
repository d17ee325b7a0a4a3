"""Members of groups on simulated brokers and virtual time: joins, leaves, crashes, moved coordinators."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from twisted.internet.defer import Deferred

from broker_client.consumer_errors import CommitFailed, RebalanceCallbackFailed, WakeupError
from broker_client.consumer_groups import OffsetAndMetadata, RebalanceListener, SubscriptionPattern
from broker_client.consumer_options import consumer_options
from broker_client.core.consumer.consumer_core import ConsumerCore
from broker_client.core.network.client_core import ClientCore
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.errors import IllegalState
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.faults.grammar import parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence

    from sim_runtime.world import World

PARTITIONS: Final = 6
SETTLE_MS: Final = 60_000
MEMBERS: Final = (
    *({"partition.assignment.strategy": name} for name in ("range", "roundrobin", "sticky", "cooperative-sticky")),
    {"group.protocol": "consumer"},
)
PROTOCOLS: Final = ({}, {"group.protocol": "consumer"})


class Calls(RebalanceListener):
    """Records the callbacks of one member."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[int]]] = []

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.calls.append(("revoked", [key.partition for key in partitions]))

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self.calls.append(("assigned", [key.partition for key in partitions]))

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        self.calls.append(("lost", [key.partition for key in partitions]))


class Member:
    """A consumer on a host of its own that polls for ever; `values` are the records that it read."""

    def __init__(self, room: Room, name: str, **options: Any) -> None:
        given = {
            "bootstrap.servers": room.cluster.bootstrap_servers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "request.timeout.ms": 5_000,
            "fetch.max.wait.ms": 200,
            **({} if "group.protocol" in options else {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000}),
            **options,
        }
        parsed = consumer_options(given)
        self.name = name
        self.host = room.world.network.host(name)
        self.client = ClientCore(parsed.client, self.host, Random(name), by_subscription=True)
        self.core = ConsumerCore(self.client, parsed.fetch, parsed.group)
        self.values: list[bytes | None] = []
        self.errors: list[Exception] = []
        self.is_polling = False
        self.listener = Calls()

    def start(self, *topics: str) -> None:
        """Subscribe and poll until `is_polling` is False."""
        self.is_polling = True
        Deferred.fromCoroutine(self._run(topics or ("t",))).addErrback(
            lambda failure: self.errors.append(failure.value)
        )

    def start_polling(self) -> None:
        """Poll until `is_polling` is False, with the present subscription."""
        self.is_polling = True
        Deferred.fromCoroutine(self._poll()).addErrback(lambda failure: self.errors.append(failure.value))

    async def _run(self, topics: Sequence[str]) -> None:
        await self.core.subscribe(topics, self.listener)
        await self._poll()

    async def _poll(self) -> None:
        while self.is_polling:
            self.values += [record.value for record in await self.core.poll(100)]

    @property
    def owned(self) -> list[int]:
        return sorted(key.partition for key in self.core.assignment)


class Room:
    """Three brokers, a topic `t` of six partitions, and members that a test makes."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.cluster = Cluster(
            reactor=world.reactor,
            streams=world.streams,
            topics=[TopicSpec.parse(f"t:{PARTITIONS}:3"), TopicSpec.parse("u:2:3")],
            config={
                "broker.session.timeout.ms": "2000",
                "broker.heartbeat.interval.ms": "500",
                "group.initial.rebalance.delay.ms": "100",
                "offsets.topic.num.partitions": "2",
            },
            host=lambda broker: f"b{broker}",
            broker_reactor=lambda broker: world.network.host(f"b{broker}"),
        )
        self.cluster.start()
        self.producer = ProducerCore(
            ProducerConfig(bootstrap_servers=self.cluster.bootstrap_servers),
            world.network.host("producer"),
            world.streams.stream("producer"),
        )
        self.members: list[Member] = []

    def member(self, **options: Any) -> Member:
        made = Member(self, f"member-{len(self.members)}", **options)
        self.members.append(made)
        return made

    def produce(self, count: int, first: int = 0) -> None:
        futures = [
            self.producer.send("t", b"%d" % number, partition=number % PARTITIONS)
            for number in range(first, first + count)
        ]
        for future in futures:
            self.world.run_until(future.as_deferred())

    def settle(self, done: Callable[[], bool], *, limit_ms: int = SETTLE_MS) -> None:
        for _ in range(limit_ms // 100):
            if done():
                return
            self.world.run_for(ms=100)
        raise AssertionError(f"not settled: {[(one.name, one.owned, one.errors) for one in self.members]}")

    def is_shared_by(self, *members: Member) -> bool:
        """True if every partition is owned by exactly one of the members, and each has some."""
        numbers = sorted(number for one in members for number in one.owned)
        return all(one.owned for one in members) and numbers == list(range(PARTITIONS))

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.world.run_until(Deferred.fromCoroutine(coroutine))

    def coordinator(self) -> int:
        found = self.members[0].core._group._finder.node  # type: ignore[union-attr]
        assert found is not None
        return 2**31 - 1 - int(found.id)


@pytest.fixture
def room(world: World) -> Iterator[Room]:
    made = Room(world)
    yield made
    for one in made.members:
        one.is_polling = False
    world.run_for(ms=500)
    for one in made.members:
        one.client.close()
    world.run_until(made.producer.close(0))
    world.run_until(made.cluster.close())


@pytest.mark.parametrize("options", MEMBERS, ids=lambda options: str(*options.values()))
def test_partitions_are_shared_again_after_joins_leaves_and_crashes(room: Room, options: dict[str, str]) -> None:
    first, second, third = room.member(**options), room.member(**options), room.member(**options)
    room.produce(60)
    first.start()
    room.settle(lambda: room.is_shared_by(first))
    second.start()
    third.start()
    room.settle(lambda: room.is_shared_by(first, second, third))
    assert {len(one.owned) for one in (first, second, third)} == {2}
    second.is_polling = False
    room.world.run_for(ms=200)
    room.run(second.core.close(5_000))
    room.settle(lambda: room.is_shared_by(first, third))
    third.is_polling = False  # as a crash: no LeaveGroup
    third.client.close()
    room.world.run_for(ms=200)
    room.settle(lambda: first.owned == list(range(PARTITIONS)))
    read = sorted(int(value or b"-1") for one in (first, second, third) for value in one.values)
    assert sorted(set(read)) == list(range(60))
    assert not first.errors


@pytest.mark.parametrize("options", PROTOCOLS, ids=["classic", "consumer"])
def test_a_group_continues_when_its_coordinator_is_killed(room: Room, options: dict[str, str]) -> None:
    first, second = room.member(**options), room.member(**options)
    for one in (first, second):
        one.start()
    room.settle(lambda: room.is_shared_by(first, second))
    room.produce(30)
    room.settle(lambda: len(first.values) + len(second.values) == 30)
    room.run(first.core.commit())
    room.cluster.kill(room.coordinator())
    room.produce(30, first=30)
    room.settle(lambda: {*first.values, *second.values} == {b"%d" % number for number in range(60)})
    keys = list(first.core.assignment)
    committed = room.run(first.core.committed(keys))
    assert all(committed[key].offset >= 5 for key in keys)
    assert first.errors == second.errors == []


def test_a_cooperative_member_keeps_reading_and_gives_up_only_what_moves(room: Room) -> None:
    options = {"partition.assignment.strategy": "cooperative-sticky"}
    first, second = room.member(**options), room.member(**options)
    first.start()
    room.settle(lambda: room.is_shared_by(first))
    second.start()
    room.settle(lambda: room.is_shared_by(first, second))
    revoked = [partitions for name, partitions in first.listener.calls if name == "revoked"]
    assert revoked == [second.owned]


def test_an_assignment_follows_new_partitions_and_changed_subscriptions(room: Room) -> None:
    member = room.member()
    member.start()
    room.settle(lambda: room.is_shared_by(member))
    room.run(member.core.subscribe(["u"], member.listener))
    room.settle(lambda: member.core.assignment == (TopicPartition("u", 0), TopicPartition("u", 1)))
    assert member.core.subscription == ("u",)
    assert member.listener.calls[-2] == ("revoked", list(range(PARTITIONS)))


def test_positions_are_committed_before_partitions_move_and_on_close(room: Room) -> None:
    first, second = room.member(), room.member()
    room.produce(60)
    first.start()
    room.settle(lambda: len(first.values) == 60)
    second.start()
    room.settle(lambda: room.is_shared_by(first, second))
    room.world.run_for(ms=2_000)
    assert second.values == []
    room.produce(6, first=60)
    room.settle(lambda: len(first.values) + len(second.values) == 66)
    for one in (first, second):
        one.is_polling = False
    room.world.run_for(ms=300)
    for one in (first, second):
        room.run(one.core.close(5_000))
    keys = [TopicPartition("t", number) for number in range(PARTITIONS)]
    third = room.member()
    committed = room.run(third.core.committed(keys))
    assert [committed[key].offset for key in keys] == [11] * PARTITIONS


@pytest.mark.parametrize("options", PROTOCOLS, ids=["classic", "consumer"])
def test_automatic_commits_are_shown_to_an_observer(room: Room, options: dict[str, str]) -> None:
    member = room.member(**{"auto.commit.interval.ms": 1_000}, **options)
    seen: list[tuple[set[int], list[BaseException | None]]] = []

    def observe(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Callable[[BaseException | None], object]:
        ends: list[BaseException | None] = []
        seen.append(({one.offset for one in offsets.values()}, ends))
        return ends.append

    member.core.observe_automatic_commits(observe)
    room.produce(12)
    member.start()
    room.settle(lambda: len(member.values) == 12)
    room.world.run_for(ms=3_000)
    assert len(seen) >= 3
    assert seen[-1] == ({2}, [None])
    member.is_polling = False
    room.world.run_for(ms=200)
    count = len(seen)
    room.run(member.core.commit())
    assert len(seen) == count
    room.run(member.core.close(5_000))
    assert seen[count:] == [({2}, [None])]


@pytest.mark.parametrize("options", PROTOCOLS)
def test_a_close_that_is_given_up_while_it_waits_ends_at_once(room: Room, options: dict[str, str]) -> None:
    room.produce(6)
    member = room.member(**options)
    member.start()
    room.settle(lambda: len(member.values) == 6)
    member.is_polling = False
    closing = member.core.close(5_000)
    assert isinstance(closing.send(None), Deferred)
    closing.close()


def test_a_failed_automatic_commit_is_shown_with_its_error(room: Room) -> None:
    member = room.member(**{"auto.commit.interval.ms": 1_000})
    ends: list[BaseException | None] = []
    room.produce(12)
    member.start()
    room.settle(lambda: len(member.values) == 12)
    member.core.observe_automatic_commits(lambda _: ends.append)
    refusal = {"select": {"api": "OffsetCommit"}, "act": {"error": "OFFSET_METADATA_TOO_LARGE"}}
    room.cluster.faults.add(parse_rule(refusal))
    room.world.run_for(ms=1_500)
    assert ["OFFSET_METADATA_TOO_LARGE" in str(error) for error in ends] == [True]


def test_a_member_that_does_not_poll_leaves_and_its_commit_fails(room: Room) -> None:
    slow, other = (room.member(**{"max.poll.interval.ms": 3_000, "enable.auto.commit": False}) for _ in range(2))
    slow.start()
    room.settle(lambda: room.is_shared_by(slow))
    slow.is_polling = False
    other.start()
    room.settle(lambda: room.is_shared_by(other))
    with pytest.raises(CommitFailed):
        room.run(slow.core.commit({TopicPartition("t", 0): OffsetAndMetadata(offset=1)}))
    slow.start()
    room.settle(lambda: room.is_shared_by(slow, other))
    assert ("lost", list(range(PARTITIONS))) in slow.listener.calls


def test_a_member_of_the_consumer_protocol_that_does_not_poll_returns_with_the_next_poll(room: Room) -> None:
    slow, other = (room.member(**{"group.protocol": "consumer", "max.poll.interval.ms": 3_000}) for _ in range(2))
    slow.start()
    room.settle(lambda: room.is_shared_by(slow))
    slow.is_polling = False
    other.start()
    room.settle(lambda: room.is_shared_by(other))
    slow.start()
    room.settle(lambda: room.is_shared_by(slow, other))
    assert ("lost", list(range(PARTITIONS))) in slow.listener.calls
    assert not slow.errors


def test_a_pattern_of_the_broker_and_of_the_client_find_the_same_topics(room: Room) -> None:
    by_broker, by_client = (room.member(**{"group.protocol": "consumer", "group.id": name}) for name in "ab")
    room.run(by_broker.core.subscribe_broker_pattern(SubscriptionPattern("[tu]")))
    room.run(by_client.core.subscribe_pattern(re.compile("[tu]")))
    for one in (by_broker, by_client):
        one.start_polling()
    room.settle(lambda: len(by_broker.core.assignment) == len(by_client.core.assignment) == PARTITIONS + 2)
    assert by_client.core.subscription == ("t", "u")


def test_a_static_member_returns_to_its_partitions_without_a_rebalance(room: Room) -> None:
    first, static = room.member(), room.member(**{"group.instance.id": "i"})
    first.start()
    static.start()
    room.settle(lambda: room.is_shared_by(first, static))
    owned, calls = static.owned, len(first.listener.calls)
    static.is_polling = False
    room.world.run_for(ms=200)
    room.run(static.core.close(1_000))
    again = room.member(**{"group.instance.id": "i"})
    again.start()
    room.settle(lambda: again.owned == owned)
    assert len(first.listener.calls) == calls


def test_a_listener_that_raises_is_reported_once_and_the_member_stays(room: Room) -> None:
    class Raising(Calls):
        def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
            super().on_partitions_assigned(partitions)
            if partitions:
                raise KeyError("by the test")

    member = room.member()
    member.listener = Raising()
    member.start()
    room.settle(lambda: bool(member.errors))
    assert isinstance(member.errors[0], RebalanceCallbackFailed)
    member.start()
    room.settle(lambda: room.is_shared_by(member))


def test_a_wakeup_ends_the_waiting_poll_or_the_next_one(room: Room) -> None:
    member = room.member()
    member.start()
    room.settle(lambda: room.is_shared_by(member))
    member.is_polling = False
    room.world.run_for(ms=300)
    waiting = Deferred.fromCoroutine(member.core.poll(60_000))
    member.core.wakeup()
    with pytest.raises(WakeupError):
        room.world.run_until(waiting)
    member.core.wakeup()
    with pytest.raises(WakeupError):
        room.run(member.core.poll(1_000))
    room.run(member.core.poll(100))


def test_ways_to_choose_partitions_exclude_each_other(room: Room) -> None:
    member = room.member()
    room.run(member.core.subscribe(["t"]))
    with pytest.raises(IllegalState, match="exclude each other: unsubscribe first"):
        member.core.assign([TopicPartition("t", 0)])
    room.run(member.core.unsubscribe())
    member.core.assign([TopicPartition("t", 0)])
    with pytest.raises(IllegalState, match="exclude each other: unsubscribe first"):
        room.run(member.core.subscribe(["t"]))
    with pytest.raises(IllegalState, match="partitions were assigned by hand"):
        member.core.enforce_rebalance()


def test_a_member_without_coordinator_waits_when_its_poll_interval_ends(room: Room) -> None:
    member = room.member(**{"group.protocol": "consumer", "max.poll.interval.ms": 30_000})
    member.start()
    room.settle(lambda: room.is_shared_by(member))
    member.is_polling = False
    room.world.network.isolate(member.host.name)
    room.world.run_for(ms=90_000)
    room.world.network.rejoin(member.host.name)
    member.start_polling()
    room.settle(lambda: room.is_shared_by(member))
    assert member.errors == []
