from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.control.events import ResponseSent
from broker_sim.errors import BrokerSimError
from broker_sim.network.service_time import (
    SERVICE_TIME_MS_MAX,
    Exponential,
    Fixed,
    FixedServiceTime,
    LogNormal,
    Measured,
    ServiceTimeByApi,
    Uniform,
    measured,
)
from protocol_specs.errors import UnknownApi

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.network.service_time import Distribution


def test_a_fixed_time_makes_requests_wait_for_one_handler(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(num_io_threads="1")
    bench.server.handler_pool.service_time = FixedServiceTime(10.0)
    clients = [bench.connect() for _ in range(3)]
    for client in clients:
        client.exchange(1)
    bench.run(100)
    waited = [event.queue_us // 1000 for event in bench.broker.journal.events_of(ResponseSent)]
    assert waited == [0, 10, 20]


def test_an_api_without_a_distribution_takes_the_default_or_no_time(make_bench: Callable[..., Any]) -> None:
    bench = make_bench()
    bench.connect().exchange(1)
    bench.run()
    [context] = bench.apis.contexts
    by_api: dict[str, Distribution] = {"ApiVersions": Fixed(3.0)}
    assert ServiceTimeByApi(by_api, random=Random(1))(context) == 3.0
    assert ServiceTimeByApi({"Fetch": Fixed(3.0)}, random=Random(1))(context) == 0.0
    assert ServiceTimeByApi({}, random=Random(1), default=Fixed(2.0))(context) == 2.0
    assert ServiceTimeByApi({"ApiVersions": Fixed(1e9)}, random=Random(1))(context) == SERVICE_TIME_MS_MAX


def test_an_unknown_api_is_named() -> None:
    with pytest.raises(UnknownApi, match="Fetsh"):
        ServiceTimeByApi({"Fetsh": Fixed(1.0)}, random=Random(1))


@pytest.mark.parametrize("ms", [-1.0, SERVICE_TIME_MS_MAX + 1, float("nan")])
def test_a_time_out_of_range_is_refused(ms: float) -> None:
    with pytest.raises(BrokerSimError, match="is not between"):
        FixedServiceTime(ms)


@pytest.mark.parametrize(
    ("distribution", "lowest", "highest"),
    [
        (Uniform(2.0, 4.0), 2.9, 3.1),
        (Exponential(3.0), 2.7, 3.3),
        (Exponential(0.0), 0.0, 0.0),
        (LogNormal(3.0, 0.1), 2.9, 3.2),
        (Measured((1.0, 5.0)), 2.8, 3.2),
    ],
)
def test_a_distribution_has_its_mean(distribution: Distribution, lowest: float, highest: float) -> None:
    random = Random(1)
    drawn = [distribution.draw_ms(random) for _ in range(4000)]
    assert lowest <= sum(drawn) / len(drawn) <= highest


def test_what_handling_took_in_one_run_is_drawn_in_the_next(make_bench: Callable[..., Any]) -> None:
    bench = make_bench()
    bench.server.handler_pool.service_time = FixedServiceTime(4.0)
    client = bench.connect()
    client.exchange(1, 2)
    bench.run(50)
    times = measured(bench.broker.journal.events_of(ResponseSent))
    assert times == {"ApiVersions": Measured((4.0, 4.0))}
