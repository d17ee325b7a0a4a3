from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.wire_clients import ENDS_MS

if TYPE_CHECKING:
    from tests.broker_sim.wire_clients import WireNetwork


def test_messages_between_nodes_are_held_in_one_direction(network: WireNetwork) -> None:
    network.add({"hold_link": {"from": 1, "to": 2}})
    link, back = network.cluster.link(1, 2), network.cluster.link(2, 1)
    assert (link.held, back.held) == (True, False)
    network.add({"hold_link": {"from": 2, "to": 1, "both_ways": True}})
    network.run(ENDS_MS - 1.5)  # the first rule has closed, the second has not
    assert (link.held, back.held) == (True, True)
    network.run(ENDS_MS)
    assert (link.held, back.held) == (False, False)


def test_bytes_of_clients_are_held_and_not_lost(network: WireNetwork) -> None:
    client = network.client("app")
    network.add({"hold_link": {"from": "client app", "to": 1}})
    assert network.exchange(client, within_ms=ENDS_MS // 2) is None
    network.run(ENDS_MS // 2 + 1)
    assert len(client.responses) == 1
