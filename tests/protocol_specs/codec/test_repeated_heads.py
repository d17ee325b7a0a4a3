"""The fast path that decodes a Produce to one partition equals the codec, after any earlier request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol_specs.codec.code_generator import decoder_for
from protocol_specs.codec.repeated_heads import produce_decoder
from protocol_specs.errors import MessageDecodeError
from protocol_specs.fuzzing.strategies import message
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

if TYPE_CHECKING:
    from collections.abc import Callable

FAST_VERSIONS = range(9, ProduceRequest.VERSIONS.highest + 1)


def one_partition(records: bytes | None, *, topic: str = "orders", index: int = 3, acks: int = -1) -> ProduceRequest:
    return ProduceRequest(
        acks=acks,
        timeout_ms=1500,
        topic_data=[
            TopicProduceData(
                name=topic,
                topic_id=bytes(range(16)),
                partition_data=[PartitionProduceData(index=index, records=records)],
            )
        ],
    )


def decoded(decode: Callable[..., tuple[Any, int]], data: bytes | memoryview, position: int) -> object:
    """Return the result of a decode function, record sets as bytes, or its error."""
    try:
        request, end = decode(data, position)
    except MessageDecodeError as error:
        return str(error)
    for topic in request.topic_data:
        for partition in topic.partition_data:
            if partition.records is not None:
                partition.records = bytes(partition.records)
    return request, end


@st.composite
def bodies(draw: st.DrawFn, version: int) -> bytes:
    """Requests of few heads, so that heads repeat, and any other request; often with broken bytes."""
    small = st.builds(
        one_partition,
        st.none() | st.integers(0, 40_000).map(bytes) | st.binary(max_size=300),
        topic=st.sampled_from(["a", "orders", "t" * 126, "t" * 127, "t" * 249]),
        index=st.integers(0, 1),
        acks=st.sampled_from([-1, 1]),
    )
    body = draw(small | message(ProduceRequest, version)).encode(version)
    if draw(st.booleans()):
        at = draw(st.integers(0, max(len(body) - 1, 0)))
        kind = draw(st.sampled_from(["cut", "set", "insert", "append"]))
        octet = bytes([draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0x81, 0xFF]))])
        if kind == "cut":
            body = body[:at]
        elif kind == "set":
            body = body[:at] + octet + body[at + 1 :]
        elif kind == "insert":
            body = body[:at] + octet + body[at:]
        else:
            body += octet
    return body


@pytest.mark.parametrize("version", FAST_VERSIONS)
@settings(max_examples=50)
@given(data=st.data())
def test_a_sequence_of_requests_is_decoded_as_the_codec_decodes_each(version: int, data: st.DataObject) -> None:
    fast = produce_decoder(version)
    codec = decoder_for(ProduceRequest, version)
    for body in data.draw(st.lists(bodies(version), min_size=1, max_size=8)):
        header = data.draw(st.binary(max_size=3))
        frame: bytes | memoryview = header + body
        if data.draw(st.booleans()):
            frame = memoryview(frame)
        # Twice: the second time the head is known.
        for _ in range(2):
            assert decoded(fast, frame, len(header)) == decoded(codec, frame, len(header))


@pytest.mark.parametrize("version", FAST_VERSIONS)
def test_a_repeated_head_is_not_decoded_again(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    codec = decoder_for(ProduceRequest, version)
    calls = []

    def counted(data: bytes, position: int) -> tuple[Any, int]:
        calls.append(position)
        return codec(data, position)

    monkeypatch.setattr("protocol_specs.codec.repeated_heads.decoder_for", lambda *_: counted)
    fast = produce_decoder(version)
    for size in (100, 127, 128, 5_000, 16_382):
        body = one_partition(bytes(size)).encode(version)
        request, end = fast(body, 0)
        assert (request, end) == codec(body, 0)
    assert len(calls) == 1


def test_a_length_of_three_bytes_is_left_to_the_codec() -> None:
    fast = produce_decoder(9)
    body = one_partition(bytes(16_383)).encode(9)
    assert fast(body, 0) == fast(body, 0) == decoder_for(ProduceRequest, 9)(body, 0)
