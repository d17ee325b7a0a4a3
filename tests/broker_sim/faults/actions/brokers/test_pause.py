from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.control.events import BrokerFenced, BrokerRegistered

if TYPE_CHECKING:
    from collections.abc import Callable

# Hosts of a simulated network, whose timers stand still, and brokers that share a loop, as on real sockets.
NETWORKS = pytest.mark.parametrize("on_network", [True, False])


@NETWORKS
def test_a_paused_broker_is_fenced_and_serves_again_afterwards(
    replicas: Callable[..., Any], fire: Callable[..., Any], *, on_network: bool
) -> None:
    made = replicas(on_network=on_network)
    registered = made.journal.count(kind=BrokerRegistered)
    assert fire(made, {"pause": 1}, until={"delay_ms": 20_000}, ms=15_000).problem is None
    assert [event.broker_id for event in made.journal.events_of(BrokerFenced)] == [1]
    assert made.cluster.leader_of("t", 0) == 2
    assert made.cluster.is_running(1)
    made.produce(7, broker=2)
    made.run(ms=10_000)
    made.settle()
    assert made.values(1) == [7]
    assert made.journal.count(kind=BrokerRegistered) == registered


@NETWORKS
def test_a_paused_follower_holds_acks_until_it_leaves_the_isr(
    replicas: Callable[..., Any], fire: Callable[..., Any], *, on_network: bool
) -> None:
    made = replicas(on_network=on_network, config={"replica.lag.time.max.ms": "5000"})
    fire(made, {"pause": 3}, ms=10)
    responses = made.send(1, timeout_ms=30_000)
    made.run(ms=2_000)
    assert responses == []
    made.run(ms=20_000)
    assert [response.error_code for response in responses] == [0]
    assert fire(made, {"resume": 3}).problem is None
    made.settle()


def test_a_paused_broker_can_be_killed(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(on_network=True)
    fire(made, {"pause": 1})
    fire(made, {"kill": 1})
    fire(made, {"restart": 1}, ms=20_000)
    made.settle()
    assert made.cluster.is_running(1)
