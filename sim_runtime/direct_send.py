"""Bytes straight into a kernel socket: one system call, where a Twisted transport's buffered write takes four."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from twisted.internet import tcp

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_plain_socket", "send_at_once", "send_parts_at_once"]

PARTS_MAX: Final = 1024
"""The number of parts that one system call takes: IOV_MAX of Linux and macOS."""


def is_plain_socket(transport: object) -> bool:
    """True if a transport is a plain kernel socket: TLS and simulated ones have their own buffers."""
    return isinstance(transport, tcp.Connection) and not transport.TLS


def send_at_once(transport: tcp.Connection, data: bytes) -> bytes:
    """Send as much as the socket accepts; return the rest, for `transport.write`, whose buffer must be empty.

    A lost connection accepts nothing; the buffered write then detects the loss.
    """
    send = transport.socket.send
    try:
        sent = send(data)
        if sent == len(data):
            return b""
        rest = memoryview(data)
    except OSError:
        return data
    try:
        while sent < len(rest):
            rest = rest[sent:]
            sent = send(rest)
    except OSError:
        return bytes(rest)
    return b""


def send_parts_at_once(transport: tcp.Connection, parts: Sequence[bytes]) -> bytes:
    """Send parts one after another, without joining them; return the rest, as `send_at_once` does."""
    send = transport.socket.sendmsg
    for start in range(0, len(parts), PARTS_MAX):
        stop = start + PARTS_MAX
        try:
            sent = send(islice(parts, start, stop))
        except OSError:
            return b"".join(islice(parts, start, None))
        for index in range(start, min(stop, len(parts))):
            size = len(parts[index])
            if sent < size:
                rest = b"".join((memoryview(parts[index])[sent:], *islice(parts, index + 1, None)))
                return send_at_once(transport, rest)
            sent -= size
    return b""
