from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.errors import FrameTooLarge, MessageDecodeError, NegativeFrameSize, UnknownApi
from protocol_specs.framing import (
    LARGE_FRAME_MIN_BYTES,
    LARGE_PART_MIN_BYTES,
    FrameReader,
    LargeFrame,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
    encode_response_frame,
)
from protocol_specs.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol_specs.messages.headers import RequestHeader, request_header_version, response_header_version


def reader(limit_bytes: int = 1000) -> FrameReader:
    return FrameReader(limit_bytes=limit_bytes, option="socket.request.max.bytes")


def framed(*frames: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)


@settings(deadline=None)
@given(frames=st.lists(st.binary(max_size=40), max_size=8), cuts=st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_frames_come_out_whole_and_in_order_however_the_bytes_are_cut(frames: list[bytes], cuts: list[int]) -> None:
    data, collector, found, place = framed(*frames), reader(), [], 0
    while data:
        size = cuts[place % len(cuts)]
        found.extend(collector.receive(data[:size]))
        data, place = data[size:], place + 1
    assert found == frames
    assert collector.buffered_bytes == 0


def test_a_size_above_the_limit_is_refused_before_its_bytes_come_and_for_good() -> None:
    collector = reader(limit_bytes=10)
    assert collector.receive(framed(b"x" * 10)) == [b"x" * 10]
    for _ in range(2):
        with pytest.raises(FrameTooLarge, match=r"frame of 11 bytes, socket\.request\.max\.bytes allows 10"):
            collector.receive(struct.pack(">i", 11))


def test_an_unfinished_frame_reports_its_received_size() -> None:
    collector = reader()
    for come, chunk in enumerate(struct.pack(">i", 3) + b"ab", 1):
        assert collector.receive(bytes([chunk])) == []
        assert collector.buffered_bytes == come
    assert collector.receive(b"c") == [b"abc"]
    assert collector.buffered_bytes == 0


def test_a_frame_that_comes_by_itself_is_not_copied() -> None:
    collector, frame = reader(), b"x" * 9
    assert collector.receive(struct.pack(">i", len(frame))) == []
    assert collector.missing_bytes == len(frame)
    assert collector.receive(frame)[0] is frame
    assert collector.missing_bytes == 0


def test_a_negative_size_is_refused_after_the_frames_before_it() -> None:
    collector = reader()
    assert collector.receive(framed(b"first") + struct.pack(">i", -5)) == [b"first"]
    with pytest.raises(NegativeFrameSize, match="-5"):
        collector.receive(b"")


@pytest.mark.parametrize("api_key", ApiKey)
def test_a_request_frame_is_read_back_at_every_version(api_key: int) -> None:
    cls = registry.request_type(api_key)
    for version in cls.VERSIONS:
        for client_id in (None, "", "producer-ü"):
            frame = encode_request(cls(), version, correlation_id=-7, client_id=client_id)
            assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
            header, position = decode_request_header(frame[4:])
            # ControlledShutdown v0 alone has a header without a client id.
            carried = client_id if request_header_version(cls, version) > 0 else ""
            assert header == RequestHeader(
                request_api_key=api_key, request_api_version=version, correlation_id=-7, client_id=carried
            )
            assert cls.decode_from(version, frame[4:], position) == (
                cls.decode(version, cls().encode(version)),
                len(frame) - 4,
            )


@pytest.mark.parametrize("api_key", ApiKey)
def test_a_response_frame_is_read_back_at_every_version(api_key: int) -> None:
    cls = registry.response_type(api_key)
    for version in cls.VERSIONS:
        frame = encode_response(cls(), version, correlation_id=9)
        assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
        assert decode_response(cls, version, frame[4:]) == (9, cls())


@pytest.mark.parametrize(
    ("batches", "in_parts"),
    [
        ([b"small"], False),
        ([b"x" * LARGE_FRAME_MIN_BYTES], True),
        ([b"x" * (LARGE_PART_MIN_BYTES + 1000)] * 200, True),
        ([b"x" * 100] * LARGE_FRAME_MIN_BYTES, False),
    ],
)
def test_a_frame_in_parts_has_the_bytes_of_the_whole_one(batches: list[bytes], *, in_parts: bool) -> None:
    data = PartitionData(records=batches)
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data])])
    whole = encode_response(response, 12, correlation_id=3)
    frame = encode_response_frame(response, 12, correlation_id=3)
    assert isinstance(frame, LargeFrame) == in_parts
    assert len(frame) == len(whole)
    if isinstance(frame, LargeFrame):
        assert any(part is batches[0] for part in frame.parts)
        frame = frame.joined()
    assert frame == whole


def test_an_api_versions_response_has_no_tags_in_its_header() -> None:
    response = registry.response_type(18)
    assert [response_header_version(response, version) for version in (0, 3, 4)] == [0, 0, 0]
    assert [request_header_version(registry.request_type(18), version) for version in (0, 3, 4)] == [1, 2, 2]


def test_tags_in_a_request_header_are_kept() -> None:
    frame = struct.pack(">hhih", 18, 3, 1, 1) + b"c" + b"\x01\x05\x02ab" + b"body"
    header, position = decode_request_header(frame)
    assert header.unknown_tags == [(5, b"ab")]
    assert frame[position:] == b"body"


@pytest.mark.parametrize("length", range(10))
def test_a_header_that_is_cut_is_a_decode_error(length: int) -> None:
    frame = struct.pack(">hhih", 18, 3, 1, -1)[:length]
    with pytest.raises(MessageDecodeError, match="RequestHeader"):
        decode_request_header(frame)


def test_a_client_id_longer_than_the_frame_is_a_decode_error() -> None:
    with pytest.raises(MessageDecodeError, match=r"client_id, byte 8: length 500, 3 bytes left"):
        decode_request_header(struct.pack(">hhih", 3, 1, 1, 500) + b"abc")


def test_an_unknown_api_key_is_named() -> None:
    with pytest.raises(UnknownApi, match="no API key 999"):
        decode_request_header(struct.pack(">hhih", 999, 0, 1, -1))
    with pytest.raises(UnknownApi, match=r"did you mean Produce\?"):
        ApiKey.named("Produse")


@settings(deadline=None)
@given(data=st.binary(max_size=60))
def test_any_bytes_as_a_header_are_a_header_or_an_error_of_ours(data: bytes) -> None:
    try:
        _, position = decode_request_header(data)
    except (MessageDecodeError, UnknownApi):
        return
    assert position <= len(data)
