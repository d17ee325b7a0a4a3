"""asyncio's connections and servers on the simulated network."""

# ruff: noqa: ARG002
# The signatures are those of asyncio's protocols.

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from sim_runtime.process_reactor import ProcessReactor
from sim_runtime.virtual_event_loop import UnhandledInLoop, VirtualEventLoop
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

PORT = 80


class Hosts:
    """A program on each of two hosts."""

    def __init__(self) -> None:
        self.world = World(1)
        self.server = VirtualEventLoop(self.world, self.world.network.host("server"))
        self.client = VirtualEventLoop(self.world, self.world.network.host("client"))

    def serve(self, factory: Any, **options: Any) -> Any:
        return self.server.run_until_complete(self.server.create_server(factory, "0.0.0.0", PORT, **options))

    def run(self, call: Coroutine[Any, Any, Any]) -> Any:
        return self.client.run_until_complete(call)


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    made = Hosts()
    yield made
    made.client.close()
    made.server.close()


class Recorder(asyncio.Protocol):
    """Records its events; `keeps_open` is its reply to the end of the peer's bytes."""

    keeps_open = False

    def __init__(self) -> None:
        self.events: list[str] = []
        self.received = b""
        self.error: Exception | None = None
        self.loops: list[Any] = []

    def _note(self, event: str) -> None:
        self.loops.append(asyncio._get_running_loop())
        if not self.events or self.events[-1] != event:
            self.events.append(event)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._note("made")

    def data_received(self, data: bytes) -> None:
        self.received += data
        self._note("data")

    def eof_received(self) -> bool:
        self._note("end")
        return self.keeps_open

    def connection_lost(self, error: Exception | None) -> None:
        self.error = error
        self._note("lost")

    def pause_writing(self) -> None:
        self._note("pause")

    def resume_writing(self) -> None:
        self._note("resume")


class HalfOpen(Recorder):
    keeps_open = True


def pair(hosts: Hosts, client: type[Recorder] = Recorder, server: type[Recorder] = Recorder) -> tuple[Any, Any]:
    accepted: list[Recorder] = []

    def accept() -> Recorder:
        accepted.append(server())
        return accepted[0]

    hosts.serve(accept)
    _, protocol = hosts.run(hosts.client.create_connection(client, "server", PORT))
    hosts.world.run_for(ms=1)
    return protocol, accepted[0]


def test_protocols_run_on_their_own_loops(hosts: Hosts) -> None:
    client, server = pair(hosts)
    client.transport.write(b"hello")
    hosts.world.run_for(ms=1)
    client.transport.close()
    hosts.world.run_for(ms=1)
    assert server.received == b"hello"
    assert (client.events, server.events) == (["made", "lost"], ["made", "data", "end", "lost"])
    assert set(client.loops) == {hosts.client}
    assert set(server.loops) == {hosts.server}
    assert client.error is server.error is None


def test_connection_made_comes_before_create_connection_returns(hosts: Hosts) -> None:
    hosts.serve(Recorder)

    async def connect() -> list[str]:
        _, protocol = await hosts.client.create_connection(Recorder, "server", PORT)
        return list(protocol.events)

    assert hosts.run(connect()) == ["made"]


def test_addresses_are_those_of_the_hosts(hosts: Hosts) -> None:
    client, server = pair(hosts)
    name = client.transport.get_extra_info("sockname")
    assert name[0] == hosts.world.network.host("client").ip
    assert server.transport.get_extra_info("peername") == name
    assert client.transport.get_extra_info("peername") == (hosts.world.network.host("server").ip, PORT)
    assert client.transport.get_protocol() is client


def test_one_direction_closes_alone(hosts: Hosts) -> None:
    client, server = pair(hosts, server=HalfOpen)
    client.transport.write(b"request")
    assert client.transport.can_write_eof()
    client.transport.write_eof()
    hosts.world.run_for(ms=1)
    assert server.events == ["made", "data", "end"]
    with pytest.raises(RuntimeError, match="write_eof"):
        client.transport.write(b"more")
    server.transport.write(b"response")
    server.transport.close()
    hosts.world.run_for(ms=1)
    assert client.received == b"response"
    assert client.events == ["made", "data", "end", "lost"]


def test_a_reset_is_an_error_at_the_peer(hosts: Hosts) -> None:
    client, server = pair(hosts)
    client.transport.abort()
    hosts.world.run_for(ms=1)
    assert client.error is None
    assert client.transport.is_closing()
    assert isinstance(server.error, ConnectionResetError)


