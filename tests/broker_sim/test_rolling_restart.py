"""All brokers restart, one at a time, during writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.control.events import BrokerKilled, BrokerStarted, BrokerStopped, LeaderElected
from broker_sim.errors import BrokerSimError
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

Make = Any
MIN_ISR_2 = {"min.insync.replicas": "2"}


def roll(cluster: Any, **options: Any) -> Deferred[None]:
    """Begin; the world has to run."""
    begun: Deferred[None] = cluster.cluster.rolling_restart(**options)
    return begun


def test_every_broker_is_restarted_once_and_in_order(replicas: Make) -> None:
    cluster = replicas(topic_config=MIN_ISR_2)
    cluster.produce(1)
    cluster.world.run_until(roll(cluster), deadline_ms=120_000)
    stopped = [event.broker_id for event in cluster.journal.events_of(BrokerStopped)]
    started = [event.broker_id for event in cluster.journal.events_of(BrokerStarted)]
    assert (stopped, started[3:]) == ([1, 2, 3], [1, 2, 3])
    assert cluster.journal.events_of(BrokerKilled) == []
    assert not any(event.unclean for event in cluster.journal.events_of(LeaderElected))
    cluster.settle()


def test_a_producer_that_finds_the_current_leader_never_waits_and_loses_nothing(replicas: Make) -> None:
    cluster = replicas(topic_config=MIN_ISR_2)
    done = roll(cluster)
    stored: list[int] = []
    value = 0
    while not done.called:
        leader = cluster.leader()
        assert leader is not None
        if cluster.produce(value, broker=leader).error_code is ErrorCode.NONE:
            stored.append(value)
        value += 1
        cluster.run(ms=50)
    cluster.settle()
    assert len(stored) > 50
    for broker in (1, 2, 3):
        values = cluster.values(broker)
        assert [each for each in values if each in stored] == stored


def test_chosen_brokers_alone_are_restarted(replicas: Make) -> None:
    cluster = replicas()
    cluster.world.run_until(roll(cluster, broker_ids=[3, 2]), deadline_ms=120_000)
    assert [event.broker_id for event in cluster.journal.events_of(BrokerStopped)] == [3, 2]


def test_a_broker_that_is_down_stays_down(replicas: Make) -> None:
    cluster = replicas()
    cluster.cluster.kill(2)
    cluster.run(ms=9_500)
    cluster.world.run_until(roll(cluster), deadline_ms=120_000)
    assert not cluster.cluster.broker(2).alive


def test_a_broker_that_does_not_catch_up_is_named(replicas: Make) -> None:
    cluster = replicas()
    cluster.produce(1)
    for leader in (2, 3):
        cluster.hold_fetches(1, leader=leader)
    failed = roll(cluster, catch_up_ms_max=5_000)
    with pytest.raises(BrokerSimError, match="broker 1 was not in the ISR of t-0 after 5000 ms; catch_up_ms_max"):
        cluster.world.run_until(failed, deadline_ms=60_000)
