"""How exactly toxics act on real sockets, in both directions; with `--toxiproxy SERVER` beside Toxiproxy itself.

    python benchmarks/toxics.py
    python benchmarks/toxics.py --toxiproxy ./toxiproxy-server

The client blocks in the main thread; the server runs on a reactor thread. Each row is the median and the worst of some
connections: latency as the time beyond the expected one, bandwidth as the share of the expected rate.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import struct
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final
from urllib.request import Request, urlopen

sys.path.insert(0, str(Path(__file__).parents[1]))

from twisted.internet.protocol import Protocol, ServerFactory

from sim_runtime.reactor_thread import ReactorThread
from sim_runtime.shaped_transport import ShapedTransport
from sim_runtime.toxics import toxic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROUNDS: Final = 7
API: Final = "http://127.0.0.1:18474"
PROXY_PORT: Final = 18475
ECHO, SINK, SOURCE = b"e", b"i", b"o"
_COMMAND: Final = struct.Struct(">cI")


class _Server(Protocol):
    """The first five bytes choose: echo all, acknowledge n bytes by one, or send n bytes."""

    transport: Any
    toxics: list[tuple[str, str, Mapping[str, int]]] = []

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._mode = b""
        self._left = 0
        self._first = b""

    def connectionMade(self) -> None:  # noqa: N802
        self.transport.setTcpNoDelay(True)
        if self.toxics:
            shaped = ShapedTransport(self._reactor, self.transport, self, closed=lambda _: None)
            self.transport = shaped
            for name, stream, attributes in self.toxics:
                line = shaped.upstream if stream == "upstream" else shaped.downstream
                line.add(toxic(name, attributes).stage(line, Random(1)))

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if not self._mode:
            self._first += data
            if len(self._first) < _COMMAND.size:
                return
            self._mode, self._left = _COMMAND.unpack(self._first[: _COMMAND.size])
            data = self._first[_COMMAND.size :]
            if self._mode == SOURCE:
                self.transport.write(bytes(self._left))
        if self._mode == ECHO and data:
            self.transport.write(data)
        if self._mode == SINK:
            self._left -= len(data)
            if self._left <= 0:
                self.transport.write(b"!")


def _connected(port: int, mode: bytes, count: int = 0) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=30)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.sendall(_COMMAND.pack(mode, count))
    return client


def _received(client: socket.socket, count: int) -> int:
    left = count
    while left and (data := client.recv(min(left, 1 << 18))):
        left -= len(data)
    return count - left


def _latency_ms(port: int, _stream: str) -> float:
    with _connected(port, ECHO) as client:
        begin_s = time.perf_counter()
        client.sendall(b"x")
        _received(client, 1)
        return (time.perf_counter() - begin_s) * 1000


def _rate(size: int) -> Callable[[int, str], float]:
    def measure(port: int, stream: str) -> float:
        upstream = stream == "upstream"
        begin_s = time.perf_counter()
        with _connected(port, SINK if upstream else SOURCE, size) as client:
            if upstream:
                client.sendall(bytes(size))
            _received(client, 1 if upstream else size)
            return size / (time.perf_counter() - begin_s)

    return measure


def _end_ms(port: int, stream: str) -> float:
    """The time until the client sees the end, after a byte in the direction."""
    with _connected(port, SINK if stream == "upstream" else SOURCE, 1) as client:
        begin_s = time.perf_counter()
        client.sendall(b"x")
        try:
            while client.recv(100):
                pass
            ended = 0.0
        except ConnectionResetError:
            ended = 1e6
        return (time.perf_counter() - begin_s) * 1000 + ended


def _bytes_before_end(port: int, _stream: str) -> float:
    with _connected(port, SOURCE, 100_000) as client:
        return _received(client, 100_000)


def _sliced_ms(port: int, _stream: str) -> float:
    with _connected(port, SOURCE, 2_000) as client:
        begin_s = time.perf_counter()
        _received(client, 2_000)
        return (time.perf_counter() - begin_s) * 1000


class _Ours:
    name = "ours"

    def __init__(self, port: int) -> None:
        self.port = port

    @contextmanager
    def with_toxic(self, name: str, stream: str, attributes: Mapping[str, int]) -> Iterator[None]:
        _Server.toxics = [(name, stream, attributes)]
        yield
        _Server.toxics = []


class _Toxiproxy:
    name = "Toxiproxy"

    def __init__(self, port: int) -> None:
        self.port = PROXY_PORT
        proxy = {"name": "p", "listen": f"127.0.0.1:{PROXY_PORT}", "upstream": f"127.0.0.1:{port}", "enabled": True}
        _post("/proxies", proxy)

    @contextmanager
    def with_toxic(self, name: str, stream: str, attributes: Mapping[str, int]) -> Iterator[None]:
        _post("/proxies/p/toxics", {"name": "t", "type": name, "stream": stream, "attributes": attributes})
        yield
        urlopen(Request(f"{API}/proxies/p/toxics/t", method="DELETE")).close()


def _post(path: str, body: Mapping[str, object]) -> None:
    data = json.dumps(body).encode()
    urlopen(Request(API + path, data=data, headers={"Content-Type": "application/json"})).close()


CASES: Final[list[tuple[str, Mapping[str, int], Callable[[int, str], float], float, str]]] = [
    ("latency", {"latency": 5}, _latency_ms, 5, "ms"),
    ("latency", {"latency": 50}, _latency_ms, 50, "ms"),
    ("latency", {"latency": 200}, _latency_ms, 200, "ms"),
    ("bandwidth", {"rate": 100}, _rate(50_000), 100_000, "B/s"),
    ("bandwidth", {"rate": 1_000}, _rate(1_000_000), 1_000_000, "B/s"),
    ("bandwidth", {"rate": 20_000}, _rate(20_000_000), 20_000_000, "B/s"),
    ("timeout", {"timeout": 100}, _end_ms, 100, "ms"),
    ("reset_peer", {"timeout": 100}, _end_ms, 100 + 1e6, "ms"),
    ("limit_data", {"bytes": 30_000}, _bytes_before_end, 30_000, "bytes"),
    ("slicer", {"average_size": 100, "size_variation": 20, "delay": 5_000}, _sliced_ms, 0, "ms"),
]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toxiproxy", metavar="SERVER", help="the program of Toxiproxy's server, to compare with")
    options = parser.parse_args()
    with ExitStack() as stack:
        thread = stack.enter_context(ReactorThread("toxics"))
        factory = ServerFactory()
        factory.noisy = False
        factory.buildProtocol = lambda _: _Server(thread.reactor)  # type: ignore[method-assign]
        port = thread.call(lambda: thread.reactor.listenTCP(0, factory, interface="127.0.0.1")).getHost().port
        subjects: list[Any] = [_Ours(port)]
        if options.toxiproxy:
            program = [options.toxiproxy, "-host", "127.0.0.1", "-port", API.rpartition(":")[2]]
            running = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(running.wait)
            stack.callback(running.terminate)
            time.sleep(1)
            subjects.append(_Toxiproxy(port))
        for name, attributes, measure, expected, unit in CASES:
            for stream in ("upstream", "downstream"):
                if stream == "upstream" and name in ("limit_data", "slicer"):
                    continue
                for subject in subjects:
                    with subject.with_toxic(name, stream, attributes):
                        figures = [measure(subject.port, stream) for _ in range(ROUNDS)]
                    _print(f"{name} {dict(attributes)} {stream}", subject.name, figures, expected, unit)


def _print(what: str, who: str, figures: list[float], expected: float, unit: str) -> None:
    worst = max(figures, key=lambda figure: abs(figure - expected))
    median = statistics.median(figures)
    print(f"{what:75} {who:10} median {median:14.1f} worst {worst:14.1f} expected {expected:12.0f} {unit}")


if __name__ == "__main__":
    main()
