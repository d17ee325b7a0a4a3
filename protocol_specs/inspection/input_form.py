"""The form of the input of `decode`, detected from its beginning: a capture, frames, or one message; binary or hex.

Captures and frame files are passed on as streams. Hex text is read completely, up to HEX_CHARACTERS_MAX.
"""

from __future__ import annotations

import enum
import io
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from protocol_specs.inspection.byte_source import STDIN
from protocol_specs.inspection.capture_file import is_capture
from protocol_specs.inspection.errors import InputError
from protocol_specs.inspection.frame_cutter import FRAME_BYTES_MAX, is_request_start
from protocol_specs.inspection.hex_text import bytes_of_hex, looks_like_hex

if TYPE_CHECKING:
    from collections.abc import Sequence

HEX_CHARACTERS_MAX: Final = 256 * 1024 * 1024
"""The limit on hex text: a frame of 100 MB fits."""

_START_BYTES: Final = 64 * 1024
_TEXT: Final = frozenset((*range(0x20, 0x7F), *b"\t\r\n"))
_PATH_NAME_MAX: Final = 255


class Form(enum.Enum):
    """The form of the bytes; AUTO is detected."""

    AUTO = "auto"
    CAPTURE = "capture"
    FRAMES = "frames"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """Bytes and their form."""

    form: Form
    file: IO[bytes]


def is_file_name(arguments: Sequence[str]) -> bool:
    """True if the arguments name a file or stdin, and are not hex digits."""
    if len(arguments) != 1:
        return False
    name = arguments[0]
    if name == STDIN:
        return True
    try:
        there = len(name) <= _PATH_NAME_MAX and Path(name).exists()
    except (OSError, ValueError):
        there = False
    return there or not looks_like_hex(name)


def input_of_hex(text: str, source: str, form: Form, *, bare_message: bool) -> Input:
    """The input of hex digits. Raises InputError."""
    return _of_bytes(bytes_of_hex(text, source), source, form, bare_message=bare_message)


def input_of_file(file: IO[bytes], source: str, form: Form, *, bare_message: bool) -> Input:
    """The input in a file. `bare_message`: the user has named the message. Raises InputError."""
    start = file.read(_START_BYTES)
    if not start:
        raise InputError(source, "", f"empty: {_EXPECTED}")
    rest = _Rest(start, file)
    whole = io.BufferedReader(rest)
    if form is Form.CAPTURE or (form is Form.AUTO and is_capture(start)):
        return Input(form=Form.CAPTURE, file=whole)
    if all(byte in _TEXT for byte in start):
        text = whole.read(HEX_CHARACTERS_MAX + 1).decode("latin-1")
        if len(text) > HEX_CHARACTERS_MAX:
            raise InputError(source, "", f"more text than HEX_CHARACTERS_MAX={HEX_CHARACTERS_MAX}")
        if looks_like_hex(text) or (form is Form.AUTO and not bare_message):
            return _of_text(text, source, form, bare_message=bare_message)
        return _of_bytes(text.encode("latin-1"), source, form, bare_message=bare_message)
    if form is Form.AUTO and bare_message:
        return _of_bytes(whole.read(FRAME_BYTES_MAX), source, form, bare_message=True)
    if form is Form.AUTO and not _may_be_frames(start):
        raise InputError(
            source, "", f"no capture, no hex and no frames (it begins with {start[:8].hex(' ')}): {_EXPECTED}"
        )
    return Input(form=Form.FRAMES if form is Form.AUTO else form, file=whole)


_EXPECTED: Final = (
    "expected pcap or pcapng, hex digits, frames that begin with their size, "
    "or a message with --api, --kind and --version"
)


def _of_text(text: str, source: str, form: Form, *, bare_message: bool) -> Input:
    if not text.strip():
        raise InputError(source, "", f"nothing but spaces: {_EXPECTED}")
    if not looks_like_hex(text) and not any(character.isdigit() for character in text[:2]):
        line = text.strip().splitlines()[0]
        if line.startswith("{"):
            raise InputError(source, "", "this may be JSON lines: give --jsonl")
        raise InputError(source, "", f"no capture, no hex and no frames (it begins with {line[:20]!r}): {_EXPECTED}")
    return _of_bytes(bytes_of_hex(text, source), source, form, bare_message=bare_message)


def _of_bytes(data: bytes, source: str, form: Form, *, bare_message: bool) -> Input:
    if not data:
        raise InputError(source, "", f"empty: {_EXPECTED}")
    if form is Form.AUTO:
        form = Form.CAPTURE if is_capture(data) else Form.FRAMES
        if form is Form.FRAMES and bare_message and not _is_whole_frames(data):
            form = Form.MESSAGE
    return Input(form=form, file=io.BytesIO(data))


def _is_whole_frames(data: bytes) -> bool:
    position = 0
    while position + 4 <= len(data):
        size = int.from_bytes(data[position : position + 4], "big", signed=True)
        if size < 4:
            return False
        position += 4 + size
    return position == len(data)


def _may_be_frames(start: bytes) -> bool:
    size = int.from_bytes(start[:4], "big", signed=True)
    return is_request_start(start, 0) or (4 <= size <= FRAME_BYTES_MAX and len(start) > 4)


class _Rest(io.RawIOBase):
    """A file whose beginning has already been read."""

    def __init__(self, start: bytes, file: IO[bytes]) -> None:
        super().__init__()
        self.start = start
        self.file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # of Any in typeshed
        part = self.start[: len(buffer)] or self.file.read(len(buffer))
        self.start = self.start[len(part) :]
        buffer[: len(part)] = part
        return len(part)
