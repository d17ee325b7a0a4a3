from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from sim_runtime.direct_send import is_plain_socket, send_at_once

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE = bytes(range(256)) * 64 * 1024
"""16 MiB: more than any socket buffer."""


@pytest.fixture
def ends() -> Iterator[tuple[Any, socket.socket]]:
    """A transport with a socket, and the other end of it."""
    one, other = socket.socketpair()
    one.setblocking(False)
    other.setblocking(False)
    yield SimpleNamespace(socket=one), other
    one.close()
    other.close()


def received(end: socket.socket) -> bytes:
    parts = []
    while True:
        try:
            parts.append(end.recv(1 << 20))
        except BlockingIOError:
            return b"".join(parts)


def test_accepted_bytes_are_sent_at_once(ends: tuple[Any, socket.socket]) -> None:
    transport, other = ends
    assert send_at_once(transport, b"small") == b""
    assert received(other) == b"small"


def test_the_rest_is_returned(ends: tuple[Any, socket.socket]) -> None:
    transport, other = ends
    rest = send_at_once(transport, LARGE)
    assert 0 < len(rest) < len(LARGE)
    assert send_at_once(transport, b"behind") == b"behind"
    assert received(other) + rest == LARGE


def test_a_lost_connection_takes_nothing(ends: tuple[Any, socket.socket]) -> None:
    transport, other = ends
    other.close()
    assert send_at_once(transport, b"small") == b"small"


def test_a_transport_without_a_kernel_socket_has_a_buffer_of_its_own() -> None:
    assert not is_plain_socket(object())
