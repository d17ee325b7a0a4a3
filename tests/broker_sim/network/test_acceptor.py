from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    second.ask(2)
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


def test_stopping_sends_what_is_answered_and_closes(bench: Any, client: Any) -> None:
    client.ask(1)
    bench.run(1)
    bench.server.stop()
    bench.run()
    assert (client.correlation_ids, client.closed, bench.server.connections) == ([1], True, 0)


def test_an_aborted_server_can_be_followed_by_a_new_one_on_the_same_port(bench: Any, client: Any) -> None:
    bench.server.abort()
    bench.run()
    assert client.closed
    bench.server = type(bench.server)(
        bench.broker, reactor=bench.server.reactor, host="broker-1", port=bench.server.port
    )
    bench.server.start()
    again = bench.connect()
    again.ask(1)
    bench.run()
    assert again.correlation_ids == [1]
