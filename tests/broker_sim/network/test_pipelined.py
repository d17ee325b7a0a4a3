"""AutoMQ's thread model: a queue a handler, many requests of a connection at once, answers in order, grouped writes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.apis.handler_result import NoResponse
from broker_sim.config.java_hash import string_hash
from broker_sim.errors import ConfigError
from broker_sim.network.pipelined_channel import REQUESTS_MAX, MuteReason
from protocol_specs.messages.api_versions import ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def bench(make_bench: Callable[..., Any]) -> Any:
    return make_bench(thread_model="pipelined")


@pytest.fixture
def answers(bench: Any) -> list[Deferred[Any]]:
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


def test_answers_wait_for_the_earlier_ones_of_their_connection(bench: Any, answers: list[Deferred[Any]]) -> None:
    client = bench.connect()
    client.ask(1, 2, 3)
    bench.run()
    assert len(answers) == 3, "all are in the broker at once"
    answers[2].callback(ApiVersionsResponse())
    answers[1].callback(ApiVersionsResponse())
    bench.run()
    assert client.correlation_ids == []
    answers[0].callback(ApiVersionsResponse())
    bench.run()
    assert client.correlation_ids == [1, 2, 3]


def test_two_requests_with_one_correlation_id_are_told_apart(bench: Any, answers: list[Deferred[Any]]) -> None:
    client = bench.connect()
    client.ask(7, 7)
    bench.run()
    answers[1].callback(ApiVersionsResponse(error_code=2))
    answers[0].callback(ApiVersionsResponse(error_code=1))
    bench.run()
    assert [frame[4:6] for frame in client.frames] == [b"\0\1", b"\0\2"]


def test_as_many_unanswered_requests_as_the_limit_mute_the_connection(bench: Any, answers: list[Deferred[Any]]) -> None:
    client = bench.connect()
    client.ask(*range(REQUESTS_MAX + 5))
    bench.run()
    assert (len(answers), channel_of(bench).reasons) == (REQUESTS_MAX, MuteReason.QUEUE_FULL)
    answers[0].callback(ApiVersionsResponse())
    bench.run()
    assert (len(answers), channel_of(bench).reasons) == (REQUESTS_MAX + 1, MuteReason.QUEUE_FULL)
    for answer in answers[1:]:
        answer.callback(ApiVersionsResponse())
    bench.run()
    for answer in answers[REQUESTS_MAX + 1 :]:
        answer.callback(ApiVersionsResponse())
    bench.run()
    assert (len(client.correlation_ids), channel_of(bench).reasons) == (REQUESTS_MAX + 5, MuteReason.NONE)


def test_a_throttle_mutes_though_requests_are_in_the_broker(bench: Any, answers: list[Deferred[Any]]) -> None:
    client = bench.connect()
    client.ask(1)
    bench.run()
    channel_of(bench).throttle(100)
    client.ask(2)
    bench.run()
    assert len(answers) == 1
    answers[0].callback(ApiVersionsResponse())
    bench.run()
    assert (client.correlation_ids, len(answers)) == ([1], 1), "answered first, throttled on"
    bench.run(ms=100)
    assert len(answers) == 2


def test_the_first_of_several_throttles_that_ends_lets_the_connection_go_on(
    bench: Any, answers: list[Deferred[Any]]
) -> None:
    client = bench.connect()
    channel_of(bench).throttle(100)
    channel_of(bench).throttle(300)
    client.ask(1)
    bench.run(ms=90)
    assert answers == []
    bench.run(ms=20)
    assert len(answers) == 1


def test_a_request_waits_behind_the_other_connection_of_its_handler_alone(make_bench: Callable[..., Any]) -> None:
    took = {}
    for same in (True, False):
        bench = make_bench(thread_model="pipelined", num_io_threads="4")
        bench.server.handler_pool.service_time = lambda _context: 10.0
        clients = on_one_handler(bench, same=same)
        started = bench.world.reactor.seconds()
        for client in clients:
            client.ask(1)
        bench.world.run_until(lambda clients=clients: all(client.frames for client in clients))
        took[same] = round((bench.world.reactor.seconds() - started) * 1000)
    assert took == {True: 20, False: 10}


def test_a_connections_handler_validates_the_second_request_while_the_first_waits(
    bench: Any, answers: list[Deferred[Any]]
) -> None:
    bench.server.handler_pool.service_time = lambda _context: 10.0
    client = bench.connect()
    client.ask(1, 2)
    bench.run(ms=22)
    assert len(answers) == 2, "one handler after the other, not one answer after the other"
    assert client.correlation_ids == []


def test_a_queue_holds_its_share_of_the_limit_and_blocks_the_processor_beyond(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(thread_model="pipelined", num_io_threads="4", queued_max_requests="8", num_network_threads="2")
    bench.server.handler_pool.service_time = lambda _context: 1000.0
    client = bench.connect()
    client.ask(*range(10))
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


def test_a_request_without_an_answer_keeps_its_place(bench: Any, answers: list[Deferred[Any]]) -> None:
    client = bench.connect()
    client.ask(1, 2, 3)
    bench.run()
    answers[1].callback(NoResponse.NO_OP)
    answers[2].callback(ApiVersionsResponse())
    bench.run()
    assert client.correlation_ids == []
    answers[0].callback(ApiVersionsResponse())
    bench.run()
    assert client.correlation_ids == [1, 3]


def test_a_connection_is_closed_after_the_answers_before(bench: Any, answers: list[Deferred[Any]]) -> None:
    client = bench.connect()
    client.ask(1, 2, 3)
    bench.run()
    context = bench.apis.contexts[1]
    answers[1].callback(context.disconnect("as the test wants"))
    bench.run()
    assert not client.closed
    answers[0].callback(ApiVersionsResponse())
    bench.run()
    assert (client.correlation_ids, client.closed) == ([1], True)
    answers[2].callback(ApiVersionsResponse())
    assert "as the test wants" in bench.reasons


def test_what_a_peer_had_sent_before_it_closed_is_served(bench: Any) -> None:
    bench.server.handler_pool.service_time = lambda _context: 10.0
    client = bench.connect()
    client.ask(*range(20))
    client.transport.loseConnection()
    bench.run()
    assert (bench.server.connections, len(bench.apis.contexts) < 20) == (1, True)
    bench.run(ms=300)
    assert (bench.server.connections, len(bench.apis.contexts)) == (0, 20)


def test_a_stopped_server_forgets_what_waits(bench: Any) -> None:
    bench.server.handler_pool.service_time = lambda _context: 10.0
    client = bench.connect()
    client.ask(1, 2, 3)
    bench.run()
    bench.server.abort()
    bench.run(ms=100)
    assert (client.closed, len(bench.server.request_channel), bench.server.handler_pool.busy) == (True, 0, 0)
