"""The fast paths that decode requests to one partition equal the codec, after any earlier request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol_specs.codec.code_generator import decoder_for
from protocol_specs.codec.repeated_heads import offset_commit_decoder, produce_decoder
from protocol_specs.errors import MessageDecodeError
from protocol_specs.fuzzing.strategies import message
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

if TYPE_CHECKING:
    from collections.abc import Callable

FAST_VERSIONS = range(9, ProduceRequest.VERSIONS.highest + 1)


def one_partition(
    records: bytes | None, *, topic: str = "orders", index: int = 3, acks: int = -1, transactional_id: str | None = None
) -> ProduceRequest:
    return ProduceRequest(
        transactional_id=transactional_id,
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


PRODUCES = st.builds(
    one_partition,
    st.none() | st.integers(0, 40_000).map(bytes) | st.binary(max_size=300),
    topic=st.sampled_from(["a", "orders", "t" * 126, "t" * 127, "t" * 249]),
    index=st.integers(0, 1),
    acks=st.sampled_from([-1, 1]),
    transactional_id=st.sampled_from([None, None, "", "t", "t" * 126, "t" * 127]),
)
CHANGES = st.sampled_from(["cut", "set", "insert", "append"])
OCTETS = st.sampled_from([bytes([octet]) for octet in (0, 1, 2, 0x7F, 0x80, 0x81, 0xFF)])
HEADERS = st.binary(max_size=3)
YES_OR_NO = st.booleans()


@st.composite
def bodies(draw: st.DrawFn, requests: st.SearchStrategy[Any], version: int) -> bytes:
    """The bytes of requests of few heads, so that heads repeat, and of any other; often broken bytes."""
    body: bytes = draw(requests).encode(version)
    if draw(YES_OR_NO):
        at = draw(st.integers(0, max(len(body) - 1, 0)))
        kind, octet = draw(CHANGES), draw(OCTETS)
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
    requests = PRODUCES | message(ProduceRequest, version)
    for body in data.draw(st.lists(bodies(requests, version), min_size=1, max_size=8)):
        header = data.draw(HEADERS)
        frame: bytes | memoryview = header + body
        if data.draw(YES_OR_NO):
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


def test_a_head_with_a_longer_varint_than_needed_is_left_to_the_codec() -> None:
    def body(index: int, records: bytes) -> bytes:
        """A Produce of version 9 whose transactional id, null, takes two bytes: what follows is one byte later."""
        return b"\x80" + one_partition(records, topic="a", index=index).encode(9)

    fast = produce_decoder(9)
    codec = decoder_for(ProduceRequest, 9)
    # In a head cut one byte too early, the last byte of the index would be the length of the records.
    for data in (body(3, b"abc"), body(5, b"abc")):
        assert decoded(fast, data, 0) == decoded(codec, data, 0)


COMMIT_VERSIONS = range(8, OffsetCommitRequest.VERSIONS.highest + 1)


def commit(offset: int, *, group: str = "g", member: str = "", topic: str = "orders", **other: Any) -> Any:
    partition = OffsetCommitRequestPartition(
        **{"partition_index": 3, "committed_offset": offset, "committed_metadata": "", **other}
    )
    return OffsetCommitRequest(
        group_id=group,
        member_id=member,
        generation_id_or_member_epoch=-1 if not member else 2,
        topics=[OffsetCommitRequestTopic(name=topic, topic_id=bytes(range(16)), partitions=[partition])],
    )


COMMITS = st.builds(
    commit,
    st.integers(-(2**63), 2**63 - 1),
    group=st.sampled_from(["g", "readers"]),
    member=st.sampled_from(["", "m"]),
    topic=st.sampled_from(["a", "orders"]),
    committed_leader_epoch=st.integers(-1, 5),
    committed_metadata=st.sampled_from(["", "", None, "note"]),
)


def decoded_commit(decode: Callable[..., tuple[Any, int]], data: bytes | memoryview, position: int) -> object:
    try:
        return decode(data, position)
    except MessageDecodeError as error:
        return str(error)


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
@settings(max_examples=50)
@given(data=st.data())
def test_a_sequence_of_commits_is_decoded_as_the_codec_decodes_each(version: int, data: st.DataObject) -> None:
    fast = offset_commit_decoder(version)
    codec = decoder_for(OffsetCommitRequest, version)
    requests = COMMITS | message(OffsetCommitRequest, version)
    for body in data.draw(st.lists(bodies(requests, version), min_size=1, max_size=8)):
        header = data.draw(HEADERS)
        frame: bytes | memoryview = header + body
        if data.draw(YES_OR_NO):
            frame = memoryview(frame)
        # Twice: the second time the head is known.
        for _ in range(2):
            assert decoded_commit(fast, frame, len(header)) == decoded_commit(codec, frame, len(header))


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_a_null_metadata_before_a_tag_is_not_the_empty_metadata(version: int) -> None:
    request = commit(7, committed_metadata=None)
    request.topics[0].unknown_tags = [(0, b"")]
    tagged = request.encode(version)
    assert tagged.endswith(b"\1\0\0\0")
    fast = offset_commit_decoder(version)
    assert fast(tagged, 0) == fast(tagged, 0) == decoder_for(OffsetCommitRequest, version)(tagged, 0)


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_a_repeated_head_of_a_commit_is_not_decoded_again(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    codec = decoder_for(OffsetCommitRequest, version)
    calls = []

    def counted(data: bytes, position: int) -> tuple[Any, int]:
        calls.append(position)
        return codec(data, position)

    monkeypatch.setattr("protocol_specs.codec.repeated_heads.decoder_for", lambda *_: counted)
    fast = offset_commit_decoder(version)
    for offset in (0, 7, 2**40):
        body = commit(offset).encode(version)
        assert fast(body, 0) == codec(body, 0)
    assert len(calls) == 1
