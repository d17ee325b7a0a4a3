from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.control.events import ResponseSent
from broker_sim.errors import BrokerSimError
from protocol_specs.messages.api_versions import ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_modelled_service_time_occupies_the_handler(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_io_threads="1")
    bench.server.handler_pool.service_time = lambda _context: 10.0
    first, second = bench.connect(), bench.connect()
    first.exchange(1)
    second.exchange(2)
    bench.run(11)
    assert (first.correlation_ids, second.correlation_ids) == ([1], [])
    bench.run(11)
    assert second.correlation_ids == [2]
    queue_times = [event.queue_us for event in bench.broker.journal.events_of(ResponseSent)]
    assert queue_times[0] == 0
    assert 9_000 <= queue_times[1] <= 10_000


def test_two_handlers_serve_two_connections_at_once(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_io_threads="2")
    bench.server.handler_pool.service_time = lambda _context: 10.0
    clients = [bench.connect(), bench.connect()]
    for client in clients:
        client.exchange(1)
    bench.run(11)
    assert [client.correlation_ids for client in clients] == [[1], [1]]


def test_a_request_in_a_purgatory_occupies_no_handler(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_io_threads="1")
    response = bench.apis.handler
    bench.apis.handler = lambda request, context: (
        Deferred() if context.correlation_id == 1 else response(request, context)
    )
    waiting, other = bench.connect(), bench.connect()
    waiting.exchange(1)
    other.exchange(2)
    bench.run()
    assert (waiting.correlation_ids, other.correlation_ids) == ([], [2])
    assert bench.server.handler_pool.busy == 0


def test_a_held_handler_occupies_its_slot_until_it_is_released(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_io_threads="1")
    response = bench.apis.handler
    held: list[Any] = []

    def hold(request: Any, context: Any) -> Any:
        if context.correlation_id != 1:
            return response(request, context)
        context.hold_handler()
        held.append(context)
        return Deferred()

    bench.apis.handler = hold
    holder, other = bench.connect(), bench.connect()
    holder.exchange(1)
    other.exchange(2)
    bench.run()
    assert other.correlation_ids == []
    held[0].release_handler()
    bench.run()
    assert other.correlation_ids == [2]


def test_a_full_queue_blocks_the_processor_and_every_connection_of_it(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_io_threads="1", num_network_threads="1", queued_max_requests="1")
    bench.server.handler_pool.service_time = lambda _context: 10.0
    clients = [bench.connect() for _ in range(5)]
    for number, client in enumerate(clients):
        client.exchange(number)
    bench.run(2)
    assert len(bench.server.request_channel) == 1
    assert bench.server.request_channel.blocked_processors == 1
    assert bench.server.processors[0].blocked
    bench.run(60)
    assert [client.correlation_ids for client in clients] == [[0], [1], [2], [3], [4]]
    assert not bench.server.processors[0].blocked


def test_a_blocked_processor_leaves_the_others_alone(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_io_threads="1", num_network_threads="2", queued_max_requests="1")
    bench.server.handler_pool.service_time = lambda _context: 10.0
    clients = [bench.connect() for _ in range(4)]
    for client in clients:
        client.exchange(1)
    bench.run(2)
    assert [processor.blocked for processor in bench.server.processors] == [True, True]
    bench.run(50)
    assert all(client.correlation_ids == [1] for client in clients)


def test_many_queued_requests_are_served_without_recursion(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_io_threads="1", queued_max_requests="3000")
    gate: Deferred[Any] = Deferred()
    response = bench.apis.handler

    def hold_first(request: Any, context: Any) -> Any:
        if context.correlation_id != 0:
            return response(request, context)
        context.hold_handler()
        gate.addCallback(lambda _: context.release_handler())
        return gate.addCallback(lambda _: ApiVersionsResponse())

    bench.apis.handler = hold_first
    bench.connect().exchange(0)
    bench.run(1)
    clients = [bench.connect() for _ in range(1500)]
    for client in clients:
        client.exchange(1)
    bench.run()
    gate.callback(None)
    bench.run(50)
    assert all(client.correlation_ids == [1] for client in clients)


