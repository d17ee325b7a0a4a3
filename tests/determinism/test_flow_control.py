"""The conformance kit for both reactors, third part: who waits for whom."""

# ruff: noqa: N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet import error
from twisted.internet.interfaces import IPullProducer, IPushProducer
from zope.interface import implementer

from sim_runtime.deadlines import sleep


def test_a_paused_transport_delivers_nothing_until_it_resumes(bench):
    async def body() -> None:
        client, server = await bench.connected()
        server.transport.pauseProducing()
        client.transport.write(b"a" * 10_000)
        client.transport.write(b"b" * 10_000)
        await sleep(bench.client, 20)
        assert server.received == b""
        server.transport.resumeProducing()
        assert server.received == b""
        await server.until_received(20_000)
        assert server.received == b"a" * 10_000 + b"b" * 10_000

    bench.run(body)


def test_pausing_within_data_received_holds_back_the_rest(bench):
    async def body() -> None:
        client, server = await bench.connected()
        server.on_data = lambda _: server.transport.pauseProducing()
        client.transport.write(b"x" * 1_000_000)
        await server.until_received(1)
        size = len(server.received)
        await sleep(bench.client, 20)
        assert len(server.received) == size < 1_000_000
        server.on_data = None
        server.transport.resumeProducing()
        await server.until_received(1_000_000)

    bench.run(body)


def test_a_paused_transport_does_not_see_its_peer_leave_until_it_resumes(bench):
    async def body() -> None:
        client, server = await bench.connected()
        server.transport.pauseProducing()
        client.transport.write(b"last words")
        client.transport.loseConnection()
        await client.until_lost()
        await sleep(bench.client, 20)
        assert server.events == ["made"]
        server.transport.resumeProducing()
        await server.until_lost()
        assert server.events == ["made", "data", "lost"]
        assert (server.received, server.reason) == (b"last words", error.ConnectionDone)

    bench.run(body)


@implementer(IPushProducer)
class PushProducer:
    def __init__(self) -> None:
        self.events: list[str] = []

    def pauseProducing(self) -> None:
        self._note("pause")

    def resumeProducing(self) -> None:
        self._note("resume")

    def stopProducing(self) -> None:
        self._note("stop")

    def _note(self, event: str) -> None:
        if not self.events or self.events[-1] != event:
            self.events.append(event)


def test_a_push_producer_is_paused_while_the_peer_does_not_read(bench):
    async def body() -> list[str]:
        client, server = await bench.connected()
        producer = PushProducer()
        server.transport.pauseProducing()
        client.transport.registerProducer(producer, streaming=True)
        client.transport.write(b"x" * 20_000_000)
        await sleep(bench.client, 30)
        assert producer.events == ["pause"]
        server.transport.resumeProducing()
        await server.until_received(20_000_000)
        await sleep(bench.client, 5)
        client.transport.abortConnection()
        await client.until_lost()
        return producer.events

    assert bench.run(body) == ["pause", "resume", "stop"]


@implementer(IPullProducer)
class PullProducer:
    def __init__(self, peer: Any, chunks: int) -> None:
        self._peer = peer
        self._chunks = chunks

    def resumeProducing(self) -> None:
        if self._chunks:
            self._chunks -= 1
            self._peer.transport.write(b"%d " % self._chunks)
        else:
            self._peer.transport.unregisterProducer()
            self._peer.transport.loseConnection()

    def stopProducing(self) -> None:
        raise AssertionError("the producer ended by itself")


def test_a_pull_producer_is_resumed_each_time_all_is_sent(bench):
    async def body() -> bytes:
        client, server = await bench.connected()
        client.transport.registerProducer(PullProducer(client, 4), streaming=False)
        await server.until_lost()
        return server.received

    assert bench.run(body) == b"3 2 1 0 "


def test_a_second_producer_is_refused(bench):
    async def body() -> None:
        client, _ = await bench.connected()
        client.transport.registerProducer(PushProducer(), streaming=True)
        with pytest.raises(RuntimeError, match="never unregistered"):
            client.transport.registerProducer(PushProducer(), streaming=True)
        client.transport.abortConnection()
        await client.until_lost()

    bench.run(body)
