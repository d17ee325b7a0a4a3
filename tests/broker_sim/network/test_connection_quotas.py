from __future__ import annotations

from typing import Any

import pytest

from broker_sim.network.connection_quotas import (
    ConnectionQuotas,
    ConnectionThrottled,
    TooManyConnections,
)

L = "PLAINTEXT"


def quotas(**options: Any) -> ConnectionQuotas:
    made = ConnectionQuotas(**options)
    made.add_listener(L)
    return made


def test_an_address_beyond_its_limit_is_refused_and_not_counted() -> None:
    each = quotas(max_connections=10, max_connections_per_ip=2)
    each.increment(L, "10.0.0.1", 0)
    each.increment(L, "10.0.0.1", 0)
    with pytest.raises(TooManyConnections, match=r"10\.0\.0\.1 \(maximum = 2, max\.connections\.per\.ip\)"):
        each.increment(L, "10.0.0.1", 0)
    each.increment(L, "10.0.0.2", 0)
    assert (each.count("10.0.0.1"), each.listener_count(L), each.total) == (2, 3, 3)


def test_an_override_replaces_the_limit_of_its_address() -> None:
    each = quotas(max_connections_per_ip=5, overrides={"10.0.0.1": 0})
    with pytest.raises(TooManyConnections):
        each.increment(L, "10.0.0.1", 0)
    each.increment(L, "10.0.0.2", 0)


def test_names_of_one_address_have_the_limit_of_the_last_one() -> None:
    each = quotas(overrides={"127.0.0.1": 5, "127.1": 3, "localhost": 1, "::1": 0})
    each.increment(L, "127.0.0.1", 0)
    for address in ("127.0.0.1", "::1"):
        with pytest.raises(TooManyConnections):
            each.increment(L, address, 0)


def test_a_closed_connection_makes_room() -> None:
    each = quotas(max_connections=1, max_connections_per_ip=1)
    each.increment(L, "10.0.0.1", 0)
    assert not each.slot_available(L)
    each.decrement(L, "10.0.0.1")
    assert each.slot_available(L)
    assert each.count("10.0.0.1") == 0


def test_a_listener_has_limits_of_its_own() -> None:
    each = ConnectionQuotas(max_connections=10)
    each.add_listener("A", max_connections=1)
    each.add_listener("B")
    each.increment("A", "10.0.0.1", 0)
    assert (each.slot_available("A"), each.slot_available("B")) == (False, True)
    each.set_listener_max_connections("A", 2)
    assert each.slot_available("A")


def test_the_inter_broker_listener_is_protected_when_there_is_another_one() -> None:
    each = ConnectionQuotas(max_connections=1, max_creation_rate=1, protected_listener="A")
    each.add_listener("A")
    each.increment("A", "10.0.0.1", 0)
    assert not each.slot_available("A")
    each.add_listener("B")
    assert (each.slot_available("A"), each.slot_available("B")) == (True, False)
    assert [each.creation_throttle_ms("A", 0) for _ in range(50)] == [0] * 50


def test_the_acceptor_waits_when_connections_come_too_fast() -> None:
    each = quotas(max_creation_rate=2)
    # Measured over 10 s: 20 connections are within 2 a second.
    assert [each.creation_throttle_ms(L, 0) for _ in range(21)] == [0] * 20 + [500]
    assert each.creation_throttle_ms(L, 0) == 1000


def test_a_delay_is_never_longer_than_a_window() -> None:
    each = quotas(max_creation_rate=1)
    assert max(each.creation_throttle_ms(L, 0) for _ in range(50)) == 1000
    assert quotas(max_creation_rate=0).creation_throttle_ms(L, 0) == 1000


def test_an_address_that_connects_too_fast_is_counted_nowhere() -> None:
    each = quotas(max_creation_rate=100)
    each.set_ip_rates(None, {"10.0.0.1": 1})
    for _ in range(10):
        each.creation_throttle_ms(L, 0)
        each.increment(L, "10.0.0.1", 0)
    with pytest.raises(ConnectionThrottled, match=r"10\.0\.0\.1 is throttled for 1000 ms"):
        each.increment(L, "10.0.0.1", 0)
    each.increment(L, "10.0.0.2", 0)
    assert (each.count("10.0.0.1"), each.total) == (10, 11)
    each.increment(L, "10.0.0.1", 11_000)


def test_a_default_rate_is_that_of_every_address_without_its_own() -> None:
    each = quotas()
    each.set_ip_rates(5, {"10.0.0.1": 7})
    assert (each.ip_rate("10.0.0.1"), each.ip_rate("10.0.0.2")) == (7, 5)
