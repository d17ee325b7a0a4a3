from __future__ import annotations

from typing import Any

import pytest

from tests.broker_sim.wire_clients import ENDS_MS, WireNetwork


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"from": 1, "to": 2}, {(1, 2)}),
        ({"from": 1, "to": [2, "controllers"]}, {(1, 2), (1, 3000)}),
        ({"from": [1], "to": "controllers", "both_ways": True}, {(1, 3000), (3000, 1)}),
        ({"from": 1, "to": "brokers"}, {(1, 2), (1, 3)}),
        ({"from": "all", "to": 3}, {(1, 3), (2, 3), (3000, 3)}),
    ],
)
def test_a_cut_separates_nodes_until_its_end(
    network: WireNetwork, written: dict[str, Any], expected: set[tuple[int, int]]
) -> None:
    network.add({"cut_link": written})
    assert network.cuts() == expected
    network.run(ENDS_MS)
    assert network.cuts() == set()


def test_a_cut_between_a_node_and_itself_has_no_effect(network: WireNetwork) -> None:
    network.add({"cut_link": {"from": 1, "to": 1}}, optional=True)
    (report,) = network.cluster.faults.reports()
    assert report.fired == 0


def test_a_cut_separates_clients_from_a_broker(network: WireNetwork) -> None:
    app, other = network.client("app"), network.client("other")
    network.add({"cut_link": {"from": "client a*", "to": 1}})
    assert network.exchange(app, within_ms=50) is None
    assert network.exchange(other, within_ms=20) == pytest.approx(0, abs=1)
    network.run(300)
    assert len(app.responses) == 1
