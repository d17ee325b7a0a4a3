from __future__ import annotations

import kafka.record.util
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.errors import MalformedVarint
from protocol_specs.records import varints

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
UINT32 = st.integers(0, 2**32 - 1)


@given(INT32, st.binary(max_size=3), st.binary(max_size=3))
def test_varints_come_back_from_any_place(value: int, before: bytes, after: bytes) -> None:
    encoded = varints.encode_varint(value)
    assert len(encoded) == varints.size_of_varint(value) <= 5
    buffer = before + encoded + after
    assert varints.decode_varint(buffer, len(before)) == (value, len(before) + len(encoded))
    assert varints.decode_varint(memoryview(buffer), len(before))[0] == value


@given(INT64)
def test_varlongs_come_back(value: int) -> None:
    encoded = varints.encode_varlong(value)
    assert len(encoded) == varints.size_of_varint(value) <= 10
    assert varints.decode_varlong(encoded, 0) == (value, len(encoded))


@given(UINT32)
def test_unsigned_varints_come_back(value: int) -> None:
    encoded = varints.encode_unsigned_varint(value)
    assert len(encoded) == varints.size_of_unsigned_varint(value) <= 5
    assert varints.decode_unsigned_varint(encoded, 0) == (value, len(encoded))


@given(INT64)
def test_the_bytes_are_those_of_kafka_python(value: int) -> None:
    written = bytearray()
    kafka.record.util.encode_varint(value, written.append)
    assert varints.encode_varlong(value) == bytes(written)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (8191, "fe7f"), (8192, "808001")],
)
def test_where_zigzag_varints_grow(value: int, encoded: str) -> None:
    assert varints.encode_varint(value).hex() == encoded


def test_bits_beyond_the_width_are_dropped_as_kafka_drops_them() -> None:
    assert varints.decode_unsigned_varint(b"\xff\xff\xff\xff\x7f", 0) == (2**32 - 1, 5)
    assert varints.decode_varint(b"\xfe\xff\xff\xff\x7f", 0) == (2**31 - 1, 5)
    assert varints.decode_varlong(b"\xff" * 9 + b"\x7f", 0) == (-(2**63), 10)


def test_longer_spellings_of_a_small_number_are_accepted() -> None:
    assert varints.decode_varint(b"\x82\x80\x00", 0) == (1, 3)


@pytest.mark.parametrize("buffer", [b"", b"\x80", b"\xff\xff\xff", b"\x80" * 5, b"\xff" * 12])
def test_varints_that_do_not_end_are_refused(buffer: bytes) -> None:
    with pytest.raises(MalformedVarint):
        varints.decode_varint(buffer, 0)
    with pytest.raises(MalformedVarint):
        varints.decode_unsigned_varint(buffer, 0)


def test_varlongs_end_within_ten_bytes() -> None:
    assert varints.decode_varlong(b"\x80" * 9 + b"\x00", 0) == (0, 10)
    with pytest.raises(MalformedVarint, match="does not end after 10 bytes"):
        varints.decode_varlong(b"\x80" * 10 + b"\x00", 0)
    with pytest.raises(MalformedVarint, match="the buffer ends after 2 bytes"):
        varints.decode_varlong(b"\x00\x80\x80", 1)
    with pytest.raises(MalformedVarint, match="ends after 0 bytes"):
        varints.decode_varlong(b"", 7)


def test_numbers_outside_of_the_width_are_not_written() -> None:
    for write, value in (
        (varints.encode_varint, 2**31),
        (varints.encode_varint, -(2**31) - 1),
        (varints.encode_varlong, 2**63),
        (varints.encode_unsigned_varint, -1),
        (varints.encode_unsigned_varint, 2**32),
    ):
        with pytest.raises(ValueError, match="outside of"):
            write(value)
