"""Bytes straight into a kernel socket: one system call, where a Twisted transport's buffered write takes four."""

from __future__ import annotations

from twisted.internet import tcp

__all__ = ["is_plain_socket", "send_at_once"]


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
