"""A proxy before one broker that records the requests of a client, and points the client to itself.

The addresses in Metadata and FindCoordinator responses are replaced by the proxy's, so that every connection of the
client passes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory

from protocol_specs.framing import FrameReader, decode_request_header, decode_response, encode_response
from protocol_specs.registry import request_type, response_type
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RecordedRequest", "RecordingProxy"]

FRAME_BYTES_MAX = 200_000_000
METADATA, FIND_COORDINATOR = 3, 10


@dataclass(slots=True, frozen=True)
class RecordedRequest:
    """One request; connections are counted from 1."""

    connection: int
    api: str
    version: int
    body: Any
    correlation_id: int


class RecordingProxy:
    """Listens while it is used in a `with`."""

    def __init__(self, server: str) -> None:
        host, _, port = server.rpartition(":")
        self.server = host, int(port)
        self.requests: list[RecordedRequest] = []
        self.connections = 0
        self.is_held = False
        """True while requests wait: nothing that a client does later can come after their responses."""
        self._clients: list[_FromClient] = []
        self._thread = ReactorThread("recording proxy")
        factory = ServerFactory()
        factory.noisy = False
        factory.buildProtocol = lambda _: self._accept()  # type: ignore[method-assign]
        listening = self._thread.call(lambda: self.reactor.listenTCP(0, factory, interface="127.0.0.1"))
        self.port: int = listening.getHost().port

    @property
    def reactor(self) -> Any:
        return self._thread.reactor

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _accept(self) -> _FromClient:
        client = _FromClient(self)
        self._clients.append(client)
        return client

    def release(self) -> None:
        """Forward what waits, and all later requests at once."""
        self._thread.call(self._release)

    def _release(self) -> None:
        self.is_held = False
        for client in self._clients:
            client.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.stop()


class _Framed(Protocol):  # type: ignore[misc]  # Twisted's class is untyped
    def __init__(self) -> None:
        self.reader = FrameReader(limit_bytes=FRAME_BYTES_MAX, option="the recording proxy")

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        for frame in self.reader.receive(data):
            self.received(bytes(frame))

    def received(self, frame: bytes) -> None:
        raise NotImplementedError


class _FromClient(_Framed):
    def __init__(self, proxy: RecordingProxy) -> None:
        super().__init__()
        self.proxy = proxy
        proxy.connections += 1
        self.number = proxy.connections
        self.awaited: dict[int, tuple[int, int, bytes]] = {}
        self.server: _ToServer | None = None
        self.waiting: list[bytes] = []

    def connectionMade(self) -> None:  # noqa: N802 - Twisted's name
        factory = ClientFactory()
        factory.noisy = False
        factory.buildProtocol = lambda _: _ToServer(self)  # type: ignore[method-assign]
        self.proxy.reactor.connectTCP(*self.proxy.server, factory)

    def received(self, frame: bytes) -> None:
        header, position = decode_request_header(frame)
        key, version = header.request_api_key, header.request_api_version
        body = request_type(key).decode_from(version, frame, position)[0]
        self.proxy.requests.append(RecordedRequest(self.number, type(body).NAME, version, body, header.correlation_id))
        if key in (METADATA, FIND_COORDINATOR):
            self.awaited[header.correlation_id] = key, version, frame
        self.waiting.append(len(frame).to_bytes(4, "big") + frame)
        self.flush()

    def flush(self) -> None:
        if self.server is not None and not self.proxy.is_held:
            waiting, self.waiting = self.waiting, []
            for data in waiting:
                self.server.transport.write(data)

    def connectionLost(self, reason: Any = None) -> None:  # noqa: ARG002, N802 - Twisted's name
        if self.server is not None:
            self.server.transport.loseConnection()


class _ToServer(_Framed):
    def __init__(self, client: _FromClient) -> None:
        super().__init__()
        self.client = client

    def connectionMade(self) -> None:  # noqa: N802 - Twisted's name
        self.client.server = self
        self.client.flush()

    def received(self, frame: bytes) -> None:
        correlation_id = int.from_bytes(frame[:4], "big")
        awaited = self.client.awaited.pop(correlation_id, None)
        if awaited is None:
            self.client.transport.write(len(frame).to_bytes(4, "big") + frame)
            return
        key, version, _ = awaited
        response = _decoded(key, version, frame)
        port = self.client.proxy.port
        for place in [*getattr(response, "brokers", ()), *getattr(response, "coordinators", ())]:
            place.host, place.port = "127.0.0.1", port
        if key == FIND_COORDINATOR and not response.coordinators:
            response.host, response.port = "127.0.0.1", port
        self.client.transport.write(encode_response(response, version, correlation_id=correlation_id))

    def connectionLost(self, reason: Any = None) -> None:  # noqa: ARG002, N802 - Twisted's name
        self.client.transport.loseConnection()


def _decoded(key: int, version: int, frame: bytes) -> Any:
    kind: Callable[..., Any] = response_type(key)
    return decode_response(kind, version, frame)[1]
