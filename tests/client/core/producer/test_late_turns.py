"""Turns that come late, in a process that stood still: what has arrived is read before anything is given up."""

from __future__ import annotations

import asyncio
import random
import select
import socket
import threading
from typing import TYPE_CHECKING, Any, cast

import pytest
from twisted.internet.defer import Deferred, execute

from broker_client.core.network.selector import Selector
from broker_client.core.producer.producer_core import ProducerCore
from broker_client.core.producer.trace import BatchEvent, BatchEventKind
from broker_client.errors import BatchExpired, ProducerTimeout
from broker_client.producer_config import ProducerConfig
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from sim_runtime.asyncio_reactor import AsyncioReactor
from sim_runtime.reactor_thread import ReactorThread
from tests.client.scripted_broker import API_VERSIONS, METADATA, ScriptedCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from broker_client.core.network.client_core import ClientCore
    from broker_client.core.producer.future_record_metadata import FutureRecordMetadata
    from sim_runtime.interfaces import IReactor
    from sim_runtime.world import World

    ClientOn = Callable[..., ClientCore]
    ProducerOn = Callable[..., ProducerCore]

SECONDS_MAX = 30


@pytest.fixture
def world(world: World) -> World:
    """Without latencies: every turn is taken at a whole millisecond."""
    world.network.latency_ms = 0
    return world


def send_request(client: ClientCore, *, node_id: int | None = None, timeout_ms: int = 30_000) -> Any:
    return client.request(
        InitProducerIdRequest,
        lambda _: InitProducerIdRequest(transaction_timeout_ms=1),
        node_id=node_id,
        timeout_ms=timeout_ms,
    )


def arrives_with_the_time_out(world: World, client: ClientCore) -> None:
    """Responses from now on arrive when the client's time-out is due, behind the iteration that is due then."""
    link = world.network.link("broker-1", "client")
    link.hold()
    world.run_for(ms=0.5)
    due_us = client.client.time_out_ms * 1000
    world.run_for(ms=(due_us - world.reactor.now_us) / 1000 - 0.5)
    assert client.client.time_out_ms * 1000 == due_us
    world.reactor.call_at_us(due_us, client.wakeup)
    world.reactor.call_at_us(due_us, world.reactor.callLater, 0, link.release)
    world.run_for(ms=0.5)


def test_a_request_whose_response_has_arrived_is_not_overdue(
    world: World, cluster: ScriptedCluster, client_on: ClientOn
) -> None:
    client = client_on(cluster)
    world.run_until(send_request(client))
    response = send_request(client, timeout_ms=700)
    arrives_with_the_time_out(world, client)
    assert world.run_until(response, deadline_ms=1).producer_id == 1001
    assert client.client.selector.connections_closed == 0


def test_an_overdue_request_ends_when_its_time_is_over(
    world: World, cluster: ScriptedCluster, client_on: ClientOn
) -> None:
    client = client_on(cluster)
    world.run_until(send_request(client))
    world.network.link("broker-1", "client").hold()
    response = send_request(client, timeout_ms=700)
    world.run_for(ms=700.5)
    assert not response.called
    with pytest.raises(ProducerTimeout):
        world.run_until(response, deadline_ms=0.5)


def test_a_connection_that_is_made_has_not_taken_too_long(
    world: World, cluster: ScriptedCluster, client_on: ClientOn
) -> None:
    client = client_on(cluster, socket_connection_setup_timeout_ms=1_000)
    response = send_request(client)
    arrives_with_the_time_out(world, client)
    assert client.client.selector.connections_closed == 0
    assert world.run_until(response, deadline_ms=1).producer_id == 1000


def test_a_node_that_has_sent_its_versions_is_not_silent(
    world: World, cluster: ScriptedCluster, client_on: ClientOn
) -> None:
    client = client_on(cluster)
    response = send_request(client)
    world.run_until(lambda: cluster.requests(API_VERSIONS))
    arrives_with_the_time_out(world, client)
    assert world.run_until(response, deadline_ms=1).producer_id == 1000
    assert [requested.api_version for requested in cluster.requests(METADATA)] == [13]


@pytest.mark.parametrize("gives_up_after", ["connections_max_idle_ms", "rebootstrap_trigger_ms"])
def test_a_connection_with_something_to_read_is_kept(
    world: World, cluster: ScriptedCluster, client_on: ClientOn, gives_up_after: str
) -> None:
    client = client_on(cluster, **{gives_up_after: 2_000})
    response = send_request(client)
    world.run_until(lambda: cluster.requests(METADATA))
    arrives_with_the_time_out(world, client)
    assert world.run_until(response, deadline_ms=1).producer_id == 1000
    assert client.client.selector.connections_closed == 0


@pytest.mark.parametrize("arrives", [True, False])
def test_a_batch_whose_response_has_arrived_does_not_expire(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn, arrives: bool
) -> None:
    producer = producer_on(cluster, request_timeout_ms=5_000, delivery_timeout_ms=5_000, linger_ms=0)
    world.run_until(producer.send("orders", b"first").as_deferred())
    link = world.network.link("broker-1", "client")
    link.hold()
    sent = producer.send("orders", b"second")
    world.run_for(ms=4_999.5)
    assert not sent.done()
    if arrives:
        # Behind the turn in which the batch expires.
        world.reactor.call_at_us(world.reactor.now_us + 500, link.release)
    world.run_for(ms=0.5)
    assert sent.done()
    assert isinstance(sent.exception(0), BatchExpired) is not arrives


