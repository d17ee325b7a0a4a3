"""Share consumers on simulated brokers and virtual time: delivery, acknowledgement modes, sessions, lost brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_client.consumer_errors import WakeupError
from broker_client.errors import IllegalState
from broker_client.records import TopicPartition
from broker_client.share_groups import AcknowledgeType
from tests.client.core.share.share_room import ShareRoom

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_client.share_groups import TopicIdPartition
    from sim_runtime.world import World

EXPLICIT = {"share.acknowledgement.mode": "explicit"}
ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType


@pytest.fixture
def room(world: World) -> Iterator[ShareRoom]:
    made = ShareRoom(world)
    yield made
    made.close()


def values_of(records: list[Any]) -> list[int]:
    return sorted(int(record.value) for record in records)


def test_a_poll_accepts_the_records_of_the_poll_before(room: ShareRoom) -> None:
    member = room.ready()
    room.produce(9)
    found = member.read(9)
    assert values_of(found) == list(range(9))
    assert {record.delivery_count for record in found} == {1}
    assert member.poll(300) == []
    member.run(member.core.close(5_000))
    other = room.ready()
    assert other.poll(6_000) == []


def test_records_that_are_not_accepted_return_to_the_group_on_close(room: ShareRoom) -> None:
    member = room.ready()
    room.produce(3, partitions=1)
    assert len(member.read(3)) == 3
    member.run(member.core.close(5_000))
    other = room.member().subscribe()
    assert [(record.offset, record.delivery_count) for record in other.read(3)] == [(0, 2), (1, 2), (2, 2)]


def test_each_record_has_the_outcome_that_was_chosen(room: ShareRoom) -> None:
    member = room.ready(**EXPLICIT)
    room.produce(4, partitions=1)
    records = member.read(4)
    for record, kind in zip(records, (ACCEPT, RELEASE, REJECT, RELEASE), strict=True):
        member.core.acknowledge(record, kind)
    member.core.acknowledge(records[3], ACCEPT)  # the last choice counts
    committed = member.run(member.core.commit_sync())
    assert [(str(key), error) for key, error in committed.items()] == [("t-0", None)]
    assert [(record.offset, record.delivery_count) for record in member.poll()] == [(1, 2)]
    [acknowledged] = member.requests("ShareAcknowledge")
    [batch] = acknowledged.topics[0].partitions[0].acknowledgement_batches
    assert (batch.first_offset, batch.last_offset, batch.acknowledge_types) == (0, 3, [1, 2, 3, 1])


def test_explicit_mode_needs_an_acknowledgement_for_every_record(room: ShareRoom) -> None:
    member = room.ready(**EXPLICIT)
    room.produce(2, partitions=1)
    first, second = member.read(2)
    member.core.acknowledge(first)
    with pytest.raises(IllegalState, match=r"^All records must be acknowledged in explicit acknowledgement mode\.$"):
        member.poll()
    member.core.acknowledge(second)
    assert member.poll(300) == []
    for stale in (first, second._replace(partition=2), second._replace(topic="u")):
        with pytest.raises(IllegalState, match=r"^The record cannot be acknowledged\.$"):
            member.core.acknowledge(stale)
    with pytest.raises(IllegalState, match=r"^The record cannot be acknowledged\.$"):
        member.core.acknowledge_offset("t", 0, 0, ACCEPT)


def test_calls_that_the_state_does_not_allow_are_refused_as_in_java(room: ShareRoom) -> None:
    member = room.member()
    with pytest.raises(IllegalState, match=r"^Consumer is not subscribed to any topics\.$"):
        member.poll()
    with pytest.raises(IllegalState, match="cannot contain null or empty topic"):
        member.subscribe(" ")
    room.produce(1, partitions=1)
    member = room.ready()
    room.produce(1, partitions=1)
    [record] = member.read(1)
    with pytest.raises(IllegalState, match=r"^Implicit acknowledgement of delivery is being used\.$"):
        member.core.acknowledge(record)


def test_the_callback_receives_the_results_by_partition(room: ShareRoom) -> None:
    member = room.ready()
    results: list[tuple[str, list[int], Any]] = []

    def completed(offsets: dict[TopicIdPartition, frozenset[int]], error: Any) -> None:
        for partition, found in offsets.items():
            results.append((str(partition), sorted(found), error))
        with pytest.raises(IllegalState, match="not accessible from user-defined acknowledgement commit callback"):
            member.core.acknowledge(record)
        raise KeyError("by the test")

    member.core.set_acknowledgement_commit_callback(completed)
    room.produce(3, partitions=1)
    record, *_ = member.read(3)
    member.run(member.core.commit_async())
    assert results == []
    room.world.run_for(ms=500)
    member.poll(100)
    assert results == [("t-0", [0, 1, 2], None)]
    member.core.set_acknowledgement_commit_callback(None)
    room.produce(3, partitions=1)
    member.read(3)
    member.poll(300)
    member.run(member.core.close(1_000))
    assert len(results) == 1


def test_a_member_that_does_not_poll_leaves_and_returns_with_the_next_poll(room: ShareRoom) -> None:
    member = room.ready(**{"max.poll.interval.ms": 3_000})
    room.world.run_for(ms=4_000)
    assert member.core.assignment == ()
    assert member.requests("ShareGroupHeartbeat")[-1].member_epoch == -1
    room.produce(3)
    assert len(member.read(3)) == 3


def test_the_subscription_decides_the_assignment(world: World) -> None:
    room = ShareRoom(world, topics=("t:3:3", "u:1:3"))
    member = room.ready()
    member.run(member.core.subscribe(["u"]))
    room.settle(lambda: not member.poll(100) and member.core.assignment == (TopicPartition("u", 0),))
    assert member.core.subscription == ("u",)
    member.run(member.core.unsubscribe())
    assert member.core.assignment == member.core.subscription == ()
    room.close()


def test_a_wakeup_ends_the_waiting_call_or_the_next_one(room: ShareRoom) -> None:
    member = room.ready()
    waiting = Deferred.fromCoroutine(member.core.poll(60_000))
    member.core.wakeup()
    with pytest.raises(WakeupError):
        room.world.run_until(waiting)
    member.core.wakeup()
    with pytest.raises(WakeupError):
        member.poll()
    room.produce(3)
    assert len(member.read(3)) == 3
