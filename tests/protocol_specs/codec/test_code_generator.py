from __future__ import annotations

import contextlib
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.codec.annotate import annotate
from protocol_specs.codec.code_generator import generated_source
from protocol_specs.errors import MessageDecodeError, MessageEncodeError, UnsupportedVersion
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.fetch import FetchRequest
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol_specs.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol_specs.messages.sasl_authenticate import SaslAuthenticateRequest

if TYPE_CHECKING:
    from protocol_specs.message import Message

REQUEST = ProduceRequest(
    acks=-1,
    timeout_ms=30_000,
    topic_data=[
        TopicProduceData(
            name="orders", partition_data=[PartitionProduceData(index=i, records=b"r" * 20) for i in range(3)]
        )
    ],
)
MESSAGES = [
    (cls, version)
    for key in ApiKey
    for cls in (registry.request_type(key), registry.response_type(key))
    for version in cls.VERSIONS
]


def _of_records(records: Any) -> ProduceRequest:
    partition = PartitionProduceData(index=0, records=records)
    return ProduceRequest(topic_data=[TopicProduceData(name="orders", partition_data=[partition])])


def _with_tags(tags: Any) -> ProduceRequest:
    request = ProduceRequest()
    request.unknown_tags = tags
    return request


def test_an_error_names_message_version_path_and_byte() -> None:
    body = REQUEST.encode(9)
    with pytest.raises(MessageDecodeError) as raised:
        ProduceRequest.decode(9, body[:60])
    text = "ProduceRequest v9, topic_data[0].partition_data[1].records, byte 46: length 20, 13 bytes left"
    assert str(raised.value) == text


@pytest.mark.parametrize("version", REQUEST.VERSIONS)
def test_every_cut_of_a_message_is_an_error_with_a_place(version: int) -> None:
    message = REQUEST if version < 13 else ProduceRequest(topic_data=[TopicProduceData(topic_id=bytes(16))])
    body = message.encode(version)
    for length in range(len(body)):
        with pytest.raises(MessageDecodeError) as raised:
            ProduceRequest.decode(version, body[:length])
        assert raised.value.position <= length
        assert raised.value.path


@settings(deadline=None)
@given(data=st.binary(max_size=80), which=st.integers(0, len(MESSAGES) - 1))
def test_any_bytes_are_a_message_or_a_decode_error_and_annotate_agrees(data: bytes, which: int) -> None:
    cls, version = MESSAGES[which]
    try:
        _, end = cls.decode_from(version, data, 0)
    except MessageDecodeError as error:
        assert error.position <= len(data)  # noqa: PT017 - not every input fails
        with pytest.raises(MessageDecodeError):
            annotate(cls, version, data)
        return
    spans = annotate(cls, version, data)
    assert end == (spans[-1].stop if spans else 0)