# Real sockets


class Standing:
    """A producer on sockets with a record in flight, whose reactor can be kept from everything."""

    def __init__(self, cluster: ThreadedCluster, thread: ReactorThread) -> None:
        self.cluster = cluster
        self.thread = thread
        self.reactor: Any = thread.reactor
        self.reported: list[BatchEventKind] = []
        self._in_flight = threading.Event()
        self._stands_still = threading.Event()
        config = ProducerConfig({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0})
        options = {"call_from_thread": self.reactor.callFromThread, "trace": self.receive}
        self.producer = thread.call(lambda: ProducerCore(config, self.reactor, random.Random(1), **options))

    def receive(self, event: BatchEvent) -> None:
        self.reported.append(event.kind)
        if event.kind is BatchEventKind.IN_FLIGHT:
            self._in_flight.set()

    def send(self) -> FutureRecordMetadata:
        """A record in flight."""
        self.cluster.add_rule({"name": "held", "select": {"api": "Produce"}, "act": {"hold": True}})
        sent = self.thread.call(self.producer.send, "orders", b"sent")
        assert self._in_flight.wait(SECONDS_MAX)
        return sent

    def stand_still(self, seconds: int) -> None:
        """Keep the reactor busy until the response has arrived."""
        self.reactor.callFromThread(self._stand_still, seconds)
        assert self._stands_still.wait(SECONDS_MAX)
        self.cluster.remove_rule("held")

    def _stand_still(self, seconds: int) -> None:
        leader: Any = self.producer.client.selector._channels[1].transport
        self._stands_still.set()
        assert select.select([leader], [], [], SECONDS_MAX)[0]
        clock = self.reactor.seconds
        self.reactor.seconds = lambda: clock() + seconds


@pytest.fixture
def standing() -> Iterator[Standing]:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"]) as cluster, ReactorThread("late") as thread:
        made = Standing(cluster, thread)
        yield made
        thread.call(made.producer.close)


# request.timeout.ms is over, then delivery.timeout.ms too.
@pytest.mark.parametrize("seconds", [40, 200])
def test_a_response_counts_that_came_while_the_process_stood_still(standing: Standing, seconds: int) -> None:
    sent = standing.send()
    standing.stand_still(seconds)
    assert sent.result(SECONDS_MAX).offset == 0
    assert standing.reported.count(BatchEventKind.SENT) == 1


class Reading:
    """A selector with one connection to this test, and what it had staged whenever it called `on_event`."""

    def __init__(self, reactor: IReactor) -> None:
        self.reactor = reactor
        self.staged: list[bool] = []
        self.connected: Deferred[None] = Deferred()
        self.read: Deferred[None] = Deferred()
        self.selector = Selector(reactor=reactor, max_idle_ms=-1, on_event=self.on_event)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.selector.connect(
            1, "127.0.0.1", self.listener.getsockname()[1], send_buffer_bytes=-1, receive_buffer_bytes=-1
        )

    def on_event(self) -> None:
        if not self.connected.called:
            self.connected.callback(None)
            return
        self.staged.append(self.selector.has_events)
        if self.selector.has_read_since(0, 0) and not self.read.called:
            self.read.callback(None)

    async def run(self, call: Callable[[Callable[[], object]], object]) -> None:
        await self.connected
        peer, _ = self.listener.accept()
        self.selector.poll(0)
        stood: Deferred[None] = Deferred()
        try:
            call(lambda: execute(self.stand_still, peer).chainDeferred(stood))
            await stood
            await self.read
            self.selector.poll(0)
            assert [one.payload for one in self.selector.completed_receives] == [b"result"]
            assert self.staged[-1]
        finally:
            self.selector.close_all()
            peer.close()
            self.listener.close()

    def stand_still(self, peer: socket.socket) -> None:
        """Keep the reactor until there is something to read, and then find that something is overdue."""
        channel: Any = self.selector._channels[1]
        peer.sendall(b"\0\0\0\6result")
        assert select.select([channel.transport.getHandle()], [], [], SECONDS_MAX)[0]
        assert not self.selector.has_read_since(0, 0)
        assert not self.selector.has_events


def on_a_thread(body: Callable[[IReactor], Any]) -> None:
    with ReactorThread("late turns") as thread:
        thread.call(lambda: body(thread.reactor))


def on_asyncio(body: Callable[[IReactor], Any]) -> None:
    async def run() -> None:
        reactor = cast("IReactor", AsyncioReactor(asyncio.get_running_loop()))
        await asyncio.wait_for(Deferred.fromCoroutine(body(reactor)).asFuture(asyncio.get_running_loop()), SECONDS_MAX)
        cast("AsyncioReactor", reactor).end()

    asyncio.run(run())


@pytest.mark.parametrize("run", [on_a_thread, on_asyncio])
@pytest.mark.parametrize("how", ["callFromThread", "callLater"])
def test_the_sockets_are_read_between_the_question_and_the_event(run: Any, how: str) -> None:
    def body(reactor: Any) -> Any:
        call = reactor.callFromThread if how == "callFromThread" else lambda function: reactor.callLater(0, function)
        return Reading(reactor).run(call)

    run(body)
