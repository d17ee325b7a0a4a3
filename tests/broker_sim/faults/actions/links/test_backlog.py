from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet import error

if TYPE_CHECKING:
    from tests.broker_sim.wire_clients import WireNetwork


def test_a_backlog_is_accepted_slowly(network: WireNetwork) -> None:
    network.add({"backlog": {"at": 1, "size": 2, "accept_every_ms": 30}})
    clients = [network.client() for _ in range(2)]
    for client in clients:
        client.send()
    outside = network.client(timeout_s=0.01)
    network.run(70)
    assert [len(client.responses) for client in clients] == [1, 1]
    assert isinstance(outside.reason, error.TimeoutError)
