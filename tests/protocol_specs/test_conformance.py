"""Bytes that a broker accepts and no correct client sends: found at their place, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol_specs.codec.annotate import annotate
from protocol_specs.conformance import Rule, deviations, request_deviations, response_deviations
from protocol_specs.errors import MessageDecodeError, UnknownApi
from protocol_specs.framing import encode_request, encode_response
from protocol_specs.fuzzing import strategies
from protocol_specs.fuzzing.rules import RULES
from protocol_specs.messages.api_versions import ApiVersionsRequest
from protocol_specs.messages.fetch import FetchRequest
from protocol_specs.messages.metadata import MetadataRequest, MetadataResponse
from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from tests.protocol_specs.every_message import any_message

if TYPE_CHECKING:
    from protocol_specs.message import Message

SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
NAMED: Final = {
    "bytes follow after the end": {Rule.BYTES_AFTER_THE_END},
    "null is a negative length that is not -1": {Rule.NULL_LENGTH},
    "a varint is longer than necessary": {Rule.SHORT_VARINT},
    "a tag is out of order": {Rule.TAG_ORDER, Rule.TAG_TWICE},
    "a tag comes twice": {Rule.TAG_TWICE},
    "a tagged field is sent at its default": {Rule.TAG_ORDER, Rule.TAGGED_DEFAULT},
    "a known tag has a wrong size": {Rule.TAG_SIZE},
    "the byte before a struct is neither 1 nor -1": {Rule.PRESENCE},
    "a bool is neither 0 nor 1": {Rule.BOOL},
    "a string is not UTF-8": {Rule.UTF_8},
}


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(which=any_message(), data=st.data())
def test_sound_bytes_deviate_nowhere(which: tuple[type[Message], int], data: st.DataObject) -> None:
    cls, version = which
    assert deviations(cls, version, data.draw(strategies.message(cls, version)).encode(version)) == []


@settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
@given(which=any_message(), data=st.data())
def test_one_broken_rule_is_named_with_its_place(which: tuple[type[Message], int], data: st.DataObject) -> None:
    cls, version = which
    broken = data.draw(strategies.nearly_valid(cls, version))
    if broken.refused:
        with pytest.raises(MessageDecodeError):
            deviations(cls, version, broken.data)
        return
    found = deviations(cls, version, broken.data)
    if broken.rule != "a known tag has a wrong size":  # a drawn size may be the right one
        assert found
    # After a change inside a tagged field the size before it is wrong.
    assert {deviation.rule for deviation in found} <= NAMED[broken.rule] | {Rule.TAG_SIZE, Rule.TAGGED_DEFAULT}
    assert all(0 <= d.position < d.stop <= len(broken.data) for d in found)


def test_every_rule_that_readers_do_not_enforce_has_a_name() -> None:
    assert list(NAMED) == [rule.name for rule in RULES if not rule.refused]


def only(found: list[object]) -> str:
    (one,) = found
    return str(one)


def test_a_deviation_has_path_byte_and_rule() -> None:
    body = MetadataRequest(topics=[], allow_auto_topic_creation=True).encode(4)
    assert only([*deviations(MetadataRequest, 4, body[:-1] + b"\x02")]) == (
        "allow_auto_topic_creation, byte 4: the byte is 0x02, read as True; the rule: a bool is 0 or 1"
    )
    assert only([*deviations(MetadataRequest, 4, body + b"ab")]) == (
        "byte 5: 2 bytes follow; the rule: the message ends where the frame ends"
    )
    (text,) = deviations(ApiVersionsRequest, 3, b"\x04a\xc0b\x01\x00")
    assert (text.path, text.position, text.stop, text.rule) == ("client_software_name", 2, 3, Rule.UTF_8)


@pytest.mark.parametrize(
    ("tags", "rules"),
    [
        (b"\x01\x00\x03\x02x", [Rule.TAG_SIZE]),
        (b"\x01\x00\x01\x00", [Rule.TAGGED_DEFAULT]),
        (b"\x01\x01\x0d" + b"\xff" * 12 + b"\x00", [Rule.TAGGED_DEFAULT]),
        (b"\x01\x01\x0d\x00" + b"\xff" * 11 + b"\x00", []),
        (b"\x02\x05\x00\x04\x00", [Rule.TAG_ORDER]),
        (b"\x02\x05\x00\x05\x00", [Rule.TAG_TWICE]),
        (b"\x02\x00\x02\x02x\x00\x02\x02y", [Rule.TAG_TWICE]),
        (b"\x81\x00\x05\x00", [Rule.SHORT_VARINT]),
        (b"\x01\x85\x00\x00", [Rule.SHORT_VARINT]),
        (b"\x01\x05\x80\x00", [Rule.SHORT_VARINT]),
        (b"\x81\x80\x80\x80\x10\x05\x00", [Rule.SHORT_VARINT]),
        (b"\xff\xff\xff\xff\x0f", [Rule.TAG_COUNT]),
        (b"\x01\xff\xff\xff\xff\x0f\x00", [Rule.TAG_NUMBER]),
    ],
)
def test_tags_deviate_in_every_way_that_is_read(tags: bytes, rules: list[Rule]) -> None:
    sound = FetchRequest().encode(15)
    assert [d.rule for d in deviations(FetchRequest, 15, sound[:-1] + tags)] == rules


def test_the_byte_before_a_struct_that_may_be_null_has_two_values() -> None:
    body = StreamsGroupHeartbeatRequest(topology=None).encode(0)
    at = next(s.start for s in annotate(StreamsGroupHeartbeatRequest, 0, body) if s.type_name == "presence")
    assert body[at] == 0xFF
    (odd,) = deviations(StreamsGroupHeartbeatRequest, 0, body[:at] + b"\xfe" + body[at + 1 :])
    assert (odd.path, odd.rule) == ("topology", Rule.PRESENCE)


def test_whole_frames_are_judged_header_and_body() -> None:
    frame = encode_request(MetadataRequest(topics=[]), 4, correlation_id=7, client_id="a")[4:]
    assert request_deviations(frame) == []
    odd = frame[:8] + b"\xff\xf0" + frame[11:-1] + b"\x09"
    assert [(d.path, d.rule) for d in request_deviations(odd)] == [
        ("client_id", Rule.NULL_LENGTH),
        ("allow_auto_topic_creation", Rule.BOOL),
    ]
    response = encode_response(MetadataResponse(), 12, correlation_id=7)[4:]
    assert response_deviations(MetadataResponse, 12, response) == []
    assert [d.rule for d in response_deviations(MetadataResponse, 12, response + b"\0")] == [Rule.BYTES_AFTER_THE_END]
    with pytest.raises(UnknownApi):
        request_deviations(b"\x7f\xff" + frame[2:])
