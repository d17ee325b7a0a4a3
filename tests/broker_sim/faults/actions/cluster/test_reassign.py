from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.faults.rule import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_partition_moves(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    made = replicas(replication_factor=1)
    made.produce(1)
    assert fire(made, {"reassign": {"partition": "t-0", "replicas": [3, 2]}}, ms=5_000).problem is None
    assert made.cluster.registration_of("t", 0).replicas == (3, 2)
    assert made.values(3) == [1]


def test_a_replica_that_does_not_exist_is_refused(replicas: Callable[..., Any], fire: Callable[..., Any]) -> None:
    with pytest.raises(RuleError, match=r"act\.reassign: there is no broker 9"):
        fire(replicas(), {"reassign": {"partition": "t-0", "replicas": [9]}})
