"""Share consumers on simulated brokers and virtual time: delivery, acknowledgement modes, sessions, lost brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from broker_client.consumer_errors import RecordDeserializationError, WakeupError
from broker_client.errors import BrokerError, ConnectionFailed, IllegalState, UnsupportedVersion
from broker_client.records import TopicPartition
from broker_client.share_groups import AcknowledgeType
from protocol_specs.error_codes import ErrorCode
from tests.client.core.share.share_room import ShareRoom

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_client.share_groups import TopicIdPartition
    from sim_runtime.world import World
    from tests.client.core.share.share_room import Member

EXPLICIT = {"share.acknowledgement.mode": "explicit"}
ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType


@pytest.fixture
def room(world: World) -> Iterator[ShareRoom]:
    made = ShareRoom(world)
    yield made
    made.close()


@pytest.fixture
def narrow(world: World) -> Iterator[ShareRoom]:
    """The topic has one partition, which all members share."""
    made = ShareRoom(world, partitions=1)
    yield made
    made.close()


def values_of(records: list[Any]) -> list[int]:
    return sorted(int(record.value) for record in records)


def test_a_poll_accepts_the_records_of_the_poll_before(room: ShareRoom) -> None:
    member = room.joined()
    room.produce(9)
    found = member.read(9)
    assert values_of(found) == list(range(9))
    assert {record.delivery_count for record in found} == {1}
    assert member.poll(300) == []
    member.run(member.core.close(5_000))
    other = room.joined()
    assert other.poll(6_000) == []


def test_records_that_are_not_accepted_return_to_the_group_on_close(narrow: ShareRoom) -> None:
    member = narrow.joined()
    narrow.produce(3)
    assert len(member.read(3)) == 3
    member.run(member.core.close(5_000))
    other = narrow.member().subscribe()
    assert [(record.offset, record.delivery_count) for record in other.read(3)] == [(0, 2), (1, 2), (2, 2)]


def test_members_share_the_records_of_one_partition(narrow: ShareRoom) -> None:
    first, second = narrow.joined(), narrow.joined()
    for number in range(0, 30, 3):
        narrow.produce(3, first=number)
    found: dict[str, list[Any]] = {"first": [], "second": []}
    for _ in range(40):
        found["first"] += first.poll(100)
        found["second"] += second.poll(100)
    assert values_of(found["first"] + found["second"]) == list(range(30))


def test_each_record_has_the_outcome_that_was_chosen(narrow: ShareRoom) -> None:
    member = narrow.joined(**EXPLICIT)
    narrow.produce(4)
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


def test_explicit_mode_needs_an_acknowledgement_for_every_record(narrow: ShareRoom) -> None:
    member = narrow.joined(**EXPLICIT)
    narrow.produce(2)
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


def test_calls_that_the_state_does_not_allow_are_refused_as_in_java(narrow: ShareRoom) -> None:
    member = narrow.member()
    with pytest.raises(IllegalState, match=r"^Consumer is not subscribed to any topics\.$"):
        member.poll()
    with pytest.raises(IllegalState, match="cannot contain null or empty topic"):
        member.subscribe(" ")
    member.subscribe()
    narrow.produce(1)
    [record] = member.read(1)
    with pytest.raises(IllegalState, match=r"^Implicit acknowledgement of delivery is being used\.$"):
        member.core.acknowledge(record)


def number_of(data: bytes) -> int:
    """A deserializer for which 3 and 6 are poison."""
    number = int(data)
    if number in (3, 6):
        raise ValueError(number)
    return number


def acknowledged_by(member: Member, kind: str) -> list[list[tuple[int, int, list[int]]]]:
    """The acknowledgements of each request of a kind that has some."""
    found = [
        [
            (batch.first_offset, batch.last_offset, batch.acknowledge_types)
            for topic in request.topics
            for partition in topic.partitions
            for batch in partition.acknowledgement_batches
        ]
        for request in member.requests(kind)
    ]
    return [one for one in found if one]


def fail(member: Member) -> RecordDeserializationError:
    with pytest.raises(RecordDeserializationError) as raised:
        member.poll()
    return raised.value


def test_a_record_that_cannot_be_deserialized_is_raised_by_a_poll_of_its_own_and_released(narrow: ShareRoom) -> None:
    member = narrow.joined(**{"value.deserializer": number_of})
    narrow.produce(8)
    assert [record.value for record in member.read(3)] == [0, 1, 2]
    assert str(fail(member)).endswith("t-0 at offset 3: ValueError: 3; it was released")
    assert [record.value for record in member.poll()] == [4, 5]
    assert fail(member).offset == 6
    assert [record.value for record in member.poll()] == [7]
    again = fail(member)
    assert (again.offset, again.record.delivery_count) == (3, 2)
    # As Java: a poll that raises sends no acknowledgements, and those of the poll before are lost.
    assert acknowledged_by(member, "ShareAcknowledge") == [[(3, 3, [RELEASE])], [(6, 6, [RELEASE])]]
    assert acknowledged_by(member, "ShareFetch") == [[(7, 7, [ACCEPT])]]


def test_the_outcome_of_a_record_that_cannot_be_deserialized_may_be_chosen(narrow: ShareRoom) -> None:
    member = narrow.joined(**EXPLICIT, **{"value.deserializer": number_of})
    narrow.produce(1, first=3)
    with pytest.raises(IllegalState):
        member.core.acknowledge_offset("t", 0, 0, REJECT)
    failed = fail(member)
    member.core.acknowledge_offset(failed.partition.topic, failed.partition.partition, failed.offset, REJECT)
    member.run(member.core.commit_sync())
    assert acknowledged_by(member, "ShareAcknowledge") == [[(0, 0, [REJECT])]]
    assert member.poll(6_000) == []


def test_a_record_is_delivered_again_when_its_lock_has_expired(narrow: ShareRoom) -> None:
    slow = narrow.joined(**EXPLICIT)
    narrow.produce(1)
    [record] = slow.read(1)
    other = narrow.joined(**EXPLICIT)
    assert slow.core.acquisition_lock_timeout_ms == 5_000
    [again] = other.poll(10_000)
    assert (again.offset, again.delivery_count) == (record.offset, 2)
    slow.core.acknowledge(record)
    [error] = slow.run(slow.core.commit_sync()).values()
    assert isinstance(error, BrokerError)
    assert error.error_code is ErrorCode.INVALID_RECORD_STATE


def test_a_renewed_lock_keeps_the_record(narrow: ShareRoom) -> None:
    slow = narrow.joined(**EXPLICIT)
    narrow.produce(2)
    record, done = slow.read(2)
    other = narrow.joined(**EXPLICIT)
    slow.core.acknowledge(done)
    for _ in range(4):
        narrow.world.run_for(ms=3_000)
        slow.core.acknowledge(record, RENEW)
        [again] = slow.poll()
        assert again == record
    assert other.poll(300) == []
    slow.core.acknowledge(record)
    assert slow.run(slow.core.commit_sync()) != {}
    assert other.poll(10_000) == []
    renewals = [one for one in slow.requests("ShareFetch") if one.is_renew_ack]
    assert [(one.max_wait_ms, one.max_bytes, one.max_records) for one in renewals] == [(0, 0, 0)] * 4


def test_the_callback_receives_the_results_by_partition(narrow: ShareRoom) -> None:
    member = narrow.joined()
    results: list[tuple[str, list[int], Any]] = []

    def completed(offsets: dict[TopicIdPartition, frozenset[int]], error: Any) -> None:
        for partition, found in offsets.items():
            results.append((str(partition), sorted(found), error))
        with pytest.raises(IllegalState, match="not accessible from user-defined acknowledgement commit callback"):
            member.core.acknowledge(record)
        raise KeyError("by the test")

    member.core.set_acknowledgement_commit_callback(completed)
    narrow.produce(3)
    record, *_ = member.read(3)
    member.run(member.core.commit_async())
    assert results == []
    narrow.world.run_for(ms=500)
    member.poll(100)
    assert results == [("t-0", [0, 1, 2], None)]
    member.core.set_acknowledgement_commit_callback(None)
    narrow.produce(3)
    member.read(3)
    member.poll(300)
    member.run(member.core.close(1_000))
    assert len(results) == 1


def test_a_session_counts_its_epochs_on_each_node_and_is_closed_with_the_last_acknowledgements(
    room: ShareRoom,
) -> None:
    member = room.joined(**EXPLICIT)
    room.produce(30)
    member.read(30, REJECT)
    member.run(member.core.close(5_000))
    by_node: dict[int | None, list[int]] = {}
    for node_id, request in member.sent:
        if type(request).NAME in ("ShareFetch", "ShareAcknowledge"):
            by_node.setdefault(node_id, []).append(request.share_session_epoch)
    assert len(by_node) == 3
    for epochs in by_node.values():
        assert epochs == [*range(len(epochs) - 1), -1]
    last = [one for one in member.requests("ShareAcknowledge") if one.share_session_epoch == -1]
    assert sum(len(one.topics) for one in last) >= 1
    assert member.requests("ShareGroupHeartbeat")[-1].member_epoch == -1


def test_a_lost_session_is_opened_again_and_its_acknowledgements_fail(narrow: ShareRoom) -> None:
    member = narrow.joined(**EXPLICIT)
    narrow.produce(1)
    [record] = member.read(1)
    leader = narrow.cluster.leader_of("t", 0)
    narrow.cluster.kill(leader)
    narrow.world.run_for(ms=8_000)
    member.core.acknowledge(record)
    [error] = member.run(member.core.commit_sync()).values()
    assert isinstance(error, ConnectionFailed)
    [again] = member.poll(20_000)
    assert again.offset == record.offset
    assert narrow.cluster.leader_of("t", 0) != leader


def test_reading_continues_when_the_coordinator_is_killed(room: ShareRoom) -> None:
    member = room.joined()
    coordinator = room.cluster.leader_of("__consumer_offsets", 0)
    room.cluster.kill(coordinator)
    room.produce(9)
    assert values_of(member.read(9))[-1] == 8
    room.world.run_for(ms=8_000)
    room.produce(9, first=9)
    assert {*range(9, 18)} <= {*values_of(member.read(9))}


def test_a_member_that_does_not_poll_leaves_and_returns_with_the_next_poll(room: ShareRoom) -> None:
    member = room.joined(**{"max.poll.interval.ms": 3_000})
    room.world.run_for(ms=4_000)
    assert member.core.assignment == ()
    assert member.requests("ShareGroupHeartbeat")[-1].member_epoch == -1
    room.produce(3)
    assert len(member.read(3)) == 3


def test_a_removed_member_joins_again_by_itself(room: ShareRoom) -> None:
    member = room.joined()
    room.world.network.isolate("member-0")
    room.world.run_for(ms=8_000)
    room.world.network.rejoin("member-0")
    room.produce(3)
    assert len(member.read(3)) >= 3
    assert [one.member_epoch for one in member.requests("ShareGroupHeartbeat")].count(0) == 2


def test_the_subscription_decides_the_assignment(world: World) -> None:
    room = ShareRoom(world, topics=("u:1:3",))
    member = room.joined()
    member.run(member.core.subscribe(["u"]))
    room.settle(lambda: not member.poll(100) and member.core.assignment == (TopicPartition("u", 0),))
    assert member.core.subscription == ("u",)
    member.run(member.core.unsubscribe())
    assert member.core.assignment == member.core.subscription == ()
    room.close()


def test_a_record_limit_acquires_from_one_broker_at_a_time(room: ShareRoom) -> None:
    member = room.joined(**{**EXPLICIT, "share.acquire.mode": "record_limit", "max.poll.records": 2})
    room.produce(12)
    assert values_of(member.read(12, ACCEPT)) == list(range(12))
    fetches = member.requests("ShareFetch")
    assert {(one.max_records, one.batch_size) for one in fetches if one.max_bytes} == {(2, 2)}
    assert all(one.share_acquire_mode == 1 for one in fetches)


def test_a_wakeup_ends_the_waiting_call_or_the_next_one(room: ShareRoom) -> None:
    member = room.joined()
    waiting = Deferred.fromCoroutine(member.core.poll(60_000))
    member.core.wakeup()
    with pytest.raises(WakeupError):
        room.world.run_until(waiting)
    member.core.wakeup()
    with pytest.raises(WakeupError):
        member.poll()
    room.produce(3)
    assert len(member.read(3)) == 3


@pytest.mark.parametrize("options", [{}, EXPLICIT], ids=["implicit", "explicit"])
def test_a_cancelled_poll_loses_no_records(narrow: ShareRoom, options: dict[str, str]) -> None:
    member = narrow.joined(**options)
    waiting = Deferred.fromCoroutine(member.core.poll(60_000))
    waiting.addErrback(lambda failure: failure.trap(CancelledError))
    waiting.cancel()
    member.core.poll_was_cancelled()
    narrow.produce(2)
    found = member.read(2)
    member.core.poll_was_cancelled()  # after it had its records, before the application received them
    assert member.poll() == found
    if options:
        for record in found:
            member.core.acknowledge(record)
    assert member.poll(6_000) == []


def test_brokers_without_renewals_and_record_limits_are_reported(narrow: ShareRoom) -> None:
    member = narrow.joined(**EXPLICIT)
    member.highest_versions = {"ShareFetch": 1, "ShareAcknowledge": 1}
    narrow.produce(1)
    [record] = member.read(1)
    member.core.acknowledge(record, RENEW)
    [error] = member.run(member.core.commit_sync()).values()
    assert isinstance(error, UnsupportedVersion)
    limited = narrow.member(**{"share.acquire.mode": "record_limit"}).subscribe()
    limited.highest_versions = {"ShareFetch": 1}
    with pytest.raises(UnsupportedVersion, match="batch_optimized alone"):
        limited.read(1)


def test_a_renewal_that_travels_with_a_fetch_is_refused_by_an_older_broker(narrow: ShareRoom) -> None:
    member = narrow.joined(**EXPLICIT)
    member.highest_versions = {"ShareFetch": 1}
    narrow.produce(1)
    [record] = member.read(1)
    member.core.acknowledge(record, RENEW)
    with pytest.raises(UnsupportedVersion, match="cannot renew acquisition locks"):
        member.poll(5_000)
    member.highest_versions = {}
    [again] = member.read(1)
    assert (again.offset, again.delivery_count) == (0, 2)
