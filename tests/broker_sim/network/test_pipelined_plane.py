"""AutoMQ's thread model: one queue per handler, many requests per connection, responses in order, grouped writes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.apis.handler_result import NoResponse
from broker_sim.errors import ConfigError
from broker_sim.network.pipelined_channel import REQUESTS_MAX, MuteReason
from protocol_specs.java_hash import string_hash
from protocol_specs.messages.api_versions import ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def bench(make_bench: Callable[..., Any]) -> Any:
    return make_bench(thread_model="pipelined")


@pytest.fixture
def responses(bench: Any) -> list[Deferred[Any]]:
    """Each request waits for its Deferred here."""
    waiting: list[Deferred[Any]] = []

    def handle(_request: Any, _context: Any) -> Deferred[Any]:
        waiting.append(Deferred())
        return waiting[-1]

    bench.apis.handler = handle
    return waiting


def channel_of(bench: Any, index: int = 0) -> Any:
    return [channel for processor in bench.server.processors for channel in processor.channels][index]


def on_one_handler(bench: Any, *, same: bool) -> list[Any]:
    """Two clients whose connections belong to one handler, or to two."""
    clients = [bench.connect()]
    size = bench.server.handler_pool.size
    first = abs(string_hash(channel_of(bench).info.connection_id)) % size
    while True:
        client = bench.connect()
        ids = [context.info.connection_id for each in bench.server.processors for context in each.channels]
        newest = max(ids, key=lambda text: int(text.rsplit("-", 1)[1]))
        if (abs(string_hash(newest)) % size == first) is same:
            return [*clients, client]


def test_responses_wait_for_the_earlier_ones_of_their_connection(bench: Any, responses: list[Deferred[Any]]) -> None:
    client = bench.connect()
    client.exchange(1, 2, 3)
    bench.run()
    assert len(responses) == 3, "all are in the broker at once"
    responses[2].callback(ApiVersionsResponse())
    responses[1].callback(ApiVersionsResponse())
    bench.run()
    assert client.correlation_ids == []
    responses[0].callback(ApiVersionsResponse())
    bench.run()
    assert client.correlation_ids == [1, 2, 3]


def test_two_requests_with_one_correlation_id_are_distinguished(bench: Any, responses: list[Deferred[Any]]) -> None:
    client = bench.connect()
    client.exchange(7, 7)
    bench.run()
    responses[1].callback(ApiVersionsResponse(error_code=2))
    responses[0].callback(ApiVersionsResponse(error_code=1))
    bench.run()
    assert [frame[4:6] for frame in client.frames] == [b"\0\1", b"\0\2"]


def test_as_many_pending_requests_as_the_limit_mute_the_connection(bench: Any, responses: list[Deferred[Any]]) -> None:
    client = bench.connect()
    client.exchange(*range(REQUESTS_MAX + 5))
    bench.run()
    assert (len(responses), channel_of(bench).reasons) == (REQUESTS_MAX, MuteReason.QUEUE_FULL)
    responses[0].callback(ApiVersionsResponse())
    bench.run()
    assert (len(responses), channel_of(bench).reasons) == (REQUESTS_MAX + 1, MuteReason.QUEUE_FULL)
    for response in responses[1:]:
        response.callback(ApiVersionsResponse())
    bench.run()
    for response in responses[REQUESTS_MAX + 1 :]:
        response.callback(ApiVersionsResponse())
    bench.run()
    assert (len(client.correlation_ids), channel_of(bench).reasons) == (REQUESTS_MAX + 5, MuteReason.NONE)


def test_a_throttle_mutes_though_requests_are_in_the_broker(bench: Any, responses: list[Deferred[Any]]) -> None:
    client = bench.connect()
    client.exchange(1)
    bench.run()
    channel_of(bench).throttle(100)
    client.exchange(2)
    bench.run()
    assert len(responses) == 1
    responses[0].callback(ApiVersionsResponse())
    bench.run()
    assert (client.correlation_ids, len(responses)) == ([1], 1), "response first, throttled after"
    bench.run(ms=100)
    assert len(responses) == 2


def test_the_first_of_several_throttles_that_ends_lets_the_connection_go_on(
    bench: Any, responses: list[Deferred[Any]]
) -> None:
    client = bench.connect()
    channel_of(bench).throttle(100)
    channel_of(bench).throttle(300)
    client.exchange(1)
    bench.run(ms=90)
    assert responses == []
    bench.run(ms=20)
    assert len(responses) == 1


def test_a_request_waits_behind_the_other_connection_of_its_handler_alone(make_bench: Callable[..., Any]) -> None:
    took = {}
    for same in (True, False):
        bench = make_bench(thread_model="pipelined", num_io_threads="4")
        bench.server.handler_pool.service_time = lambda _context: 10.0
        clients = on_one_handler(bench, same=same)
        started = bench.world.reactor.seconds()
        for client in clients:
            client.exchange(1)
        bench.world.run_until(lambda clients=clients: all(client.frames for client in clients))
        took[same] = round((bench.world.reactor.seconds() - started) * 1000)
    assert took == {True: 20, False: 10}


def test_a_connections_handler_validates_the_second_request_while_the_first_waits(
    bench: Any, responses: list[Deferred[Any]]
) -> None:
    bench.server.handler_pool.service_time = lambda _context: 10.0
    client = bench.connect()
    client.exchange(1, 2)
    bench.run(ms=22)
    assert len(responses) == 2, "one handler after the other, not one response after the other"
    assert client.correlation_ids == []


def test_a_queue_holds_its_share_of_the_limit_and_blocks_the_processor_beyond(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(thread_model="pipelined", num_io_threads="4", queued_max_requests="8", num_network_threads="2")
    bench.server.handler_pool.service_time = lambda _context: 1000.0
    client = bench.connect()
    client.exchange(*range(10))
    bench.run()
    channel = bench.server.request_channel
    assert (channel.limit, len(channel), channel.blocked_processors) == (2, 2, 1)
    assert [processor.blocked for processor in bench.server.processors] == [True, False]
    bench.world.run_for(ms=20_000)
    assert (len(client.frames), channel.blocked_processors, channel.available_bytes) == (10, 0, channel.bytes_max)


def test_all_queues_share_one_budget_of_bytes(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(thread_model="pipelined", queued_max_requests="10000", queued_max_requests_size_bytes="1048576")
    bench.server.handler_pool.service_time = lambda _context: 10.0
    client = bench.connect()
    name = b"n" * 32_000
    body = struct.pack(">hhih", 18, 0, 1, len(name)) + name
    client.transport.write((struct.pack(">i", len(body)) + body) * 40)
    bench.run(ms=9)
    channel = bench.server.request_channel
    # One is handled, 32 fit into the budget, the next one blocks.
    assert (len(channel), channel.blocked_processors) == (32, 1)
    assert 0 <= channel.available_bytes < len(body)
    bench.world.run_for(ms=1000)
    assert (len(client.frames), channel.available_bytes) == (40, channel.bytes_max)


def test_the_pool_is_not_resizable(bench: Any) -> None:
    with pytest.raises(ConfigError, match=r"num.io.threads=16: the pool of thread.model=pipelined has 8 handlers"):
        bench.server.resize_handlers(16)


def test_a_request_without_a_response_keeps_its_place(bench: Any, responses: list[Deferred[Any]]) -> None:
    client = bench.connect()
    client.exchange(1, 2, 3)
    bench.run()
    responses[1].callback(NoResponse.NO_OP)
    responses[2].callback(ApiVersionsResponse())
    bench.run()
    assert client.correlation_ids == []
    responses[0].callback(ApiVersionsResponse())
    bench.run()
    assert client.correlation_ids == [1, 3]


def test_a_connection_is_closed_after_the_earlier_responses(bench: Any, responses: list[Deferred[Any]]) -> None:
    client = bench.connect()
    client.exchange(1, 2, 3)
    bench.run()
    context = bench.apis.contexts[1]
    responses[1].callback(context.disconnect("as the test wants"))
    bench.run()
    assert not client.closed
    responses[0].callback(ApiVersionsResponse())
    bench.run()
    assert (client.correlation_ids, client.closed) == ([1], True)
    responses[2].callback(ApiVersionsResponse())
    assert "as the test wants" in bench.reasons


def test_what_a_peer_had_sent_before_it_closed_is_served(bench: Any) -> None:
    bench.server.handler_pool.service_time = lambda _context: 10.0
    client = bench.connect()
    client.exchange(*range(20))
    client.transport.loseConnection()
    bench.run()
    assert (bench.server.connections, len(bench.apis.contexts) < 20) == (1, True)
    bench.run(ms=300)
    assert (bench.server.connections, len(bench.apis.contexts)) == (0, 20)


def test_a_stopped_server_forgets_what_waits(bench: Any) -> None:
    bench.server.handler_pool.service_time = lambda _context: 10.0
    client = bench.connect()
    client.exchange(1, 2, 3)
    bench.run()
    bench.server.abort()
    bench.run(ms=100)
    assert (client.closed, len(bench.server.request_channel), bench.server.handler_pool.busy) == (True, 0, 0)