def test_a_full_window_pauses_writing_until_the_peer_reads(hosts: Hosts) -> None:
    client, server = pair(hosts)
    server.transport.pause_reading()
    client.transport.write(b"x" * 2_000_000)
    hosts.world.run_for(ms=10)
    assert client.events == ["made", "pause"]
    assert client.transport.get_write_buffer_size() > 1_000_000
    assert not server.transport.is_reading()
    server.transport.resume_reading()
    hosts.world.run_for(ms=10)
    assert client.events == ["made", "pause", "resume"]
    assert client.transport.get_write_buffer_size() == 0
    assert len(server.received) == 2_000_000


def test_the_limit_of_the_buffer_is_the_programs(hosts: Hosts) -> None:
    client, server = pair(hosts)
    server.transport.pause_reading()
    client.transport.set_write_buffer_limits(high=3_000_000)
    assert client.transport.get_write_buffer_limits() == (0, 3_000_000)
    client.transport.write(b"x" * 2_000_000)
    hosts.world.run_for(ms=10)
    assert client.events == ["made"]
    client.transport.writelines([b"x" * 1_000_000, b"x" * 1_000_000])
    assert client.events == ["made", "pause"]


def test_what_was_written_before_a_close_arrives(hosts: Hosts) -> None:
    client, server = pair(hosts)
    client.transport.write(b"x" * 2_000_000)
    client.transport.close()
    client.transport.write(b"nothing")
    hosts.world.run_for(ms=10)
    assert len(server.received) == 2_000_000
    assert client.events[-1] == "lost"


def test_streams_work(hosts: Hosts) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def request() -> int:
        reader, writer = await asyncio.open_connection("server", PORT)
        writer.write(b"x" * 3_000_000)
        writer.write_eof()
        size = len(await reader.read())
        writer.close()
        return size

    server = hosts.server.run_until_complete(start_echo(echo))
    assert hosts.run(request()) == 3_000_000
    server.close()


async def start_echo(echo: Any) -> asyncio.Server:
    return await asyncio.start_server(echo, "0.0.0.0", PORT)


def test_a_buffered_protocol_gets_its_bytes(hosts: Hosts) -> None:
    class Buffered(asyncio.BufferedProtocol):
        def __init__(self) -> None:
            self.buffer = bytearray(3)
            self.received = b""

        def get_buffer(self, sizehint: int) -> bytearray:
            return self.buffer

        def buffer_updated(self, nbytes: int) -> None:
            self.received += self.buffer[:nbytes]

    protocol = Buffered()
    hosts.serve(lambda: protocol)
    _, client = hosts.run(hosts.client.create_connection(Recorder, "server", PORT))
    client.transport.write(b"0123456789")
    hosts.world.run_for(ms=1)
    assert protocol.received == b"0123456789"


def test_a_protocol_that_raises_ends_its_connection_and_the_run(hosts: Hosts) -> None:
    class Broken(Recorder):
        def data_received(self, data: bytes) -> None:
            raise ValueError("cannot parse")

    client, server = pair(hosts, server=Broken)
    client.transport.write(b"x")
    with pytest.raises(UnhandledInLoop, match="data_received"):
        hosts.world.run_for(ms=1)
    hosts.world.run_for(ms=1)
    assert server.events[-1] == client.events[-1] == "lost"


# Connecting


def test_failed_attempts_raise_what_a_real_loop_raises(hosts: Hosts) -> None:
    with pytest.raises(ConnectionRefusedError, match="Connect call failed"):
        hosts.run(hosts.client.create_connection(Recorder, "server", 81))
    with pytest.raises(OSError, match="no host of this network") as raised:
        hosts.run(hosts.client.create_connection(Recorder, "nowhere", 81))
    assert type(raised.value).__name__ == "gaierror"
    hosts.world.network.isolate("server")
    began = hosts.client.time()
    with pytest.raises(TimeoutError, match="Connect call failed"):
        hosts.run(hosts.client.create_connection(Recorder, "server", PORT))
    assert hosts.client.time() - began == pytest.approx(127)
    with pytest.raises(ValueError, match="host and port"):
        hosts.run(hosts.client.create_connection(Recorder))


def test_a_factory_that_raises_fails_the_call(hosts: Hosts) -> None:
    hosts.serve(Recorder)
    with pytest.raises(ZeroDivisionError):
        hosts.run(hosts.client.create_connection(lambda: 1 / 0, "server", PORT))


