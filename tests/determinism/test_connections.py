"""The conformance kit for both reactors, second part: connections, from handshake to end."""

from __future__ import annotations

import pytest
from twisted.internet import error
from twisted.internet.endpoints import TCP4ClientEndpoint, TCP4ServerEndpoint, connectProtocol

from sim_runtime.deadlines import sleep


def test_bytes_are_echoed_over_a_connection(bench):
    async def body() -> bytes:
        client, server = await bench.connected()
        server.on_data = server.transport.write
        client.transport.write(b"one ")
        client.transport.writeSequence([b"two ", b"three"])
        await client.until_received(13)
        return client.received

    assert bench.run(body) == b"one two three"


def test_both_ends_agree_on_their_addresses(bench):
    async def body() -> None:
        client, server = await bench.connected()
        assert client.transport.getHost() == server.transport.getPeer()
        assert client.transport.getPeer() == server.transport.getHost()
        assert client.transport.getHost().type == "TCP"

    bench.run(body)


def test_events_of_a_connection_come_in_order(bench):
    server, client = bench.server_factory(), bench.client_factory()

    async def body() -> None:
        listener, port = bench.listen(server)
        bench.client.connectTCP(bench.address, port, client)
        assert client.events == ["start", "connecting"]
        await client.done
        peer = client.peers[0]
        peer.transport.write(b"x")
        await sleep(bench.client, 10)
        peer.transport.loseConnection()
        await peer.until_lost()
        await server.peers[0].until_lost()
        await sleep(bench.client, 5)
        await listener.stopListening()

    bench.run(body)
    assert client.events == ["start", "connecting", "build", "lost", "stop"]
    assert client.peers[0].events == ["made", "lost"]
    assert server.peers[0].events == ["made", "data", "lost"]
    assert server.events == ["start", "stop"]


def test_lose_connection_sends_what_was_written_and_closes_cleanly(bench):
    async def body() -> None:
        client, server = await bench.connected()
        client.transport.write(b"z" * 3_000_000)
        client.transport.loseConnection()
        assert client.transport.disconnecting
        await server.until_lost()
        assert len(server.received) == 3_000_000
        assert (client.reason, server.reason) == (error.ConnectionDone, error.ConnectionDone)
        assert client.transport is not None

    bench.run(body)


def test_what_is_written_in_the_turn_of_lose_connection_is_still_sent(bench):
    async def body() -> bytes:
        client, server = await bench.connected()
        client.transport.loseConnection()
        client.transport.write(b"late")
        await server.until_lost()
        return server.received

    assert bench.run(body) == b"late"


def test_writing_after_the_connection_is_lost_is_ignored(bench):
    async def body() -> None:
        client, server = await bench.connected()
        transport = client.transport
        transport.loseConnection()
        await client.until_lost()
        transport.write(b"never delivered")
        transport.loseConnection()
        transport.abortConnection()
        await server.until_lost()
        assert server.received == b""

    bench.run(body)


def test_abort_resets_the_connection_and_drops_what_was_just_written(bench):
    async def body() -> None:
        client, server = await bench.connected()
        client.transport.write(b"dropped")
        client.transport.abortConnection()
        assert client.reason is None
        await client.until_lost()
        await server.until_lost()
        assert (client.reason, server.reason) == (error.ConnectionAborted, error.ConnectionLost)
        assert server.received == b""

    bench.run(body)


def test_a_port_without_a_listener_refuses_the_connection(bench):
    client = bench.client_factory()

    async def body() -> None:
        listener, port = bench.listen(bench.server_factory())
        await listener.stopListening()
        bench.client.connectTCP(bench.address, port, client)
        await client.done

    bench.run(body)
    assert isinstance(client.error, error.ConnectionRefusedError)
    assert client.events == ["start", "connecting", "failed", "stop"]


def test_a_port_is_taken_once_and_free_again_after_stop(bench):
    async def body() -> None:
        listener, port = bench.listen(bench.server_factory())
        with pytest.raises(error.CannotListenError):
            bench.server.listenTCP(port, bench.server_factory())
        await listener.stopListening()
        again = bench.server.listenTCP(port, bench.server_factory())
        await again.stopListening()

    bench.run(body)


def test_connections_outlive_their_listener(bench):
    async def body() -> bytes:
        server, client = bench.server_factory(), bench.client_factory()
        listener, port = bench.listen(server)
        bench.client.connectTCP(bench.address, port, client)
        await client.done
        await sleep(bench.client, 5)
        await listener.stopListening()
        client.peers[0].transport.write(b"still here")
        await server.peers[0].until_received(10)
        return server.peers[0].received

    assert bench.run(body) == b"still here"


def test_a_big_write_arrives_whole_and_in_order(bench):
    content = bytes(range(256)) * 20_000

    async def body() -> bytes:
        client, server = await bench.connected()
        client.transport.write(content)
        await server.until_received(len(content))
        return server.received

    assert bench.run(body) == content


def test_both_directions_carry_big_writes_at_once(bench):
    async def body() -> None:
        client, server = await bench.connected()
        client.transport.write(b"c" * 2_000_000)
        server.transport.write(b"s" * 2_000_000)
        await server.until_received(2_000_000)
        await client.until_received(2_000_000)
        assert server.received == b"c" * 2_000_000
        assert client.received == b"s" * 2_000_000

    bench.run(body)


def test_only_bytes_can_be_written(bench):
    async def body() -> None:
        client, _ = await bench.connected()
        for wrong in ("text", bytearray(b"x"), memoryview(b"x")):
            with pytest.raises(TypeError):
                client.transport.write(wrong)

    bench.run(body)


