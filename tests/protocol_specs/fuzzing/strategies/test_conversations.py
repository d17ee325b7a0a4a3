from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from protocol_specs import releases
from protocol_specs.errors import FrameError, MessageDecodeError
from protocol_specs.framing import FrameReader, decode_request_header, decode_response
from protocol_specs.fuzzing import strategies
from protocol_specs.fuzzing.strategies.conversations import CONVERSATION_RULES
from protocol_specs.registry import request_type, response_type
from protocol_specs.version_range import VersionRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.fuzzing.strategies import Conversation

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
FEW = {key: releases.get("3.7").api_versions[key] for key in (12, 18)}
PRODUCE = {0: VersionRange(3, 3)}
QUICK = settings(max_examples=300, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def frames_of(chunks: Sequence[bytes]) -> tuple[list[bytes], int]:
    """The whole frames of a stream, and how many bytes of an unfinished one remain."""
    reader = FrameReader(limit_bytes=10**7, option="socket.request.max.bytes")
    return reader.receive(b"".join(chunks)), reader.buffered_bytes


def client_notices(conversation: Conversation) -> bool:
    """True if a client that reads the responses sees that something is wrong."""
    awaited = [exchange for exchange in conversation.exchanges if exchange.response is not None]
    try:
        frames, left = frames_of(conversation.responses)
        for exchange, frame in zip(awaited, frames, strict=False):
            cls = response_type(exchange.api_key)
            correlation_id, message = decode_response(cls, exchange.version, frame)
            if correlation_id != exchange.correlation_id:
                return True
            if conversation.rule == "":
                assert message == exchange.response
    except (FrameError, MessageDecodeError):
        return True
    return len(frames) != len(awaited) or left > 0


def broker_notices(conversation: Conversation) -> bool:
    """True if a broker that reads the requests sees that something is wrong."""
    try:
        frames, left = frames_of(conversation.requests)
        for exchange, frame in zip(conversation.exchanges, frames, strict=False):
            header, position = decode_request_header(frame)
            assert header.correlation_id == exchange.correlation_id
            assert header.client_id == exchange.client_id
            request = request_type(header.request_api_key).decode_from(header.request_api_version, frame, position)[0]
            if conversation.rule == "":
                assert request == exchange.request
    except (FrameError, MessageDecodeError):
        return True
    return left > 0


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(strategies.conversations())
def test_a_sound_conversation_is_read_by_both_sides(conversation: Conversation) -> None:
    assert not broker_notices(conversation)
    assert not client_notices(conversation)
    assert sum(conversation.bursts) == len(conversation.exchanges)
    ids = [exchange.correlation_id for exchange in conversation.exchanges]
    assert ids == list(range(len(ids)))


@settings(max_examples=120, deadline=None, suppress_health_check=SLOW)
@given(strategies.broken_conversations())
def test_one_side_sees_what_the_other_breaks(conversation: Conversation) -> None:
    notices = {"request": broker_notices, "response": client_notices}[conversation.broken_side]
    assert notices(conversation) or not conversation.noticed
    if conversation.broken_side == "response":
        assert not broker_notices(conversation)


@settings(max_examples=30, deadline=None, suppress_health_check=SLOW)
@given(strategies.conversations(versions=releases.get("3.7").api_versions, exchanges_max=2))
def test_a_conversation_keeps_to_the_versions_that_are_served(conversation: Conversation) -> None:
    served = releases.get("3.7").api_versions
    assert all(exchange.version in served[exchange.api_key] for exchange in conversation.exchanges)
    assert len(conversation.exchanges) <= 2


@pytest.mark.parametrize("rule", ["two responses are swapped", "a response is missing", "a request ends early"])
def test_a_rule_shrinks_to_as_few_exchanges_as_it_needs(rule: str) -> None:
    found = find(strategies.broken_conversations(versions=FEW, rules=[rule]), lambda _: True, settings=QUICK)
    assert found.rule == rule
    assert len(found.exchanges) == (2 if rule == "two responses are swapped" else 1)
    assert sum(map(len, found.requests)) <= 60


def test_a_conversation_shrinks_to_plain_requests() -> None:
    drawn = strategies.conversations(versions=FEW, exchanges_max=2)
    found = find(drawn, lambda conversation: len(conversation.exchanges) == 2, settings=QUICK)
    assert max(len(exchange.request_frame) for exchange in found.exchanges) <= 28
    assert found.exchanges[0].client_id is None


def test_produce_without_acks_gets_no_response() -> None:
    found = find(
        strategies.conversations(versions=PRODUCE, exchanges_max=1),
        lambda conversation: len(conversation.responses) < len(conversation.requests),
        settings=settings(QUICK, phases=[Phase.generate]),
    )
    assert (found.exchanges[0].request.acks, found.exchanges[0].response) == (0, None)


@pytest.mark.parametrize("rule", CONVERSATION_RULES)
def test_every_rule_can_be_requested(rule: str) -> None:
    conversations = strategies.broken_conversations(versions=FEW, rules=[rule], exchanges_max=2)
    assert find(conversations, lambda _: True, settings=settings(QUICK, phases=[Phase.generate])).rule == rule
