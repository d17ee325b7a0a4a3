"""Hostile bytes addressed by field: what a change does to the bytes, and what is framed again around it."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest

from protocol_specs.errors import ChecksumMismatch, MessageDecodeError
from protocol_specs.fuzzing import (
    Mutation,
    MutationError,
    Reframe,
    UnknownFieldPath,
    field_parts,
    frame_paths,
    message_paths,
    mutate_frame,
    mutate_message,
    mutate_record_set,
)
from protocol_specs.message import Kind
from protocol_specs.messages.headers import RequestHeader
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.messages.update_metadata import UpdateMetadataRequest
from protocol_specs.records.record_batch import (
    CompressionCodec,
    RecordBatchBuilder,
    check_batch,
    iterate_batches,
    read_record_set,
)

RECORDS = "topic_data[1].partition_data[0].records"


def batch(*values: bytes, codec: CompressionCodec = CompressionCodec.NONE) -> bytes:
    builder = RecordBatchBuilder(codec=codec)
    for value in values:
        builder.append(1_700_000_000_000, b"k", value, (("h", b"x"),))
    return builder.build()


def request(records: bytes) -> ProduceRequest:
    return ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[
            TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=batch(b"o"))]),
            TopicProduceData(
                name="payments",
                partition_data=[
                    PartitionProduceData(index=3, records=records),
                    PartitionProduceData(index=4, records=None),
                ],
            ),
        ],
    )


def frame(version: int = 9, records: bytes | None = None) -> bytes:
    header = RequestHeader(request_api_key=0, request_api_version=version, correlation_id=7, client_id="c")
    header_version = 2 if version >= 9 else 1
    records = batch(b"v0") + batch(b"v1", b"v2") + batch(b"v3") if records is None else records
    data = header.encode(header_version) + request(records).encode(version)
    return struct.pack(">i", len(data)) + data


def changed(
    *mutations: Mutation, version: int = 9, reframe: Reframe | bool = True, records: bytes | None = None
) -> bytes:
    return mutate_frame(frame(version, records), "Produce", Kind.REQUEST, version, mutations, reframe=reframe)


def decoded(data: bytes, version: int = 9) -> ProduceRequest:
    assert len(data) == 4 + int.from_bytes(data[:4], "big")
    _, position = RequestHeader.decode_from(2 if version >= 9 else 1, data, 4)
    message, end = ProduceRequest.decode_from(version, data, position)
    assert end == len(data)
    return message


def records_of(data: bytes, version: int = 9) -> bytes:
    return bytes(decoded(data, version).topic_data[1].partition_data[0].records)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [3, 8, 9, 12])
def test_nothing_changed_is_the_same_bytes(version: int) -> None:
    assert changed(version=version) == frame(version)


@pytest.mark.parametrize("version", [3, 9])
def test_a_longer_string_moves_every_length_around_it(version: int) -> None:
    data = changed(Mutation.set("topic_data[1].name", "p" * 300), version=version)
    assert decoded(data, version).topic_data[1].name == "p" * 300
    assert records_of(data, version) == records_of(frame(version), version)


def test_a_string_set_without_framing_keeps_its_length_and_the_frames() -> None:
    data = changed(Mutation.set("topic_data[1].name", "p" * 300), reframe=False)
    assert data[:4] == frame()[:4]
    assert b"\x09" + b"p" * 300 in data


def test_a_wrong_crc_is_alone_wrong() -> None:
    records = records_of(changed(Mutation.set(f"{RECORDS}.batch[2].crc", 0)))
    batches = [bytes(data) for _, data in iterate_batches(records)]
    check_batch(batches[0])
    check_batch(batches[1])
    with pytest.raises(ChecksumMismatch) as raised:
        check_batch(batches[2])
    assert raised.value.stored == 0


def test_a_record_changes_under_a_right_checksum() -> None:
    records = records_of(changed(Mutation.set(f"{RECORDS}.batch[1].record[1].header[0].value", b"y" * 200)))
    for _, data in iterate_batches(records):
        check_batch(data)
    assert [record.headers for record in read_record_set(records)][2] == (("h", b"y" * 200),)


def test_a_level_that_is_kept_keeps_lying() -> None:
    longer = Mutation.set(f"{RECORDS}.batch[2].record[0].value", b"longer", reframe=Reframe(checksums=False))
    batches = [bytes(data) for _, data in iterate_batches(records_of(changed(longer)))]
    with pytest.raises(ChecksumMismatch):
        check_batch(batches[2])
    short = changed(Mutation.lengthen("header.client_id", by=40), reframe=Reframe(frame_size=False))
    assert len(short) == len(frame()) + 40
    assert short[:4] == frame()[:4]


@pytest.mark.parametrize("codec", [CompressionCodec.GZIP, CompressionCodec.LZ4])
def test_records_behind_a_codec_are_compressed_anew(codec: CompressionCodec) -> None:
    data = changed(
        Mutation.set("topic_data[1].partition_data[0].records.batch[0].record[1].value", b"new"),
        records=batch(b"a", b"b", codec=codec),
    )
    check_batch(records_of(data))
    assert [record.value for record in read_record_set(records_of(data))] == [b"a", b"new"]


def test_a_batch_is_repeated_and_another_left_out() -> None:
    data = changed(Mutation.duplicate(f"{RECORDS}.batch[0]"), Mutation.delete(f"{RECORDS}.batch[3]"))
    assert [record.value for record in read_record_set(records_of(data))] == [b"v0", b"v0", b"v1", b"v2"]


def test_a_repeated_record_is_counted() -> None:
    records = records_of(changed(Mutation.duplicate(f"{RECORDS}.batch[1].record[0]", times=2)))
    assert [header.records_count for header, _ in iterate_batches(records)] == [1, 4, 1]
    assert [record.value for record in read_record_set(records)] == [b"v0", b"v1", b"v1", b"v1", b"v2", b"v3"]


def test_elements_are_repeated_and_counted() -> None:
    message = decoded(changed(Mutation.duplicate("topic_data[0]"), Mutation.delete("topic_data[2].partition_data[0]")))
    assert [topic.name for topic in message.topic_data] == ["orders", "orders", "payments"]
    assert [partition.index for partition in message.topic_data[2].partition_data] == [4]


def test_a_count_that_is_set_is_never_computed() -> None:
    data = changed(Mutation.set("topic_data.count", 200), Mutation.duplicate("topic_data[0]"))
    with pytest.raises(MessageDecodeError, match=r"topic_data"):
        decoded(data)


def test_an_array_takes_a_list_of_structs_or_dicts() -> None:
    topic = TopicProduceData(name="t", partition_data=[])
    message = decoded(changed(Mutation.set("topic_data", [topic, {"name": "u", "partition_data": []}])))
    assert [topic.name for topic in message.topic_data] == ["t", "u"]


def test_null_is_written_even_where_it_is_not_allowed() -> None:
    with pytest.raises(MessageDecodeError, match=r"topic_data\[0\]\.name.*never null"):
        decoded(changed(Mutation.set("topic_data[0].name", None)))
    assert decoded(changed(Mutation.set(RECORDS, None))).topic_data[1].partition_data[0].records is None


def test_raw_bytes_replace_a_field_with_its_length() -> None:
    data = changed(Mutation.raw("topic_data[0].name", b"\xff\xff\xff\xff\xff\x01"))
    with pytest.raises(MessageDecodeError, match="varint is longer than 5 bytes"):
        decoded(data)


def test_lengthen_and_shorten_are_inverse() -> None:
    for path in ("topic_data[1].name", RECORDS, f"{RECORDS}.batch[1]", f"{RECORDS}.batch[1].record[1].value", "acks"):
        grown = changed(Mutation.lengthen(path, by=5, fill=b"ab"))
        assert len(grown) > len(frame())
        assert changed(Mutation.lengthen(path, by=5, fill=b"ab"), Mutation.shorten(path, by=5)) == frame()


def test_a_shorter_batch_has_a_right_length_and_checksum() -> None:
    records = records_of(changed(Mutation.shorten(f"{RECORDS}.batch[1]", by=3)))
    for _, data in iterate_batches(records):
        check_batch(data)
    assert len(records) == len(records_of(frame())) - 3


def test_a_cut_ends_the_frame_and_only_its_size_knows() -> None:
    data = changed(Mutation.cut("topic_data[1].name", offset=3))
    assert frame().startswith(data[4:], 4)
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    with pytest.raises(MessageDecodeError, match=r"topic_data\[1\]\.name"):
        decoded(data)
    assert changed(Mutation.cut("topic_data[1].name", offset=3), reframe=False)[:4] == frame()[:4]


def test_a_cut_of_a_record_set_ends_it_inside_of_a_batch_and_the_message_goes_on() -> None:
    data = changed(Mutation.cut(f"{RECORDS}.batch[1].record[1].value", of=RECORDS))
    records = records_of(data)
    assert records == records_of(frame())[: len(records)]
    assert [header.records_count for header, _ in iterate_batches(records)] == [1]
    assert decoded(data).topic_data[1].partition_data[1].index == 4


def test_a_cut_of_an_array_counts_what_is_left() -> None:
    message = decoded(changed(Mutation.cut("topic_data[1]", of="topic_data")))
    assert [topic.name for topic in message.topic_data] == ["orders"]


def test_tags_are_addressed_set_repeated_and_made_up() -> None:
    data = ProduceRequest(acks=1, topic_data=[])
    data.unknown_tags = [(90, b"x"), (91, b"y")]
    body = data.encode(9)
    bigger = mutate_message(ProduceRequest, 9, body, [Mutation.set("unknown_tags[1]", b"yyy")])
    assert ProduceRequest.decode(9, bigger).unknown_tags == [(90, b"x"), (91, b"yyy")]
    twice = mutate_message(ProduceRequest, 9, body, [Mutation.duplicate("unknown_tags[0]")])
    assert ProduceRequest.decode(9, twice).unknown_tags == [(90, b"x"), (90, b"x"), (91, b"y")]
    lying = mutate_message(ProduceRequest, 9, body, [Mutation.set("unknown_tags[0].size", 100)])
    with pytest.raises(MessageDecodeError, match="tag 90: length 100"):
        ProduceRequest.decode(9, lying)


def test_a_tagged_field_at_its_default_is_put_on_the_wire() -> None:
    body = UpdateMetadataRequest(controller_id=1).encode(8)
    data = mutate_message(UpdateMetadataRequest, 8, body, [Mutation.set("type", 2)])
    assert UpdateMetadataRequest.decode(8, data).type == 2
    again = mutate_message(UpdateMetadataRequest, 8, data, [Mutation.set("type", 1), Mutation.set("type.size", 9)])
    assert again == data[:-3] + b"\x00\x09\x01"
    assert mutate_message(UpdateMetadataRequest, 8, data, [Mutation.delete("type")]) == body


def legacy(value: bytes, *, magic: int = 1, attributes: int = 0, offset: int = 0) -> bytes:
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", 5) if magic else b"")
    body += struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
    body = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(body)) + body


@pytest.mark.parametrize("magic", [0, 1])
def test_a_message_of_an_old_magic_gets_a_new_size_and_checksum(magic: int) -> None:
    data = mutate_record_set(
        legacy(b"a", magic=magic) + legacy(b"b", magic=magic), [Mutation.set("message[1].value", b"longer")]
    )
    assert data == legacy(b"a", magic=magic) + legacy(b"longer", magic=magic)


def test_a_compressed_message_set_is_compressed_anew_around_a_change() -> None:
    wrapper = legacy(zlib.compress(legacy(b"a") + legacy(b"b", offset=1), wbits=31), attributes=1)
    data = mutate_record_set(wrapper, [Mutation.set("message[0].value.message[1].value", b"new")])
    (value_size,) = struct.unpack_from(">i", data, 30)
    assert zlib.decompress(data[34 : 34 + value_size], wbits=31) == legacy(b"a") + legacy(b"new", offset=1)
    assert len(data) == 34 + value_size
    assert struct.unpack_from(">I", data, 12)[0] == zlib.crc32(data[16:])


@pytest.mark.parametrize(
    ("path", "reason", "nearest"),
    [
        ("topic_dat[0].name", "has no field 'topic_dat': did you mean topic_data?", ("topic_data",)),
        ("topic_data[1].partition_data[5].index", "no partition_data[5]: it has 2 elements (0 to 1)", ()),
        ("topic_data.name", "is an array of 2: use topic_data[0].name", ()),
        ("acks[0]", "acks is not an array: it is int16", ()),
        ("acks.low", "acks (int16) has no 'low' inside", ()),
        (f"{RECORDS}.batch[3].crc", "no batch[3]: it has 3 elements (0 to 2)", ()),
        (f"{RECORDS}.message[0]", "it is batch[0]", ("batch",)),
        (f"{RECORDS}.batch[0].crcs", "did you mean crc?", ("crc",)),
        (f"{RECORDS}.batch[0].record[7]", "it has 1 element (0 to 0)", ()),
        ("topic_data[x]", "'topic_data[x]' is neither name nor name[index]", ()),
        ("", "a path has 1 to 1000 characters", ()),
        ("header.clientid", "did you mean client_id?", ("client_id",)),
    ],
)
def test_an_unknown_path_is_named_with_its_unknown_part(path: str, reason: str, nearest: tuple[str, ...]) -> None:
    with pytest.raises(UnknownFieldPath) as raised:
        changed(Mutation.delete(path))
    assert reason in str(raised.value)
    assert raised.value.path == path
    assert raised.value.nearest == nearest


@pytest.mark.parametrize(
    ("mutation", "reason"),
    [
        (Mutation.set("acks", 40_000), "40000 is not a valid int16"),
        (Mutation.set("acks", "all"), "'all' is not a valid int16"),
        (Mutation.set("topic_data", 7), "7 is not a valid []TopicProduceData"),
        (Mutation.set("topic_data", [7]), "[7] is not a valid []TopicProduceData"),
        (Mutation.set("topic_data", [{"name": 7, "partition_data": []}]), "7 is no text"),
        (Mutation.set("topic_data[0].name", 7), "7 is neither text nor bytes"),
        (Mutation.set("topic_data[0]", {"name": "t"}), "is not a valid TopicProduceData"),
        (Mutation.set(f"{RECORDS}.batch[0]", 7), "use Mutation.raw"),
        (Mutation.raw("acks", "text"), "'text' is not bytes"),  # type: ignore[arg-type]
        (Mutation.shorten("acks", by=3), "it holds 2 bytes"),
        (Mutation.lengthen("acks", fill=b""), "nothing to add"),
        (Mutation.lengthen("acks", by=1 << 30), "GROWTH_BYTES_MAX"),
        (Mutation.duplicate("topic_data[1]", times=10**9), "GROWTH_BYTES_MAX"),
        (Mutation.duplicate("topic_data[1]", times=10_000), "GROWTH_PARTS_MAX"),
        (Mutation.cut("acks", offset=9), "it has 2 bytes"),
        (Mutation.cut("acks", of="timeout_ms"), "not inside of timeout_ms"),
    ],
)
def test_an_impossible_change_has_a_reason(mutation: Mutation, reason: str) -> None:
    with pytest.raises(MutationError) as raised:
        changed(mutation)
    assert reason in str(raised.value)
    assert str(raised.value).startswith(mutation.path)


def test_a_string_too_long_for_its_length_is_refused_unless_the_length_stays() -> None:
    huge: dict[str, Any] = {"version": 3}
    with pytest.raises(MutationError, match=r"topic_data\[0\]\.name\.length: 40000 does not fit int16"):
        changed(Mutation.set("topic_data[0].name", "n" * 40_000), **huge)
    kept = changed(Mutation.set("topic_data[0].name", "n" * 40_000), reframe=Reframe(lengths=False), **huge)
    assert len(kept) == len(frame(3)) + 40_000 - len("orders")


def test_paths_are_listed_in_wire_order() -> None:
    paths = frame_paths(frame(), "Produce", Kind.REQUEST, 9)
    assert paths[:3] == ["frame_size", "header", "header.request_api_key"]
    assert f"{RECORDS}.batch[1].record[1].header[0].value.length" in paths
    assert "topic_data[1].partition_data[0].unknown_tags.count" in paths
    assert message_paths(ProduceRequest, 9, request(b"").encode(9))[0] == "transactional_id"


def test_a_broken_frame_is_refused_with_its_place() -> None:
    with pytest.raises(MessageDecodeError, match=r"topic_data\[1\]"):
        mutate_frame(frame()[:-20], "Produce", Kind.REQUEST, 9, [])
    with pytest.raises(MutationError, match="2 bytes: a frame begins with a size of 4"):
        mutate_frame(b"\0\0", "Produce", Kind.REQUEST, 9, [])


def test_a_frame_is_a_request_or_a_response() -> None:
    with pytest.raises(MutationError, match="use mutate_message"):
        mutate_frame(frame(), "Produce", Kind.DATA, 9, [])


def test_a_record_set_that_no_path_leads_into_has_no_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field_parts, "annotate_record_set", None)
    assert decoded(changed(Mutation.set("acks", 1), Mutation.set(RECORDS, b""))).acks == 1


def test_records_after_the_limit_have_no_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field_parts, "FIELDS_MAX", 40)
    assert changed() == frame()
    with pytest.raises(UnknownFieldPath, match=r"no batch\[2\].*FIELDS_MAX=40"):
        changed(Mutation.delete(f"{RECORDS}.batch[2].record[0].key"))
    assert changed(Mutation.delete(f"{RECORDS}.batch[1]"))


def test_a_decompression_bomb_stays_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field_parts, "DECOMPRESSED_BYTES_MAX", 1000)
    bomb = batch(bytes(10_000), codec=CompressionCodec.GZIP)
    with pytest.raises(UnknownFieldPath, match="limit_bytes"):
        mutate_record_set(bomb, [Mutation.delete("batch[0].record[0]")])
    assert mutate_record_set(bomb, [Mutation.set("batch[0].crc", 1)])[17:21] == b"\0\0\0\1"
