from __future__ import annotations

import pytest

from broker_sim.network.connection_quotas import ConnectionQuotas, TooManyConnections, parse_overrides


def test_an_address_beyond_its_limit_is_refused_and_not_counted() -> None:
    quotas = ConnectionQuotas(max_connections=10, max_connections_per_ip=2, overrides={})
    quotas.increment("10.0.0.1")
    quotas.increment("10.0.0.1")
    with pytest.raises(TooManyConnections, match=r"10\.0\.0\.1 \(maximum = 2, max\.connections\.per\.ip\)"):
        quotas.increment("10.0.0.1")
    quotas.increment("10.0.0.2")
    assert (quotas.count("10.0.0.1"), quotas.total) == (2, 3)


def test_an_override_replaces_the_limit_of_its_address() -> None:
    quotas = ConnectionQuotas(
        max_connections=10, max_connections_per_ip=5, overrides=parse_overrides("10.0.0.1:0, ::1:3")
    )
    with pytest.raises(TooManyConnections):
        quotas.increment("10.0.0.1")
    assert quotas.overrides == {"10.0.0.1": 0, "::1": 3}


def test_a_closed_connection_makes_room() -> None:
    quotas = ConnectionQuotas(max_connections=1, max_connections_per_ip=1, overrides={})
    quotas.increment("10.0.0.1")
    assert not quotas.slot_available
    quotas.decrement("10.0.0.1")
    assert quotas.slot_available
    assert quotas.count("10.0.0.1") == 0