@settings(deadline=None)
@given(which=st.integers(0, len(MESSAGES) - 1), at=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_a_changed_byte_never_brings_another_exception(which: int, at: int, byte: int) -> None:
    cls, version = MESSAGES[which]
    body = bytearray(cls().encode(version))
    if body:
        body[at % len(body)] = byte
    with contextlib.suppress(MessageDecodeError):
        cls.decode(version, bytes(body))


def test_a_small_frame_never_makes_a_large_list() -> None:
    hostile = b"\x00\x00\x00\x01\x7f\xff\xff\xff" + b"\x00" * 80
    tracemalloc.start()
    try:
        for cls, version in MESSAGES:
            for start in range(0, 40, 4):
                with contextlib.suppress(MessageDecodeError):
                    cls.decode(version, bytes(start) + hostile)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000, "the generated code itself is most of this"


def test_what_a_broker_accepts_is_accepted() -> None:
    leftover = MetadataRequest(topics=[]).encode(1) + b"more"
    assert MetadataRequest.decode_from(1, leftover, 0)[1] == 4
    assert MetadataRequest.decode(1, b"\xff\xff\xff\x80").topics is None
    assert MetadataRequest.decode(4, b"\xff\xff\xff\xff\x02").allow_auto_topic_creation is True
    assert MetadataRequest.decode(1, b"\x00\x00\x00\x01\x00\x02\xff\xfe").topics == [
        MetadataRequestTopic(name="\ufffd\ufffd")
    ]


@pytest.mark.parametrize(
    ("message", "version", "path", "reason"),
    [
        (ProduceRequest(transactional_id="t"), 2, "transactional_id", "version 2 has no such field"),
        (ProduceRequest(acks=40_000), 3, "acks", "40000 is no int16"),
        (ProduceRequest(topic_data=[TopicProduceData(name=None)]), 3, "topic_data[0].name", "never null"),  # type: ignore[arg-type]
        (ProduceRequest(topic_data=[TopicProduceData(name="a" * 40_000)]), 9, "topic_data[0].name", "at most 32767"),
        (ProduceRequest(topic_data=[TopicProduceData(name="\ud800")]), 9, "topic_data[0].name", "not UTF-8"),
        (
            ProduceRequest(topic_data=[TopicProduceData(topic_id=b"id")]),
            13,
            "topic_data[0].topic_id",
            "2 bytes: a uuid",
        ),
        (ProduceRequest(topic_data=7), 9, "topic_data", "7 is no list"),  # type: ignore[arg-type]
        (ProduceRequest(topic_data=["x"]), 9, "topic_data[0]", "'x' is no TopicProduceData"),  # type: ignore[list-item]
        (_of_records("text"), 9, "topic_data[0].partition_data[0].records", "'text' is no records"),
        (_of_records([b"a", "b"]), 9, "topic_data[0].partition_data[0].records[1]", "'b' is no bytes"),
        (_of_records([1]), 3, "topic_data[0].partition_data[0].records[0]", "1 is no bytes"),
        (SaslAuthenticateRequest(auth_bytes="text"), 2, "auth_bytes", "'text' is no bytes"),  # type: ignore[arg-type]
        (_with_tags("ab"), 9, "unknown_tags", "'ab' is no list of a tag and its data each"),
        (_with_tags([7]), 9, "unknown_tags", "7 is no tag with its data"),
        (_with_tags([("7", b"")]), 9, "unknown_tags", "'7' is no tag: expected an int from 0 on"),
        (_with_tags([(7, "text")]), 9, "unknown_tags", "tag 7: 'text' is no bytes"),
        (MetadataRequest(topics=None), 0, "topics", "never null"),
        (FetchRequest(rack_id="r"), 4, "rack_id", None),
    ],
)
def test_a_value_that_a_version_cannot_carry_is_refused_by_field_name(
    message: Message, version: int, path: str, reason: str | None
) -> None:
    if reason is None:
        assert type(message).decode(version, message.encode(version)) != message  # ignorable: dropped without a word
        return
    with pytest.raises(MessageEncodeError) as raised:
        message.encode(version)
    assert raised.value.path == path
    assert reason in raised.value.reason


def test_a_version_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(UnsupportedVersion, match="DescribeClusterRequest has no version 9: its versions are 0-2"):
        DescribeClusterRequest().encode(9)
    with pytest.raises(UnsupportedVersion, match="0-13"):
        ProduceRequest.decode(14, b"")
    with pytest.raises(UnsupportedVersion):
        ProduceRequest.struct(14)


@pytest.mark.parametrize("version", ["9", None, b"9", bytearray(b"9"), []], ids=repr)
def test_a_version_that_is_no_number_is_named_like_an_unknown_one(version: Any) -> None:
    for use in (ProduceRequest().encode, lambda version: ProduceRequest.decode(version, b"")):
        with pytest.raises(UnsupportedVersion) as raised:
            use(version)
        assert str(raised.value) == f"ProduceRequest has no version {version!r}: its versions are 0-13"


@pytest.mark.parametrize("data", ["text", None, 9, [1]], ids=repr)
def test_data_that_is_no_bytes_is_named_with_its_message(data: Any) -> None:
    with pytest.raises(MessageDecodeError) as raised:
        ProduceRequest.decode(9, data)
    assert str(raised.value) == f"ProduceRequest v9, byte 0: {data!r} is no bytes, bytearray or memoryview"


def test_a_field_that_a_message_lacks_is_named_with_the_message() -> None:
    with pytest.raises(TypeError, match=r"^ProduceRequest\.__init__\(\) got an unexpected keyword argument 'ackz'"):
        ProduceRequest(ackz=1)  # type: ignore[call-arg]


def test_records_go_by_reference_and_in_pieces() -> None:
    pieces: Any = [b"abc", memoryview(b"defg")]
    message = ProduceRequest(
        topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(records=pieces)])]
    )
    whole = ProduceRequest(
        topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(records=b"abcdefg")])]
    )
    for version in range(13):
        assert message.encode(version) == whole.encode(version)
        parts: list[Any] = []
        message.encode_into(version, parts)
        assert any(part is pieces[0] for part in parts)


def test_tagged_fields_are_left_out_at_their_default_and_unknown_ones_survive() -> None:
    plain = PartitionProduceResponse(index=1)
    moved = PartitionProduceResponse(index=1, current_leader=LeaderIdAndEpoch(leader_id=2, leader_epoch=5))
    strange = PartitionProduceResponse(index=1)
    strange.unknown_tags = [(9, b"xyz"), (3, b"")]
    for partition in (plain, moved, strange):
        response = ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=[partition])])
        read = ProduceResponse.decode(12, response.encode(12))
        assert read.responses[0].partition_responses[0].current_leader == partition.current_leader
        assert sorted(read.responses[0].partition_responses[0].unknown_tags) == sorted(partition.unknown_tags)
    assert len(plain.current_leader.FIELDS) == 2
    clash = MetadataResponse()
    clash.unknown_tags = [(3, b"a"), (3, b"b")]
    with pytest.raises(MessageEncodeError, match="twice"):
        clash.encode(12)


def test_generated_source_is_straight_line_code() -> None:
    decode, encode = generated_source(ProduceRequest, 9)
    assert decode.startswith("def decode(data, pos):")
    assert encode.startswith("def encode(o0, parts):")


def test_null_records_in_two_bytes_are_null() -> None:
    partition = PartitionProduceData(index=1, records=None)
    body = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])]).encode(9)
    assert body.endswith(b"\x00\x00\x00\x01\x00\x00\x00\x00")
    padded = body[:-4] + b"\x80\x00" + body[-3:]
    assert ProduceRequest.decode_from(9, padded, 0) == (ProduceRequest.decode(9, body), len(padded))