def test_a_closed_connection_gives_its_queued_request_up(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_io_threads="1")
    bench.server.handler_pool.service_time = lambda _context: 10.0
    client = bench.connect()
    client.exchange(1)
    bench.run(2)
    bench.server.abort()
    bench.run(50)
    assert client.closed
    assert bench.apis.contexts == []


@pytest.mark.parametrize("model", ["classic", "pipelined"])
def test_callbacks_go_before_requests_that_wait(make_bench: Callable[..., Any], model: str) -> None:
    bench = make_bench(num_io_threads="1", thread_model=model)
    bench.server.handler_pool.service_time = lambda _context: 10.0
    done: list[object] = []
    response = bench.apis.handler

    def handle(request: Any, context: Any) -> Any:
        done.append(context.correlation_id)
        return response(request, context)

    bench.apis.handler = handle
    first, second, third = (bench.connect() for _ in range(3))
    first.exchange(1)
    bench.run(11)
    second.exchange(2)
    third.exchange(3)
    bench.run(5)
    context = bench.apis.contexts[0]
    context.run_on_handler(lambda: done.append("called back"))
    context.run_on_handler(lambda: done.append("again"))
    assert done == [1], "the handler is busy"
    bench.run(30)
    assert done == [1, 2, "called back", "again", 3]


@pytest.mark.parametrize("model", ["classic", "pipelined"])
def test_a_callback_wakes_an_idle_handler_up(make_bench: Callable[..., Any], model: str) -> None:
    bench = make_bench(num_io_threads="1", thread_model=model)
    client = bench.connect()
    client.exchange(1)
    bench.run()
    done: list[str] = []
    bench.apis.contexts[0].run_on_handler(lambda: done.append("called back"))
    assert (done, bench.server.handler_pool.busy) == (["called back"], 0)


@pytest.mark.parametrize("model", ["classic", "pipelined"])
def test_a_callback_without_waiting_requests_is_served_when_the_handler_is_free(
    make_bench: Callable[..., Any], model: str
) -> None:
    bench = make_bench(num_io_threads="1", thread_model=model)
    client = bench.connect()
    client.exchange(1)
    bench.run()
    bench.server.handler_pool.service_time = lambda _context: 10.0
    client.exchange(2)
    bench.run(5)
    done: list[str] = []
    bench.apis.contexts[0].run_on_handler(lambda: done.append("called back"))
    bench.run(10)
    assert (done, client.correlation_ids, len(bench.server.request_channel)) == (["called back"], [1, 2], 0)


@pytest.mark.parametrize("model", ["classic", "pipelined"])
def test_a_callback_queue_has_the_size_of_the_request_queue(make_bench: Callable[..., Any], model: str) -> None:
    bench = make_bench(num_io_threads="1", queued_max_requests="2", thread_model=model)
    client = bench.connect()
    client.exchange(1)
    bench.run()
    bench.server.handler_pool.service_time = lambda _context: 10.0
    client.exchange(2)
    bench.run(5)
    context = bench.apis.contexts[0]
    for _ in range(2):
        context.run_on_handler(lambda: None)
    with pytest.raises(BrokerSimError, match="callback queue holds 2 already"):
        context.run_on_handler(lambda: None)


def test_a_handler_dies_of_no_error(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[str] = []
    monkeypatch.setattr("broker_sim.network.handler_pool._log.failure", lambda text, **_: logged.append(text))
    client = bench.connect()
    client.exchange(1)
    bench.run()
    bench.apis.contexts[0].run_on_handler(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    client.exchange(2)
    bench.run()
    assert (client.correlation_ids, bench.server.handler_pool.busy, len(logged)) == ([1, 2], 0, 1)
