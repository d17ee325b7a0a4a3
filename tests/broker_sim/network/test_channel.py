from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.control.events import ResponseSent, ThrottleEnded
from broker_sim.quotas.client_quotas_image import NO_CLIENT_QUOTAS, ClientQuotaEntity, QuotaChange

if TYPE_CHECKING:
    from collections.abc import Callable


def limit_request_time(bench: Any, percentage: float) -> None:
    change = QuotaChange(entity=ClientQuotaEntity.of({"user": "ANONYMOUS"}), key="request_percentage", value=percentage)
    bench.broker.quotas.apply(NO_CLIENT_QUOTAS.with_changes([change]))


def test_the_response_goes_first_and_then_the_channel_is_mute(make_bench: Callable[..., Any]) -> None:
    bench = make_bench()
    bench.server.handler_pool.service_time = lambda _context: 10.0
    limit_request_time(bench, 0.05)
    client = bench.connect()
    client.exchange(1, 2)
    bench.run(12)
    # 10 ms of a handler are 1 % of a second, 0.1 % a second over ten: twice the quota, cut to one window.
    assert client.correlation_ids == [1]
    bench.run(980)
    assert client.correlation_ids == [1]
    bench.run(100)
    assert client.correlation_ids == [1, 2]


def test_a_client_within_its_quota_is_not_muted(make_bench: Callable[..., Any]) -> None:
    bench = make_bench()
    limit_request_time(bench, 100.0)
    client = bench.connect()
    client.exchange(1, 2, 3)
    bench.run(1)
    assert client.correlation_ids == [1, 2, 3]


@pytest.mark.parametrize(("before_the_end_ms", "early"), [(500, 1), (2, 1), (1, 0)])
def test_the_journal_counts_the_requests_that_arrive_while_the_client_should_wait(
    make_bench: Callable[..., Any], before_the_end_ms: float, early: int
) -> None:
    bench = make_bench()
    bench.server.handler_pool.service_time = lambda _context: 10.0
    limit_request_time(bench, 0.05)
    client = bench.connect()
    client.exchange(1)
    bench.run(20)
    (response,) = bench.broker.journal.events_of(ResponseSent)
    end_us = response.time_us + response.throttle_us
    bench.run((end_us - bench.world.reactor.now_us) / 1000 - before_the_end_ms)
    client.exchange(2)
    bench.run(1_000)
    ended = bench.broker.journal.events_of(ThrottleEnded)
    assert [(each.time_us, each.early) for each in ended[:1]] == [(end_us, early)]


@pytest.mark.parametrize("ends", ["peer", "server"])
def test_a_throttled_connection_that_ends_leaves_no_timer(make_bench: Callable[..., Any], ends: str) -> None:
    bench = make_bench()
    bench.server.handler_pool.service_time = lambda _context: 10.0
    limit_request_time(bench, 1e-6)
    client = bench.connect()
    client.exchange(1)
    bench.run(15)
    if ends == "peer":
        client.transport.loseConnection()
        bench.run(1100)
    else:
        bench.server.abort()
        bench.run(1)
    assert client.correlation_ids == [1]
    assert bench.server.connections == 0
    assert bench.server.connection_quotas.total == 0


def test_requests_that_arrived_before_the_peer_left_are_served_after_the_throttle(
    make_bench: Callable[..., Any],
) -> None:
    bench = make_bench()
    bench.server.handler_pool.service_time = lambda _context: 10.0
    limit_request_time(bench, 1e-6)
    client = bench.connect()
    client.exchange(1, 2)
    bench.run(15)
    client.transport.loseConnection()
    bench.run(1200)
    assert [context.correlation_id for context in bench.apis.contexts] == [1, 2]
