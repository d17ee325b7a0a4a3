from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from sim_runtime.direct_send import PARTS_MAX, is_plain_socket, send_at_once, send_parts_at_once

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


@pytest.mark.parametrize("sizes", [[5], [1, 0, 3], [1] * (2 * PARTS_MAX + 7), [3, len(LARGE)]])
def test_parts_are_sent_and_the_rest_is_returned_as_for_one_sequence_of_bytes(
    ends: tuple[Any, socket.socket], sizes: list[int]
) -> None:
    transport, other = ends
    parts, start = [], 0
    for size in sizes:
        parts.append(LARGE[start : start + size])
        start += size
    rest = send_parts_at_once(transport, parts)
    assert (rest == b"") == (sum(sizes) < len(LARGE))
    assert received(other) + rest == b"".join(parts)


def test_a_full_socket_takes_no_part(ends: tuple[Any, socket.socket]) -> None:
    transport, _ = ends
    send_at_once(transport, LARGE)
    assert send_parts_at_once(transport, [b"a", b"b"]) == b"ab"


def test_a_lost_connection_takes_nothing(ends: tuple[Any, socket.socket]) -> None:
    transport, other = ends
    other.close()
    assert send_at_once(transport, b"small") == b"small"
    assert send_parts_at_once(transport, [b"sm", b"all"]) == b"small"


def test_a_transport_without_a_kernel_socket_has_a_buffer_of_its_own() -> None:
    assert not is_plain_socket(object())