def test_half_close_notifies_the_peer_and_leaves_the_other_direction_open(bench):
    async def body() -> None:
        client, server = await bench.connected(half_closing=True)
        client.transport.write(b"question")
        client.transport.loseWriteConnection()
        await server.until(lambda: "read lost" in server.events)
        assert server.received == b"question"
        server.transport.write(b"response")
        await client.until_received(6)
        client.transport.write(b"ignored")
        server.transport.loseConnection()
        await client.until(lambda: "read lost" in client.events)
        client.transport.loseConnection()
        await client.until_lost()
        assert client.events == ["made", "write lost", "data", "read lost", "lost"]
        assert server.events == ["made", "data", "read lost", "lost"]
        assert (client.reason, server.reason) == (error.ConnectionDone, error.ConnectionDone)

    bench.run(body)


def test_half_close_closes_a_peer_that_knows_no_half_close(bench):
    async def body() -> None:
        client, server = await bench.connected()
        client.transport.loseWriteConnection()
        await server.until_lost()
        await client.until_lost()
        assert (client.reason, server.reason) == (error.ConnectionDone, error.ConnectionDone)

    bench.run(body)


def test_writing_to_a_peer_that_aborted_ends_in_connection_lost(bench):
    async def body() -> type[Exception] | None:
        client, server = await bench.connected()
        client.transport.pauseProducing()
        server.transport.abortConnection()
        await server.until_lost()
        await sleep(bench.client, 10)
        assert client.reason is None
        client.transport.write(b"anybody there?")
        await client.until_lost()
        return client.reason

    assert bench.run(body) is error.ConnectionLost


def test_closing_with_unread_bytes_still_delivers_what_was_sent(bench):
    async def body() -> None:
        client, server = await bench.connected()
        server.transport.pauseProducing()
        client.transport.write(b"never read")
        await sleep(bench.client, 10)
        server.transport.write(b"goodbye")
        server.transport.loseConnection()
        await client.until_lost()
        assert client.received == b"goodbye"
        assert (client.reason, server.reason) == (error.ConnectionDone, error.ConnectionDone)

    bench.run(body)


def test_a_server_that_builds_no_protocol_closes_the_connection(bench):
    async def body() -> type[Exception] | None:
        client = bench.client_factory()
        _, port = bench.listen(bench.server_factory(builds=False))
        bench.client.connectTCP(bench.address, port, client)
        await client.done
        await client.peers[0].until_lost()
        return client.peers[0].reason

    assert bench.run(body) is error.ConnectionDone


def test_a_client_that_builds_no_protocol_closes_the_connection(bench):
    async def body() -> None:
        server, client = bench.server_factory(), bench.client_factory(builds=False)
        _, port = bench.listen(server)
        bench.client.connectTCP(bench.address, port, client)
        await sleep(bench.client, 20)
        await server.peers[0].until_lost()
        assert client.events == ["start", "connecting", "lost", "stop"]
        assert server.peers[0].reason is error.ConnectionDone

    bench.run(body)


def test_a_connector_connects_again_on_request_of_its_factory(bench):
    async def body() -> list[str]:
        server, client = bench.server_factory(), bench.client_factory()
        client.reconnects = 1
        _, port = bench.listen(server)
        connector = bench.client.connectTCP(bench.address, port, client)
        await client.done
        client.peers[0].transport.loseConnection()
        await client.done
        connector.disconnect()
        await client.peers[1].until_lost()
        return client.events

    assert bench.run(body) == [
        "start", "connecting", "build", "lost", "connecting", "build", "lost", "stop",
    ]  # fmt: skip


def test_stop_connecting_fails_the_attempt_with_user_error(bench):
    client = bench.client_factory()

    async def body() -> None:
        server = bench.server_factory()
        _, port = bench.listen(server)
        connector = bench.client.connectTCP(bench.address, port, client)
        connector.stopConnecting()
        with pytest.raises(error.NotConnectingError):
            connector.stopConnecting()
        await sleep(bench.client, 20)
        assert [peer.received for peer in server.peers] in ([], [b""])

    bench.run(body)
    assert client.events == ["start", "connecting", "failed", "stop"]
    assert isinstance(client.error, error.UserError)


def test_a_connector_that_is_busy_refuses_to_connect(bench):
    async def body() -> None:
        client = bench.client_factory()
        _, port = bench.listen(bench.server_factory())
        connector = bench.client.connectTCP(bench.address, port, client)
        with pytest.raises(RuntimeError, match="can't connect in this state"):
            connector.connect()
        await client.done
        assert connector.getDestination().port == port

    bench.run(body)


def test_socket_options_are_kept(bench):
    async def body() -> None:
        client, _ = await bench.connected()
        client.transport.setTcpNoDelay(True)
        client.transport.setTcpKeepAlive(True)
        client.transport.bufferSize = 256 * 1024
        assert client.transport.getTcpNoDelay()
        assert client.transport.getTcpKeepAlive()

    bench.run(body)


def test_endpoints_of_twisted_work(bench):
    async def body() -> bytes:
        listener = await TCP4ServerEndpoint(bench.server, 0).listen(bench.server_factory())
        endpoint = TCP4ClientEndpoint(bench.client, bench.address, listener.getHost().port)
        peer = await connectProtocol(endpoint, bench.client_factory().buildProtocol(None))
        peer.transport.loseConnection()
        await peer.until_lost()
        await listener.stopListening()
        return peer.reason

    assert bench.run(body) is error.ConnectionDone