def test_a_cancelled_attempt_stops(hosts: Hosts) -> None:
    hosts.serve(Recorder)
    hosts.world.network.isolate("server")
    made: list[Recorder] = []

    def factory() -> Recorder:
        made.append(Recorder())
        return made[0]

    async def connect() -> None:
        async with asyncio.timeout(2):
            await hosts.client.create_connection(factory, "server", PORT)

    with pytest.raises(TimeoutError):
        hosts.run(connect())
    hosts.world.network.rejoin("server")
    hosts.world.run_for(ms=300_000)
    assert made == []


def test_an_attempt_that_is_cancelled_as_it_succeeds_leaves_no_connection(hosts: Hosts) -> None:
    accepted: list[Recorder] = []
    hosts.serve(lambda: accepted.append(Recorder()) or accepted[-1])
    made: list[Recorder] = []

    def factory() -> Recorder:
        task.cancel()
        made.append(Recorder())
        return made[0]

    task = hosts.client.create_task(hosts.client.create_connection(factory, "server", PORT))
    hosts.world.run_for(ms=5)
    assert task.cancelled()
    assert made[0].events[-1] == "lost"
    assert accepted[0].events[-1] == "lost"


# Servers


def test_a_server_closes_and_its_connections_stay(hosts: Hosts) -> None:
    accepted: list[Recorder] = []
    server = hosts.serve(lambda: accepted.append(HalfOpen()) or accepted[-1], start_serving=False)
    assert (server.is_serving(), server.sockets) == (False, ())
    hosts.server.run_until_complete(server.start_serving())
    assert server.sockets[0].getsockname()[1] == PORT
    assert server.get_loop() is hosts.server
    _, client = hosts.run(hosts.client.create_connection(Recorder, "server", PORT))
    hosts.world.run_for(ms=1)
    server.close()
    waiting = hosts.server.create_task(server.wait_closed())
    hosts.world.run_for(ms=1)
    with pytest.raises(ConnectionRefusedError):
        hosts.run(hosts.client.create_connection(Recorder, "server", PORT))
    client.transport.write(b"x")
    hosts.world.run_for(ms=1)
    assert accepted[0].received == b"x"
    assert not waiting.done()
    server.close_clients()
    hosts.world.run_for(ms=1)
    assert waiting.done()
    assert client.events[-1] == "lost"


def test_a_server_serves_until_it_is_cancelled(hosts: Hosts) -> None:
    server = hosts.serve(Recorder, start_serving=False)
    serving = hosts.server.create_task(server.serve_forever())
    hosts.world.run_for(ms=1)
    _, client = hosts.run(hosts.client.create_connection(Recorder, "server", PORT))
    serving.cancel()
    hosts.world.run_for(ms=1)
    assert not server.is_serving()
    server.abort_clients()
    hosts.world.run_for(ms=1)
    assert isinstance(client.error, ConnectionResetError)
    with pytest.raises(RuntimeError, match="closed"):
        hosts.server.run_until_complete(server.serve_forever())


def test_a_port_in_use_is_an_oserror(hosts: Hosts) -> None:
    hosts.serve(Recorder)
    with pytest.raises(OSError, match="already in use"):
        hosts.serve(Recorder)


def test_a_closed_loop_closes_its_connections_and_servers(hosts: Hosts) -> None:
    client, _ = pair(hosts)
    hosts.server.close()
    hosts.world.run_for(ms=1)
    assert client.events[-1] == "lost"
    with pytest.raises(ConnectionRefusedError):
        hosts.run(hosts.client.create_connection(Recorder, "server", PORT))


def test_a_process_sees_the_end_of_its_peer_as_an_end_and_a_close(hosts: Hosts) -> None:
    accepted: list[Recorder] = []
    hosts.serve(lambda: accepted.append(Recorder()) or accepted[-1])
    process = ProcessReactor(hosts.world.network.host("client"))
    loop = VirtualEventLoop(hosts.world, process)
    _, client = loop.run_until_complete(loop.create_connection(Recorder, "server", PORT))
    hosts.world.run_for(ms=1)
    accepted[0].transport.write(b"bye")
    accepted[0].transport.close()
    hosts.world.run_for(ms=1)
    assert client.events == ["made", "data", "end", "lost"]
    _, client = loop.run_until_complete(loop.create_connection(Recorder, "server", PORT))
    hosts.world.run_for(ms=1)
    process.crash()
    hosts.world.run_for(ms=1)
    assert client.events == ["made"]
    assert isinstance(accepted[1].error, ConnectionResetError)
    loop.close()
