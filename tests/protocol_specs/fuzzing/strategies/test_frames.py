from __future__ import annotations

import struct

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from protocol_specs import releases
from protocol_specs.api_key import ApiKey
from protocol_specs.errors import FrameError, MessageDecodeError, UnknownApi
from protocol_specs.framing import FrameReader, decode_request_header
from protocol_specs.fuzzing import strategies
from protocol_specs.fuzzing.strategies.frames import HEADER_RULES
from protocol_specs.registry import request_type

LIMIT_BYTES = 100_000
SERVED = releases.get("4.3.1").api_versions


def closes(data: bytes) -> bool:
    """True if a broker closes the connection that these bytes come on."""
    try:
        (frame,) = FrameReader(limit_bytes=LIMIT_BYTES, option="socket.request.max.bytes").receive(data)
        header, position = decode_request_header(frame)
        if header.request_api_version not in SERVED[header.request_api_key]:
            return header.request_api_key != ApiKey.API_VERSIONS
        request_type(header.request_api_key).decode_from(header.request_api_version, frame, position)
    except (FrameError, MessageDecodeError, UnknownApi):
        return True
    return False


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.frames(versions=SERVED, limit_bytes=LIMIT_BYTES))
def test_a_broker_closes_the_connection_when_predicted(frame: strategies.Frame) -> None:
    assert closes(frame.data) is frame.refused


@settings(max_examples=100, deadline=None)
@given(strategies.request_frames())
def test_a_valid_frame_has_its_size_and_breaks_no_rule(frame: strategies.Frame) -> None:
    assert struct.unpack_from(">i", frame.data) == (len(frame.data) - 4,)
    assert (frame.rule, frame.refused) == ("", False)


@pytest.mark.parametrize("rule", [*HEADER_RULES, "the bytes end early", "bytes follow after the end"])
def test_every_rule_of_size_header_and_body_can_be_requested(rule: str) -> None:
    drawn = find(strategies.broken_frames(rules=[rule]), lambda _: True, settings=settings(phases=[Phase.generate]))
    assert drawn.rule == rule


def test_rules_are_of_the_body_and_of_what_stands_before_it() -> None:
    either = strategies.broken_frames()
    for condition in (lambda frame: frame.rule in HEADER_RULES, lambda frame: frame.rule not in HEADER_RULES):
        assert condition(find(either, condition, settings=settings(phases=[Phase.generate])))
