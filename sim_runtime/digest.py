"""The event digest: one hash over all reported events of a run, equal for two runs of one seed."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final, TypeAlias

__all__ = ["DigestPart", "EventDigest", "encode_part", "encode_parts", "encode_text"]

TEXTS_KEPT: Final = 4096
"""Most texts of events repeat: names of APIs, topics, links and clients."""

DigestPart: TypeAlias = int | str | bytes | bytearray | memoryview | float | bool | None


class EventDigest:
    """Hash events made of plain values. Types and lengths are hashed too: ("ab",) and ("a", "b") differ."""

    __slots__ = ("_hash", "count")

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self.count = 0

    def update(self, *parts: DigestPart) -> None:
        """Add one event."""
        self.add(encode_parts(*parts))

    def add(self, encoded: bytes) -> None:
        """Add one event that is encoded as by `encode_parts`."""
        self._hash.update(encoded)
        self.count += 1

    def hexdigest(self) -> str:
        """The digest of all events so far."""
        return self._hash.hexdigest()


def encode_parts(*parts: DigestPart) -> bytes:
    """Return the bytes of one event: `(`, the number of parts, `:` and each part."""
    return b"".join((b"(%d:" % len(parts), *map(encode_part, parts)))


@lru_cache(TEXTS_KEPT)
def encode_text(text: str) -> bytes:
    """Return the bytes of a text: `s`, their number, `:` and UTF-8."""
    encoded = text.encode("utf-8", "surrogatepass")
    return b"s%d:%b" % (len(encoded), encoded)


def encode_part(part: DigestPart) -> bytes:
    """Return the bytes of one value, with its type.

    Raises:
        TypeError: the value is of another type.
    """
    if part is None:
        return b"n;"
    if isinstance(part, bool):
        return b"t;" if part else b"f;"
    if isinstance(part, int):  # IntEnum and the like count as their number
        return b"i%d;" % int(part)
    if isinstance(part, str):
        return encode_text(part)
    if isinstance(part, (bytes, bytearray, memoryview)):
        content = bytes(part)
        return b"b%d:" % len(content) + content
    if isinstance(part, float):
        return f"d{part.hex()};".encode()
    raise TypeError(f"an event digest takes int, str, bytes, float, bool and None, not {type(part).__name__}: {part!r}")
