"""Cuts the bytes of one direction into frames. After missing bytes it searches for the next plausible frame.

Frames are cut by their size as NetworkReceive does. Without a known beginning (the capture began in the middle, or lost
bytes) a request is recognized by its header, a response by the correlation id of an outstanding request.
"""

from __future__ import annotations

import codecs
import re
import struct
from typing import TYPE_CHECKING, Final

from protocol_specs.api_key import ApiKey
from protocol_specs.registry import request_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FRAME_BYTES_MAX: Final = 104_857_600
"""The size limit of a plausible frame: Kafka's default of socket.request.max.bytes."""

_LEAST_REQUEST: Final = 8
_LEAST_RESPONSE: Final = 4
_VERSIONS_MAX: Final = 64
_CLIENT_ID_BYTES_MAX: Final = 1024
_REQUEST_START: Final = re.compile(rb"(?=[\x00-\x06]...\x00[\x00-\x5c]\x00[\x00-\x3f])", re.DOTALL)
_SIZE: Final = struct.Struct(">i")
_UTF8: Final = codecs.getincrementaldecoder("utf-8")


class FrameCutter:
    """Takes the bytes of one direction and returns whole frames. `synced`: a frame begins with the buffer."""

    __slots__ = ("_buffer", "_start", "find", "synced")

    def __init__(self, *, synced: bool) -> None:
        self.synced = synced
        self.find: Callable[[bytes, int], int | None] = request_start
        self._buffer = bytearray()
        self._start = 0

    @property
    def buffered_bytes(self) -> int:
        """The number of buffered bytes of an unfinished frame."""
        return len(self._buffer) - self._start

    def receive(self, data: bytes) -> None:
        """Take bytes."""
        if self._start:
            del self._buffer[: self._start]
            self._start = 0
        self._buffer += data

    def drop(self) -> int:
        """Drop the buffered bytes, because the bytes after them are missing; return their number."""
        dropped = self.buffered_bytes
        self._buffer.clear()
        self._start = 0
        self.synced = False
        return dropped

    def take(self) -> bytes | None:
        """The next whole frame, with its size; None if it is incomplete. An invalid size clears `synced`."""
        if not self.synced and not self._synchronise():
            return None
        if self.buffered_bytes < 4:
            return None
        (size,) = _SIZE.unpack_from(self._buffer, self._start)
        if not 0 <= size <= FRAME_BYTES_MAX:
            return self._take_broken()
        stop = self._start + 4 + size
        if stop > len(self._buffer):
            return None
        frame = bytes(self._buffer[self._start : stop])
        self._start = stop
        return frame

    def peek(self, count: int) -> bytes:
        """The next bytes, up to so many."""
        return bytes(self._buffer[self._start : self._start + count])

    def _take_broken(self) -> bytes:
        """Take all buffered bytes: the beginning of the next frame is unknown."""
        broken = bytes(self._buffer[self._start :])
        self.drop()
        return broken

    def _synchronise(self) -> bool:
        data = self.peek(self.buffered_bytes)
        found = self.find(data, 0)
        if found is not None:
            self._start += found
            self.synced = True
            return True
        # A frame may begin in the last bytes; the bytes before them are searched already.
        keep = 12 + _CLIENT_ID_BYTES_MAX
        self._start += max(0, len(data) - keep)
        return False


def request_start(data: bytes, position: int) -> int | None:
    """The position of the first plausible request frame at or after `position`."""
    for match in _REQUEST_START.finditer(data, position):
        if is_request_start(data, match.start()):
            return match.start()
    return None


def response_start(outstanding: Iterable[int]) -> Callable[[bytes, int], int | None]:
    """Make a function that finds the first plausible response frame with one of these correlation ids."""

    def find(data: bytes, position: int) -> int | None:
        best: int | None = None
        for correlation_id in outstanding:
            wanted = _SIZE.pack(correlation_id)
            at = data.find(wanted, position + 4)
            while at >= 0 and (best is None or at - 4 < best):
                (size,) = _SIZE.unpack_from(data, at - 4)
                if _LEAST_RESPONSE <= size <= FRAME_BYTES_MAX:
                    best = at - 4
                    break
                at = data.find(wanted, at + 1)
        return best

    return find


def is_request_start(data: bytes, position: int) -> bool:
    """True if a request frame may begin here: a plausible size, a known API and version, a printable client id."""
    if len(data) - position < 12:
        return False
    size, api_key, version = struct.unpack_from(">ihh", data, position)
    if not _LEAST_REQUEST <= size <= FRAME_BYTES_MAX or api_key not in _VERSIONS or not 0 <= version <= _VERSIONS_MAX:
        return False
    if version not in _versions(api_key) and not _is_api_versions(api_key):
        return False
    if api_key == 7 and version == 0:
        return True
    if len(data) - position < 14:
        return False
    (length,) = struct.unpack_from(">h", data, position + 12)
    if not -1 <= length <= min(size - 10, _CLIENT_ID_BYTES_MAX):
        return False
    client_id = data[position + 14 : position + 14 + max(0, length)]
    return _is_text(client_id)


def _is_text(data: bytes) -> bool:
    """True if bytes are printable UTF-8, possibly cut at the end."""
    try:
        return _UTF8().decode(data).isprintable()
    except UnicodeDecodeError:
        return False


def _is_api_versions(api_key: int) -> bool:
    return api_key == 18


_VERSIONS: Final[dict[int, range | None]] = dict.fromkeys(ApiKey)


def _versions(api_key: int) -> range:
    known = _VERSIONS[api_key]
    if known is None:
        declared = request_type(api_key).VERSIONS
        known = _VERSIONS[api_key] = range(declared.lowest, declared.highest + 1)
    return known
