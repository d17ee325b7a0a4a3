"""Clusters of any release on TCP, and a client that speaks in raw frames."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import TYPE_CHECKING, TypeVar

import pytest

from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.framing import decode_response, encode_request, framed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from protocol_specs.message import Message

    M = TypeVar("M", bound=Message)

SECONDS_MAX = 10
SIZE = struct.Struct(">i")


class RawClient:
    """One connection; `frame` returns None where the broker closed it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, SECONDS_MAX)

    def send(self, frame: bytes) -> None:
        self._socket.sendall(framed(frame))

    def frame(self, *, wait_s: float = SECONDS_MAX) -> bytes | None:
        """Return the next response. Raise TimeoutError when there is none."""
        self._socket.settimeout(wait_s)
        size = self._take(4)
        return None if size is None else self._take(SIZE.unpack(size)[0])

    def _take(self, count: int) -> bytes | None:
        data = b""
        while len(data) < count:
            try:
                piece = self._socket.recv(count - len(data))
            except ConnectionResetError:
                return None
            if not piece:
                return None
            data += piece
        return data

    def call(self, request: Message, version: int, response: type[M], *, served_as: int | None = None) -> M:
        """Return the response to a request of a version, decoded as of the same or of another version."""
        self._socket.sendall(encode_request(request, version, correlation_id=7, client_id="raw"))
        frame = self.frame()
        assert frame is not None, f"{type(request).__name__} v{version} closed the connection"
        return decode_response(response, version if served_as is None else served_as, frame)[1]

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def start() -> Iterator[Callable[..., ThreadedCluster]]:
    """Start a cluster; it ends with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda release, *topics, brokers=1, **config: stack.enter_context(
            ThreadedCluster(
                release=release,
                brokers=brokers,
                topics=topics,
                config={name.replace("_", "."): value for name, value in config.items()},
            )
        )


@pytest.fixture
def connect() -> Iterator[Callable[[ThreadedCluster], RawClient]]:
    """Connect to broker 1 of a cluster."""
    clients: list[RawClient] = []

    def new(cluster: ThreadedCluster) -> RawClient:
        host, _, port = cluster.bootstrap_servers.split(",")[0].partition(":")
        clients.append(RawClient((host, int(port))))
        return clients[-1]

    yield new
    for client in clients:
        client.close()
