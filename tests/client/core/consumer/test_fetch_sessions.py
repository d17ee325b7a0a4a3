"""Fetch sessions (KIP-227): full and incremental requests, forgotten partitions, and sessions that a node has lost."""

from __future__ import annotations

from typing import Final

import pytest

from broker_client.core.consumer.fetch_sessions import FetchSession, FetchTarget
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
TOPIC_ID, OTHER_ID = b"1" * 16, b"2" * 16
SESSION: Final = 77


def target(offset: int, topic_id: bytes = TOPIC_ID) -> FetchTarget:
    return FetchTarget(topic_id=topic_id, offset=offset, leader_epoch=0)


def opened() -> FetchSession:
    """A session in which the node knows the first partition from offset 0."""
    session = FetchSession()
    session.request({FIRST: target(0)})
    session.succeeded(SESSION)
    return session


def test_the_first_request_has_every_partition_and_opens_a_session() -> None:
    session = FetchSession()
    wanted = {FIRST: target(0), SECOND: target(5)}
    request = session.request(wanted)
    assert (request.session_id, request.epoch, request.targets, request.forgotten) == (0, 0, wanted, {})
    assert not session.is_open
    session.succeeded(SESSION)
    assert session.is_open


def test_later_requests_have_the_changes() -> None:
    session = opened()
    request = session.request({FIRST: target(3), SECOND: target(0)})
    assert (request.session_id, request.epoch) == (SESSION, 1)
    assert request.targets == {FIRST: target(3), SECOND: target(0)}
    session.succeeded(SESSION)
    request = session.request({FIRST: target(3)})
    assert (request.epoch, request.targets, request.forgotten) == (2, {}, {SECOND: TOPIC_ID})


def test_a_topic_that_was_created_again_is_forgotten_and_added() -> None:
    request = opened().request({FIRST: target(0, OTHER_ID)})
    assert (request.targets, request.forgotten) == ({FIRST: target(0, OTHER_ID)}, {FIRST: TOPIC_ID})


@pytest.mark.parametrize(
    ("code", "session_id"),
    [(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0), (ErrorCode.INVALID_FETCH_SESSION_EPOCH, SESSION)],
)
def test_a_refused_session_is_replaced_by_a_new_one(code: ErrorCode, session_id: int) -> None:
    session = opened()
    session.request({FIRST: target(1)})
    session.refused(code)
    request = session.request({FIRST: target(1)})
    assert (request.session_id, request.epoch, request.targets) == (session_id, 0, {FIRST: target(1)})


def test_a_lost_response_begins_anew_and_a_node_may_keep_no_session() -> None:
    session = opened()
    session.failed()
    request = session.request({FIRST: target(0)})
    assert (request.session_id, request.epoch, request.targets) == (SESSION, 0, {FIRST: target(0)})
    session.succeeded(0)
    assert not session.is_open
    assert session.request({FIRST: target(0)}).epoch == 0


def test_the_last_request_closes_the_session() -> None:
    request = opened().closing_request()
    assert (request.session_id, request.epoch, request.targets) == (SESSION, -1, {})
