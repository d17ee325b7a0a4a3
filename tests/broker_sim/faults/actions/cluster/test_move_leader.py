from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_another_in_sync_replica_leads(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas()
    made.produce(1)
    assert fire(made, {"move_leader": {"partition": "t-0", "to": 2}}).problem is None
    assert made.cluster.leader_of("t", 0) == 2
    report = fire(made, {"move_leader": "t-0"})
    assert made.cluster.leader_of("t", 0) == report.decisions["act.to@1"]
    assert report.decisions["act.to@1"] in (1, 3)


def test_a_leader_without_another_replica_stays(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(replication_factor=1)
    assert fire(made, {"move_leader": "t-0"}).problem == "to: no other in-sync replica of t-0 is running"
