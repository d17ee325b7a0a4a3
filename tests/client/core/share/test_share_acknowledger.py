"""Commits of acknowledgements that brokers refuse, confirm in part, or leave without a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client.errors import ProducerTimeout
from broker_client.share_groups import AcknowledgeType
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import share_acknowledge, share_fetch
from tests.client.core.share.share_room import Member, ShareRoom

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sim_runtime.world import World

EXPLICIT = {"share.acknowledgement.mode": "explicit"}


@pytest.fixture
def member(world: World) -> Iterator[Member]:
    """A member that has read and accepted one record, and has not committed it."""
    room = ShareRoom(world, partitions=1)
    made = room.joined(**EXPLICIT)
    room.produce(1)
    made.read(1, AcknowledgeType.ACCEPT)
    yield made
    room.close()


def refused(code: ErrorCode) -> Callable[[Any], share_acknowledge.ShareAcknowledgeResponse]:
    return lambda _: share_acknowledge.ShareAcknowledgeResponse(error_code=code)


def by_partition(code: ErrorCode) -> Callable[[Any], share_acknowledge.ShareAcknowledgeResponse]:
    """A response with this error of each requested partition."""

    def respond(request: Any) -> share_acknowledge.ShareAcknowledgeResponse:
        topics = [
            share_acknowledge.ShareAcknowledgeTopicResponse(
                topic_id=topic.topic_id,
                partitions=[
                    share_acknowledge.PartitionData(
                        partition_index=one.partition_index,
                        error_code=code,
                        current_leader=share_acknowledge.LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1),
                    )
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return share_acknowledge.ShareAcknowledgeResponse(responses=topics)

    return respond


def measured(member: Member) -> tuple[float, float]:
    """The acknowledgements that were sent, and those that failed."""
    read = member.core.metrics.read()
    return read["acknowledgements-send-total"], read["acknowledgements-error-total"]


def commit(member: Member) -> str:
    [error] = member.run(member.core.commit_sync()).values()
    return "accepted" if error is None else str(error.error_code.name)


@pytest.mark.parametrize(
    ("responses", "outcome", "epochs", "failed"),
    [
        ([], "accepted", [0], 0),
        ([by_partition(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)] * 2, "accepted", [0, 1, 2], 0),
        ([refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)], "accepted", [0, 1], 0),
        ([by_partition(ErrorCode.NOT_LEADER_OR_FOLLOWER)], "NOT_LEADER_OR_FOLLOWER", [0], 1),
        ([by_partition(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)], "UNKNOWN_TOPIC_OR_PARTITION", [0], 1),
        ([by_partition(ErrorCode.INVALID_RECORD_STATE)], "INVALID_RECORD_STATE", [0], 1),
        # As Java, which counts the refusals of partitions, and not those of whole requests.
        ([refused(ErrorCode.GROUP_AUTHORIZATION_FAILED)], "GROUP_AUTHORIZATION_FAILED", [0], 0),
        ([refused(ErrorCode.NONE)], "INVALID_RECORD_STATE", [0], 0),
        ([refused(ErrorCode.INVALID_SHARE_SESSION_EPOCH)], "NOT_LEADER_OR_FOLLOWER", [0], 0),
    ],
)
def test_a_commit_is_repeated_where_that_may_help(
    member: Member, responses: list[Callable[[Any], Any]], outcome: str, epochs: list[int], failed: int
) -> None:
    member.canned["ShareAcknowledge"] = responses
    # The broker did not see the canned requests: it expects the epoch of the first one.
    first = member.requests("ShareFetch")[-1].share_session_epoch + 1
    if len(epochs) > 1:
        member.canned["ShareAcknowledge"] = [*responses, by_partition(ErrorCode.NONE)]
    assert commit(member) == outcome
    assert [one.share_session_epoch - first for one in member.requests("ShareAcknowledge")] == epochs
    assert measured(member) == (1, failed)


def test_reading_continues_in_a_new_session(member: Member) -> None:
    member.canned["ShareAcknowledge"] = [refused(ErrorCode.SHARE_SESSION_NOT_FOUND)]
    assert commit(member) == "NOT_LEADER_OR_FOLLOWER"
    member.room.produce(1, first=1)
    values = {one.value for one in member.read(2, AcknowledgeType.ACCEPT)}
    assert values == {b"0", b"1"}
    assert [one.share_session_epoch for one in member.requests("ShareFetch")].count(0) == 2


def test_a_refused_fetch_fails_the_acknowledgements_on_board_and_is_repeated(member: Member) -> None:
    errors: list[Any] = []
    member.core.set_acknowledgement_commit_callback(lambda _, error: errors.append(error))
    member.canned["ShareFetch"] = [
        lambda _: share_fetch.ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_LIMIT_REACHED)
    ] * 3
    [again] = member.poll(20_000)
    assert (again.offset, again.delivery_count) == (0, 2)
    assert [error.error_code for error in errors] == [ErrorCode.SHARE_SESSION_LIMIT_REACHED]
    assert measured(member)[1] == 1
    assert [one.share_session_epoch for one in member.requests("ShareFetch")].count(0) == 4


def test_a_commit_without_a_response_times_out_and_one_call_at_a_time_is_sent(member: Member) -> None:
    member.canned["ShareAcknowledge"] = [lambda _: None]
    with pytest.raises(ProducerTimeout, match="the acknowledgements of t-0 were not confirmed within 1000 ms"):
        member.run(member.core.commit_sync(1_000))
    assert member.run(member.core.commit_sync()) == {}


def test_retries_end_at_the_deadline_of_the_commit(member: Member) -> None:
    member.canned["ShareAcknowledge"] = [by_partition(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)] * 100
    results: list[Any] = []
    member.core.set_acknowledgement_commit_callback(lambda _, error: results.append(error))
    with pytest.raises(ProducerTimeout):
        member.run(member.core.commit_sync(3_000))
    member.room.world.run_for(ms=2_000)
    member.poll(0)
    assert [error.error_code for error in results] == [ErrorCode.REQUEST_TIMED_OUT]
    assert len(member.requests("ShareAcknowledge")) < 10
    assert measured(member) == (1, 1)


def test_commits_follow_each_other(member: Member) -> None:
    member.run(member.core.commit_async())
    assert member.run(member.core.commit_sync()) == {}
    for number in (1, 2):
        member.room.produce(1, first=number)
        member.read(1, AcknowledgeType.ACCEPT)
        member.run(member.core.commit_async())
    member.run(member.core.close(5_000))
    offsets = [
        batch.first_offset
        for one in member.requests("ShareAcknowledge")
        for topic in one.topics
        for partition in topic.partitions
        for batch in partition.acknowledgement_batches
    ]
    assert offsets == [0, 1, 2]
