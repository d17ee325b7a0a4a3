"""The event digest: one hash over all reported events of a run, equal for two runs of one seed."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

__all__ = ["DigestPart", "EventDigest"]

DigestPart: TypeAlias = int | str | bytes | bytearray | memoryview | float | bool | None


class EventDigest:
    """Hash events made of plain values. Types and lengths are hashed too: ("ab",) and ("a", "b") differ."""

    __slots__ = ("_hash", "count")

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self.count = 0

    def update(self, *parts: DigestPart) -> None:
        """Add one event."""
        encoded = [b"(%d:" % len(parts)]
        for part in parts:
            if type(part) is int:
                encoded.append(b"i%d;" % part)
            elif type(part) is str:
                encoded.append(_encode_text(part))
            else:
                encoded.append(_encode_part(part))
        self._hash.update(b"".join(encoded))
        self.count += 1

    def hexdigest(self) -> str:
        """The digest of all events so far."""
        return self._hash.hexdigest()


def _encode_text(text: str) -> bytes:
    encoded = text.encode("utf-8", "surrogatepass")
    return b"s%d:%b" % (len(encoded), encoded)


def _encode_part(part: DigestPart) -> bytes:
    if part is None:
        return b"n;"
    if isinstance(part, bool):
        return b"t;" if part else b"f;"
    if isinstance(part, int):  # IntEnum and the like count as their number
        return b"i%d;" % int(part)
    if isinstance(part, str):
        return _encode_text(part)
    if isinstance(part, (bytes, bytearray, memoryview)):
        content = bytes(part)
        return b"b%d:" % len(content) + content
    if isinstance(part, float):
        return f"d{part.hex()};".encode()
    raise TypeError(f"an event digest takes int, str, bytes, float, bool and None, not {type(part).__name__}: {part!r}")
