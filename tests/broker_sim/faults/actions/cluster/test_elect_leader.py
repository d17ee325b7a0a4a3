from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.control.events import LeaderElected

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_preferred_replica_is_elected(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas()
    assert fire(made, {"elect_leader": {"partition": "t-0", "broker": 3}}).problem is None
    assert made.cluster.leader_of("t", 0) == 3
    assert made.cluster.registration_of("t", 0).isr == (1, 2, 3)
    assert fire(made, {"elect_leader": "t-0"}).problem is None
    assert made.cluster.leader_of("t", 0) == 1
    assert [event.broker_id for event in made.journal.events_of(LeaderElected)][-2:] == [3, 1]


def test_a_replica_out_of_sync_needs_an_unclean_election(
    replicas: Callable[..., Any], fire: Callable[..., Any]
) -> None:
    made = replicas(config={"replica.lag.time.max.ms": "1000"})
    made.cluster.link(3, 1).cut()
    made.produce(1, acks=1)
    made.run(ms=5_000)
    assert 3 not in made.cluster.registration_of("t", 0).isr
    refused = fire(made, {"elect_leader": {"partition": "t-0", "broker": 3}})
    assert "is not in the ISR [1, 2], which needs an unclean election" in refused.problem
    made.cluster.link(3, 1).restore()
    report = fire(made, {"elect_leader": {"partition": "t-0", "broker": 3, "unclean": True}}, ms=10)
    assert report.problem is None
    assert made.cluster.leader_of("t", 0) == 3


def test_an_election_that_is_not_needed_is_the_problem_of_the_rule(
    replicas: Callable[..., Any], fire: Callable[..., Any]
) -> None:
    made = replicas()
    assert "ElectLeaders: ELECTION_NOT_NEEDED" in fire(made, {"elect_leader": "t-0"}).problem
    assert "it is the leader" in fire(made, {"elect_leader": {"partition": "t-0", "broker": 1}}).problem
    assert "there is no topic 'x'" in fire(made, {"elect_leader": {"partition": "x-0", "broker": 1}}).problem


def test_zookeeper_elects_by_itself(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(release="2.8.2")
    assert "has ZooKeeper" in fire(made, {"elect_leader": {"partition": "t-0", "broker": 2}}).problem
