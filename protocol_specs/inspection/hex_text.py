"""Parses hex text: with spaces, newlines, colons, 0x, and the offsets and text columns of xxd and hexdump -C."""

from __future__ import annotations

import re
from typing import Final

from protocol_specs.inspection.errors import InputError

_OFFSET: Final = re.compile(r"^\s*[0-9a-fA-F]{4,16}(?::\s|  +)", re.MULTILINE)
# The text column may contain hex digits too: it follows 16 bytes, or more than two spaces.
_DUMP_LINE: Final = re.compile(r"^\s*([0-9a-fA-F]{4,16})(?::\s|  +)((?:[0-9a-fA-F]{2}[ \t]{0,2}){0,16})(?:[\s|].*)?$")
_SEPARATORS: Final = re.compile(r"0[xX]|\\x|[\s:,;]+")
_NO_DIGIT: Final = re.compile(r"[^0-9a-fA-F]")


def bytes_of_hex(text: str, source: str) -> bytes:
    """The bytes of hex digits. Raises InputError with the text, its place and the expected form."""
    if _OFFSET.match(text) and (dumped := _dump(text)) is not None:
        return dumped
    return bytes_of_digits(_SEPARATORS.sub("", text), source)


def bytes_of_digits(digits: str, source: str, place: str = "") -> bytes:
    """The bytes of hex digits without separators. Raises InputError."""
    stray = _NO_DIGIT.search(digits)
    if stray is not None:
        raise InputError(source, place, f"{stray.group()!a} is no hex digit (digit {stray.start() + 1})")
    if len(digits) % 2:
        raise InputError(
            source, place, f"{len(digits)} hex digits, an odd number: half a byte is missing after {digits[-7:]!r}"
        )
    return bytes.fromhex(digits)


def looks_like_hex(text: str) -> bool:
    """True if text looks like hex: digits and separators, or a dump with offsets."""
    if _OFFSET.match(text) and _dump(text) is not None:
        return True
    digits = _SEPARATORS.sub("", text)
    return bool(digits) and _NO_DIGIT.search(digits) is None


def _dump(text: str) -> bytes | None:
    """The bytes of a dump with offsets; None if the offsets are not consecutive, so that it is no dump."""
    data = bytearray()
    for line in text.splitlines():
        if not line.strip():
            continue
        fitting = _DUMP_LINE.match(line)
        if fitting is None:
            bare = line.strip()
            # hexdump -C ends with the offset alone.
            return bytes(data) if _NO_DIGIT.search(bare) is None and int(bare, 16) == len(data) else None
        if int(fitting.group(1), 16) != len(data):
            return None
        data += _dumped_bytes(fitting.group(2))
    return bytes(data)


def _dumped_bytes(digits: str) -> bytes:
    return bytes.fromhex("".join(digits.split()))
