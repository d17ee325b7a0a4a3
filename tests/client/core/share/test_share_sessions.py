"""Share sessions: epochs, added and forgotten partitions, acknowledgements, resets."""

from __future__ import annotations

import pytest

from broker_client.core.share.acknowledgements import Acknowledgements
from broker_client.core.share.share_options import AcquireMode, ShareOptions
from broker_client.core.share.share_sessions import ShareSession
from broker_client.share_groups import AcknowledgeType, TopicIdPartition
from protocol_specs.error_codes import ErrorCode

ID, OTHER_ID = b"i" * 16, b"o" * 16
FIRST, SECOND = TopicIdPartition("t", 0, ID), TopicIdPartition("t", 1, ID)
OPTIONS = ShareOptions()


@pytest.fixture
def session() -> ShareSession:
    return ShareSession("g", "m")


def fetch(session: ShareSession, *partitions: TopicIdPartition) -> tuple[int, list[int], list[tuple[bytes, list[int]]]]:
    """The epoch, the partitions and the forgotten ones of the next request; the broker responds."""
    for one in partitions:
        session.add_partition(one)
    request = session.fetch_request(OPTIONS, only_changes=False)
    assert request is not None
    session.responded(ErrorCode.NONE)
    numbers = [one.partition_index for topic in request.topics for one in topic.partitions]
    return (
        request.share_session_epoch,
        numbers,
        [(one.topic_id, one.partitions) for one in request.forgotten_topics_data],
    )


def accepted() -> Acknowledgements:
    acknowledgements = Acknowledgements()
    acknowledgements.add(7, AcknowledgeType.ACCEPT)
    return acknowledgements


def test_requests_have_changes_alone(session: ShareSession) -> None:
    assert fetch(session, FIRST) == (0, [0], [])
    assert fetch(session, FIRST) == (1, [], [])
    assert fetch(session, FIRST, SECOND) == (2, [1], [])
    assert fetch(session, SECOND) == (3, [], [(ID, [0])])
    recreated = TopicIdPartition("t", 1, OTHER_ID)
    assert fetch(session, recreated) == (4, [1], [(ID, [1])])


@pytest.mark.parametrize(
    ("code", "epoch"),
    [
        (ErrorCode.NONE, 2),
        (ErrorCode.UNKNOWN_SERVER_ERROR, 2),
        (ErrorCode.SHARE_SESSION_NOT_FOUND, 0),
        (ErrorCode.INVALID_SHARE_SESSION_EPOCH, 0),
        (ErrorCode.SHARE_SESSION_LIMIT_REACHED, 0),
    ],
)
def test_some_errors_open_the_session_again_with_all_partitions(
    session: ShareSession, code: ErrorCode, epoch: int
) -> None:
    fetch(session, FIRST)
    session.add_partition(FIRST)
    session.fetch_request(OPTIONS, only_changes=False)
    session.responded(code)
    assert fetch(session, FIRST) == (epoch, [] if epoch else [0], [])


def test_a_lost_connection_opens_the_session_again(session: ShareSession) -> None:
    fetch(session, FIRST)
    session.failed()
    session.add_acknowledgements({FIRST: accepted()})
    assert session.acknowledge_request() is None
    assert fetch(session, FIRST) == (0, [0], [])


def test_the_epoch_after_the_highest_is_one(session: ShareSession) -> None:
    session._epoch = 2**31 - 1
    session.responded(ErrorCode.NONE)
    assert fetch(session) == (1, [], [])


def test_a_fetch_of_changes_requests_no_records_and_is_left_out_without_changes(session: ShareSession) -> None:
    fetch(session, FIRST)
    session.add_partition(FIRST)
    assert session.fetch_request(OPTIONS, only_changes=True) is None
    session.add_partition(FIRST)
    session.add_acknowledgements({FIRST: accepted()})
    options = ShareOptions(acquire_mode=AcquireMode.RECORD_LIMIT)
    request = session.fetch_request(options, only_changes=True)
    assert request is not None
    assert (request.max_wait_ms, request.min_bytes, request.max_bytes, request.max_records) == (0, 0, 0, 0)
    assert (request.share_acquire_mode, request.is_renew_ack) == (1, False)
    [partition] = request.topics[0].partitions
    assert [batch.first_offset for batch in partition.acknowledgement_batches] == [7]


def test_the_last_request_ends_the_session_with_its_acknowledgements(session: ShareSession) -> None:
    fetch(session, FIRST)
    session.close()
    session.add_acknowledgements({FIRST: accepted(), SECOND: accepted()})
    request = session.acknowledge_request()
    assert request is not None
    assert request.share_session_epoch == -1
    assert [one.partition_index for one in request.topics[0].partitions] == [0, 1]
    session.responded(ErrorCode.NONE)
    assert not session.is_new
