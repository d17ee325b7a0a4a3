from __future__ import annotations

from typing import Any

import pytest
from twisted.internet import error

from tests.broker_sim.wire_clients import ENDS_MS, WireNetwork


@pytest.mark.parametrize("act", [{"refuse": 1}, {"refuse": {"at": ["brokers"]}}])
def test_new_connections_fail_until_the_end(network: WireNetwork, act: Any) -> None:
    open_before = network.client()
    network.add(act)
    client = network.client(timeout_s=0.05)
    network.run(60)
    assert isinstance(client.reason, error.ConnectionRefusedError)
    network.run(ENDS_MS)
    for each in (open_before, network.client()):
        assert network.exchange(each) == pytest.approx(0, abs=1)
