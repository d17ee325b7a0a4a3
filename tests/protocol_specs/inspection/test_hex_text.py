"""Hex as people write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.inspection.errors import InputError
from protocol_specs.inspection.hex_text import bytes_of_hex, looks_like_hex

HEXDUMP = """\
00000000  00 00 00 12 00 03 00 09  00 00 00 05 00 02 6d 65  |..............me|
00000010  00 00                                             |..|
00000012
"""
XXD = """\
00000000: 0000 0012 0003 0009 0000 0005 0002 6d65  ..............me
00000010: 0000                                     ..
"""
WIRESHARK = """\
0000   00 00 00 12 00 03 00 09 00 00 00 05 00 02 6d 65   ..............ab
0010   00 00                                             ab
"""
WRITTEN = bytes.fromhex("00000012000300090000000500026d650000")


@pytest.mark.parametrize(
    "text",
    [
        HEXDUMP,
        XXD,
        XXD.replace("..\n", "ab\n"),
        WIRESHARK,
        WRITTEN.hex(),
        WRITTEN.hex(" "),
        WRITTEN.hex(":").upper(),
        "0x" + WRITTEN.hex(),
        ", ".join(f"0x{byte:02x}" for byte in WRITTEN),
        "".join(f"\\x{byte:02x}" for byte in WRITTEN),
        WRITTEN.hex("\n"),
    ],
)
def test_the_usual_forms_of_hex_are_the_same_bytes(text: str) -> None:
    assert looks_like_hex(text)
    assert bytes_of_hex(text, "HEX") == WRITTEN


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("000", "HEX: 3 hex digits, an odd number: half a byte is missing after '000'"),
        ("00 0g", "HEX: 'g' is no hex digit (digit 4)"),
        ("00\u0660", "HEX: '\\u0660' is no hex digit (digit 3)"),
    ],
)
def test_what_is_no_hex_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        bytes_of_hex(text, "HEX")
    assert str(error.value) == words


@given(st.binary(min_size=1, max_size=70), st.text(alphabet="0123456789abcdef. |", min_size=1, max_size=16))
def test_a_dump_of_any_bytes_is_those_bytes(data: bytes, text: str) -> None:
    lines = [
        f"{at:08x}: {data[at : at + 16].hex(' ', 2):<39}  {text[at % len(text) :]}" for at in range(0, len(data), 16)
    ]
    assert bytes_of_hex("\n".join(lines), "HEX") == data


@given(st.text(alphabet="0123456789abcdefx: \n\\|g", max_size=60))
def test_any_text_is_bytes_or_our_error(text: str) -> None:
    try:
        assert isinstance(bytes_of_hex(text, "HEX"), bytes)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is right
