from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.broker_sim.wire_clients import WireNetwork


def test_a_close_is_seen_late(network: WireNetwork) -> None:
    client = network.client("app")
    network.exchange(client)
    network.add({"slow_close": {"from": 1, "to": "clients", "delay_ms": 40}})
    begin_ms = network.now_ms()
    network.cluster.wire.close_connections((1,), "*")
    network.run(60)
    assert (client.ended_ms or 0) - begin_ms == pytest.approx(40, abs=1)
