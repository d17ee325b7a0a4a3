from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable


def test_connections_go_to_the_processors_in_turn(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_network_threads="3")
    for _ in range(7):
        bench.connect()
    assert [len(processor.channels) for processor in bench.server.processors] == [3, 2, 2]


def test_a_connection_is_named_by_both_ends_its_processor_and_a_number(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_network_threads="2")
    client, other = bench.connect(), bench.connect()
    names = [channel.info.connection_id for processor in bench.server.processors for channel in processor.channels]
    host = client.transport.getHost().host
    assert names == [
        f"broker-1:9092-{host}:{client.transport.getHost().port}-0-0",
        f"broker-1:9092-{host}:{other.transport.getHost().port}-1-1",
    ]


def test_beyond_max_connections_a_newcomer_waits_for_a_place(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(max_connections="1")
    first, second = bench.connect(), bench.connect()
    second.exchange(2)
    bench.run(100)
    assert (second.correlation_ids, second.closed) == ([], False)
    first.transport.loseConnection()
    bench.run()
    assert second.correlation_ids == [2]


def test_waiting_connections_have_a_limit(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(max_connections="1", socket_listen_backlog_size="2")
    clients = [bench.connect() for _ in range(4)]
    assert [client.closed for client in clients] == [False, False, False, True]


def test_an_address_with_too_many_connections_is_turned_away(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(max_connections_per_ip="1")
    first, second, other = bench.connect("a"), bench.connect("a"), bench.connect("b")
    assert [client.closed for client in (first, second, other)] == [False, True, False]
    assert "max.connections.per.ip" in bench.reasons[0]
    first.transport.loseConnection()
    bench.run()
    assert not bench.connect("a").closed


def test_stopping_sends_pending_responses_and_closes(bench: Any, client: Any) -> None:
    client.exchange(1)
    bench.run(1)
    bench.server.stop()
    bench.run()
    assert (client.correlation_ids, client.closed, bench.server.connections) == ([1], True, 0)


def test_an_aborted_server_can_be_followed_by_a_new_one_on_the_same_port(bench: Any, client: Any) -> None:
    bench.server.abort()
    bench.run()
    assert client.closed
    bench.server = type(bench.server)(bench.broker, reactor=bench.server.reactor, listeners=bench.listeners)
    bench.server.start()
    again = bench.connect()
    again.exchange(1)
    bench.run()
    assert again.correlation_ids == [1]


def test_a_newcomer_too_fast_waits_and_everybody_behind_it(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(max_connection_creation_rate="1")
    clients = [bench.connect() for _ in range(12)]
    for number, client in enumerate(clients):
        client.exchange(number)
    bench.run()
    assert [client.correlation_ids for client in clients] == [[number] for number in range(10)] + [[], []]
    bench.run(1000)
    assert clients[10].correlation_ids == [10]
    bench.run(5000)
    assert clients[11].correlation_ids == [11]


def test_an_address_with_a_connection_rate_is_closed_when_it_has_waited(make_bench: Callable[..., Any]) -> None:
    bench = make_bench()
    bench.server.connection_quotas.set_ip_rates(1, {})
    clients = [bench.connect("a") for _ in range(11)]
    bench.run(100)
    assert [client.closed for client in clients] == [False] * 11
    assert bench.server.connections == 10
    bench.run(1000)
    assert [client.closed for client in clients] == [False] * 10 + [True]
    assert "connection_creation_rate" in bench.reasons[0]


def test_a_listener_takes_its_own_limit(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(listener_name_plaintext_max_connections="1")
    first, second = bench.connect(), bench.connect()
    second.exchange(2)
    bench.run(50)
    assert second.correlation_ids == []
    first.transport.loseConnection()
    bench.run()
    assert second.correlation_ids == [2]


def test_newcomers_wait_for_a_blocked_processor_and_are_served_then(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_io_threads="1", num_network_threads="1", queued_max_requests="1")
    bench.server.handler_pool.service_time = lambda _context: 1000.0
    busy = [bench.connect() for _ in range(3)]
    for number, client in enumerate(busy):
        client.exchange(number)
    bench.run(1)
    assert bench.server.processors[0].blocked
    late = [bench.connect() for _ in range(23)]
    assert len(bench.server.processors[0].new_connections) == 20
    assert len(bench.server.acceptor.waiting) == 3
    late[0].transport.loseConnection()
    bench.server.handler_pool.service_time = None
    for client in late[1:]:
        client.exchange(9)
    bench.run(1200)
    assert [client.correlation_ids for client in late[1:]] == [[9]] * 22
    assert len(bench.server.acceptor.waiting) == 0


def test_a_full_queue_of_one_processor_leaves_newcomers_to_the_next(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_io_threads="1", num_network_threads="2", queued_max_requests="1")
    bench.server.handler_pool.service_time = lambda _context: 10_000.0
    clients = [bench.connect() for _ in range(5)]
    for client in (clients[0], clients[2], clients[4]):
        client.exchange(1)
    bench.run(1)
    first, second = bench.server.processors
    assert (first.blocked, second.blocked) == (True, False)
    for _ in range(45):
        bench.connect()
    assert len(first.new_connections) == 20
    assert len(second.channels) == 2 + 25


def test_lowering_max_connections_closes_the_least_recently_used(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_network_threads="1")
    clients = [bench.connect() for _ in range(4)]
    clients[0].exchange(1)
    bench.run()
    bench.server.set_max_connections(2)
    bench.run()
    assert [client.closed for client in clients] == [False, True, True, False]
    bench.server.set_max_connections(3)
    assert not bench.connect().closed
    assert bench.server.connections == 3


def test_each_processor_closes_in_its_turn(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_network_threads="2")
    clients = [bench.connect() for _ in range(6)]
    bench.server.set_max_connections(2)
    bench.run()
    assert [len(processor.channels) for processor in bench.server.processors] == [1, 1]
    assert [client.closed for client in clients] == [True] * 4 + [False] * 2


def test_more_processors_take_new_connections_and_fewer_close_theirs(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_network_threads="2")
    clients = [bench.connect() for _ in range(2)]
    bench.server.resize_processors(4)
    clients += [bench.connect() for _ in range(4)]
    assert [len(processor.channels) for processor in bench.server.processors] == [2, 2, 1, 1]
    bench.server.resize_processors(2)
    bench.run()
    assert sum(client.closed for client in clients) == 2
    assert bench.server.connections == 4
    bench.server.resize_processors(3)
    assert [processor.id for processor in bench.server.processors] == [0, 1, 4]


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (0, "value should be at least 1"),
        (1, "value should be at least half the current value 4"),
        (9, "value should not be greater than double the current value 4"),
    ],
)
def test_pools_change_by_half_or_double_at_most(make_bench: Callable[..., Any], size: int, reason: str) -> None:
    bench = make_bench(num_network_threads="4", num_io_threads="4")
    for name, resize in (
        ("num.network.threads", bench.server.resize_processors),
        ("num.io.threads", bench.server.resize_handlers),
    ):
        with pytest.raises(ConfigError) as refused:
            resize(size)
        assert str(refused.value) == f"Dynamic thread count update validation failed for {name}={size}, {reason}"


def test_both_pools_are_resized_under_load(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_network_threads="4", num_io_threads="4")
    bench.server.handler_pool.service_time = lambda _context: 3.0
    clients = [bench.connect() for _ in range(16)]
    for number in range(20):
        for client in clients:
            if not client.closed:
                client.exchange(number)
        size = (8, 4, 2, 4)[number % 4]
        bench.server.resize_processors(size)
        bench.server.resize_handlers(size)
        clients = [client for client in clients if not client.closed]
        clients.append(bench.connect())
        bench.run(10)
    survivors = [client for client in clients if not client.closed]
    bench.run(2000)
    assert survivors
    # Each survivor got its responses in order, one per request.
    for client in survivors:
        assert client.correlation_ids == sorted(client.correlation_ids)
    assert bench.server.handler_pool.busy == 0
    assert len(bench.server.request_channel) == 0


def test_a_changed_configuration_holds_at_once(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_network_threads="2", num_io_threads="2")
    clients = [bench.connect("a") for _ in range(4)]
    changed = {
        "num.network.threads": "3",
        "num.io.threads": "4",
        "max.connections": "2",
        "max.connections.per.ip": "1",
        "max.connection.creation.rate": "5",
    }
    bench.server.reconfigure(BrokerConfig.parse(changed))
    bench.run()
    assert (len(bench.server.processors), bench.server.handler_pool.size) == (3, 4)
    assert sum(client.closed for client in clients) == 2
    bench.server.reconfigure(BrokerConfig.parse({}))
    bench.run()
    assert (len(bench.server.processors), bench.server.handler_pool.size) == (3, 8)
    assert not bench.connect("a").closed
