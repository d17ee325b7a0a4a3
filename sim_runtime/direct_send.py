"""Bytes straight into a kernel socket: one system call, where a Twisted transport's buffered write takes four."""

from __future__ import annotations

from twisted.internet import tcp

__all__ = ["is_plain_socket", "send_at_once"]


def is_plain_socket(transport: object) -> bool:
    """Whether a transport is a socket of the kernel and nothing else: TLS and simulated ones have buffers of theirs."""
    return isinstance(transport, tcp.Connection) and not transport.TLS


def send_at_once(transport: tcp.Connection, data: bytes) -> bytes:
    """Send what the socket takes now; answers the rest, for `transport.write`, which has to have nothing buffered.

    A lost connection takes nothing: the buffered write then finds it out in order.
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
