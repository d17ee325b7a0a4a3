from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.control.events import BrokerStarted, BrokerStopped

if TYPE_CHECKING:
    from collections.abc import Callable


def test_brokers_restart_one_after_the_other(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas()
    made.produce(1)
    before = made.journal.count(kind=BrokerStarted)
    assert fire(made, {"rolling_restart": [2, "leader of t-0"]}, ms=60_000).problem is None
    assert [event.broker_id for event in made.journal.events_of(BrokerStopped)] == [2, 1]
    assert made.journal.count(kind=BrokerStarted) == before + 2
    assert made.values(1) == [1]
