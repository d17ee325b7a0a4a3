from __future__ import annotations

import pytest

from tests.broker_sim.wire_clients import WireNetwork


@pytest.fixture
def network() -> WireNetwork:
    return WireNetwork(brokers=3)
