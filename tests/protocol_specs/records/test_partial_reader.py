"""The records of a compressed batch that a broker keeps, as it reads them."""

from __future__ import annotations

from protocol_specs.records.batch_builder import encode_record_body, seal_batch
from protocol_specs.records.batch_peek import BatchHeader, peek_header
from protocol_specs.records.partial_reader import read_partially
from protocol_specs.records.varints import encode_varint

TIME_MS = 1_700_000_000_000


def header(count: int, *, base_timestamp: int = TIME_MS, attributes: int = 0) -> BatchHeader:
    return peek_header(
        seal_batch(
            b"",
            base_offset=0,
            partition_leader_epoch=-1,
            attributes=attributes,
            last_offset_delta=count - 1,
            base_timestamp=base_timestamp,
            max_timestamp=TIME_MS + 9,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            records_count=count,
        )
    )


def test_a_length_is_read_and_not_believed() -> None:
    bodies = [encode_record_body(5, 0, b"k", b"v", [("h", b"x")]), encode_record_body(-5, 1, None, b"")]
    section = b"".join(encode_varint(1_000_000) + body for body in bodies)
    first, second = read_partially(section, header(2))
    assert (first.offset, first.timestamp, first.key, first.value) == (0, TIME_MS + 5, b"k", b"v")
    assert (second.offset, second.timestamp, second.key, second.value) == (1, TIME_MS - 5, None, b"")


def test_the_time_of_an_append_time_batch_is_its_max_timestamp() -> None:
    body = encode_record_body(5, 0, b"k", b"v")
    [record] = read_partially(encode_varint(len(body)) + body, header(1, attributes=8))
    assert record.timestamp == TIME_MS + 9


def test_times_wrap_as_in_java() -> None:
    body = encode_record_body(1, 0, b"k", b"v")
    [record] = read_partially(encode_varint(len(body)) + body, header(1, base_timestamp=2**63 - 1))
    assert record.timestamp == -(2**63)
