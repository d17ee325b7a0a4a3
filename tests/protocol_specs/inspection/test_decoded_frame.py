"""Frames taken apart: every byte is in a span, and what is wrong is named with its byte and its rule."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs import registry
from protocol_specs.framing import encode_request, encode_response
from protocol_specs.inspection.broken_rules import rule_of
from protocol_specs.inspection.decoded_frame import (
    DecodedFrame,
    decode_message,
    decode_request,
    decode_response,
    opaque_frame,
)
from protocol_specs.inspection.json_view import json_of_frame
from protocol_specs.inspection.tree_view import summary, tree_lines
from protocol_specs.message import Kind
from protocol_specs.messages.api_versions import ApiVersionsResponse
from protocol_specs.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

DATA = Path(__file__).parents[2] / "data"


def lines_of(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / name, "rt") as lines:
        return [json.loads(line) for line in lines]


@cache
def frames() -> list[bytes]:
    """Every vector of a request as a whole frame."""
    made = []
    for vector in lines_of("message_vectors.jsonl.gz"):
        if vector["kind"] == "request":
            cls = registry.find(vector["api"], Kind.REQUEST)
            message = cls.decode(vector["version"], bytes.fromhex(vector["hex"]))
            made.append(encode_request(message, vector["version"], correlation_id=7, client_id="c"))
    return made


def produce_of(records: bytes) -> bytes:
    partition = PartitionProduceData(index=0, records=records)
    request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="orders", partition_data=[partition])])
    return encode_request(request, 9, correlation_id=1, client_id="c")


def assert_without_gaps(frame: DecodedFrame) -> None:
    position = 0
    inner = {span.path for span in frame.spans if span.type_name == "records" and span.value}
    for span in frame.spans:
        if span.within or any(span.path.startswith(f"{path}.") for path in inner):
            continue
        assert span.start == position, span
        position = span.stop
    assert position == len(frame.data)


def tree(frame: DecodedFrame) -> list[str]:
    return list(tree_lines(frame))


def test_every_byte_of_every_request_is_in_a_span() -> None:
    for data in frames():
        frame = decode_request(data)
        assert frame.is_read
        assert_without_gaps(frame)


def test_every_record_set_of_java_is_opened() -> None:
    for case in lines_of("record_batches.jsonl.gz"):
        frame = decode_request(produce_of(bytes.fromhex(case["hex"])))
        assert (frame.faults, frame.remarks) == ([], []), case["case"]
        counted = sum(len(batch["records"]) for batch in case["batches"])
        paths = [span.path for span in frame.spans if span.path.endswith("].offset_delta") or ".message[" in span.path]
        assert len(paths) >= counted, case["case"]
        assert tree(frame)


def test_the_tree_has_offset_bytes_field_type_and_value() -> None:
    data = encode_request(MetadataRequest(topics=None), 9, correlation_id=5, client_id="me")
    assert tree(decode_request(data)) == [
        "       0  00 00 00 12                 size                                     int32        18",
        "                                      header",
        "       4  00 03                         request_api_key                        int16        3 (Metadata)",
        "       6  00 09                         request_api_version                    int16        9",
        "       8  00 00 00 05                   correlation_id                         int32        5",
        '      12  00 02 6d 65                   client_id                              string       "me"',
        "      16  00                            unknown_tags                           tag count    0",
        "      17  00                          topics                                   []MetadataRequestTopic null",
        "      18  01                          allow_auto_topic_creation                bool         true",
        "      19  00                          include_cluster_authorized_operations    bool         false",
        "      20  00                          include_topic_authorized_operations      bool         false",
        "      21  00                          unknown_tags                             tag count    0",
    ]


def test_a_fault_stands_below_the_fields_before_it_with_a_caret_at_its_byte() -> None:
    data = bytearray(produce_of(b""))
    data[24] = 0x7F
    lines = tree(decode_request(bytes(data)))
    assert lines[-4:] == [
        "  broken: topic_data[0].name, byte 24: length 126, 15 bytes left",
        "      16  00 ff ff 00 00 00 00 02 7f 6f 72 64 65 72 73 02",
        "                                  ^^",
        "          the rule: a length is no more than the bytes that are left",
    ]
    assert "bytes not read" in lines[-5]


def test_a_caret_stands_behind_the_last_byte_when_bytes_are_missing() -> None:
    data = encode_request(MetadataRequest(topics=[]), 1, correlation_id=5, client_id="me")
    cut = (len(data) - 8).to_bytes(4, "big") + data[4:-4]
    lines = tree(decode_request(cut))
    caret = lines[-2]
    assert caret.index("^") == len(lines[-3].rstrip()) + 1


def test_what_a_broker_accepts_is_a_remark_and_no_fault() -> None:
    data = bytearray(encode_request(MetadataRequest(topics=None), 4, correlation_id=5, client_id="me"))
    data[-1] = 2
    data[:4] = (len(data) - 3).to_bytes(4, "big")
    frame = decode_request(bytes(data) + b"\xee")
    assert frame.faults == []
    assert [(remark.position, remark.rule) for remark in frame.remarks] == [
        (len(data) - 1, "a bool is 0 or 1"),
        (len(data), "the message ends where the frame ends"),
    ]
    assert any(line.startswith("  accepted, but wrong: allow_auto_topic_creation, byte 20") for line in tree(frame))
    assert summary(frame) == "Metadata v4 request, correlation id 5, client id 'me', 22 bytes, 2 remarks"


def test_a_wrong_checksum_is_a_fault_at_its_bytes() -> None:
    records = bytearray(bytes.fromhex(lines_of("record_batches.jsonl.gz")[0]["hex"]))
    records[-3] ^= 1
    frame = decode_request(produce_of(bytes(records)))
    (fault,) = frame.faults
    assert frame.is_read
    assert fault.path == "topic_data[0].partition_data[0].records.batch[0].crc"
    assert fault.rule == "the checksum is that of the bytes after it"


def test_an_unknown_api_and_an_unknown_version_are_faults_at_their_bytes() -> None:
    data = bytearray(encode_request(MetadataRequest(topics=None), 9, correlation_id=5, client_id="me"))
    data[6:8] = (99).to_bytes(2, "big")
    (fault,) = decode_request(bytes(data)).faults
    assert (fault.position, fault.reason) == (6, "MetadataRequest has no version 99: its versions are 0-13")
    data[4:6] = (999).to_bytes(2, "big")
    (fault,) = decode_request(bytes(data)).faults
    assert (fault.position, fault.reason[:11]) == (4, "no API key ")


def test_a_size_that_is_not_that_of_the_frame_is_a_fault() -> None:
    data = encode_request(MetadataRequest(topics=None), 9, correlation_id=5, client_id="me")
    for changed in (data + b"\0", b"\0\0\0\xff" + data[4:], b"\x80\0\0\0" + data[4:]):
        assert decode_request(changed).faults[0].path == "size"


def test_an_api_versions_response_with_error_35_is_read_as_version_0() -> None:
    data = encode_response(ApiVersionsResponse(error_code=35), 0, correlation_id=1)
    frame = decode_response(data, ApiVersionsResponse, 4)
    assert (frame.version, frame.faults) == (0, [])
    assert "       8  00 23                       error_code" in "\n".join(tree(frame))
    assert "35 (UNSUPPORTED_VERSION)" in "\n".join(tree(frame))


def test_opaque_frames_show_their_bytes_and_a_reason() -> None:
    frame = opaque_frame(b"\0\0\0\x03abc", None, "no reason")
    assert_without_gaps(frame)
    assert tree(frame)[-1] == "  note: no reason"
    assert summary(frame) == "frame of an unknown API, 7 bytes"


def test_a_batch_that_a_fetch_response_cuts_is_no_fault() -> None:
    records = bytes.fromhex(lines_of("record_batches.jsonl.gz")[0]["hex"])
    partition = PartitionData(partition_index=0, high_watermark=1, records=records + records[:-9])
    response = FetchResponse(responses=[FetchableTopicResponse(topic="orders", partitions=[partition])])
    frame = decode_response(encode_response(response, 11, correlation_id=1), FetchResponse, 11)
    assert frame.faults == []
    assert "the record set ends inside of it" in frame.notes[0]
    assert decode_request(produce_of(records + records[:-9])).faults[0].rule == "a batch is whole"


@pytest.mark.parametrize(
    ("reason", "rule"),
    [
        ("4 bytes needed, 0 bytes left", "a field ends before its message does"),
        ("varint is longer than 5 bytes", "a varint has at most 5 bytes"),
        ("tag 3: length 9, 1 bytes left", "a length is no more than the bytes that are left"),
        ("magic 7: only 0, 1 and 2 are known", "the magic of a batch is 0, 1 or 2"),
        ("something new", ""),
    ],
)
def test_each_reason_has_its_rule(reason: str, rule: str) -> None:
    assert rule_of(reason) == rule


def test_the_json_of_a_frame_has_the_keys_of_json_lines() -> None:
    data = encode_request(MetadataRequest(topics=[]), 9, correlation_id=5, client_id="me")
    made = json_of_frame(decode_request(data), number=1)
    assert list(made)[:5] == ["number", "api", "kind", "version", "size"]
    assert made["header"] == {
        "requestApiKey": 3,
        "requestApiVersion": 9,
        "correlationId": 5,
        "clientId": "me",
    }
    assert made["hex"] == data[17:].hex()
    assert made["json"]["topics"] == []
    assert made["fields"][1] == {
        "path": "header.request_api_key",
        "offset": 4,
        "length": 2,
        "type": "int16",
        "value": 3,
    }
    json.dumps(made, allow_nan=False)


def test_messages_alone_are_read_for_every_kind() -> None:
    for vector in lines_of("message_vectors.jsonl.gz")[::7]:
        cls = registry.find(vector["api"], Kind(vector["kind"]))
        frame = decode_message(cls, vector["version"], bytes.fromhex(vector["hex"]))
        assert frame.is_read
        assert_without_gaps(frame)
        assert json_of_frame(frame)["json"] == vector["json"]
        assert tree(frame) or not vector["hex"]


@given(st.data())
def test_mutated_frames_are_shown_and_raise_nothing(data: st.DataObject) -> None:
    whole = bytearray(data.draw(st.sampled_from(frames())))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    for frame in (decode_request(cut), decode_response(cut, registry.response_type(1), 11)):
        assert tree(frame)
        json.dumps(json_of_frame(frame), allow_nan=False)


@given(st.data())
def test_mutated_record_sets_are_shown_and_raise_nothing(data: st.DataObject) -> None:
    cases = lines_of("record_batches.jsonl.gz")
    records = bytearray(bytes.fromhex(data.draw(st.sampled_from(cases))["hex"]))
    for _ in range(data.draw(st.integers(1, 4))):
        records[data.draw(st.integers(0, len(records) - 1))] = data.draw(st.integers(0, 255))
    frame = decode_request(produce_of(bytes(records)))
    assert tree(frame)
    json.dumps(json_of_frame(frame), allow_nan=False)
