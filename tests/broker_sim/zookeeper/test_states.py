from __future__ import annotations

import pytest

from broker_sim.zookeeper.states import PartitionState, ReplicaState, may_become, replica_may_become

P, R = PartitionState, ReplicaState

PARTITION_PAIRS = {
    (P.NON_EXISTENT, P.NEW),
    (P.NEW, P.ONLINE),
    (P.NEW, P.OFFLINE),
    (P.ONLINE, P.ONLINE),
    (P.ONLINE, P.OFFLINE),
    (P.OFFLINE, P.ONLINE),
    (P.OFFLINE, P.OFFLINE),
    (P.OFFLINE, P.NON_EXISTENT),
}
REPLICA_PAIRS = {
    (R.NON_EXISTENT, R.NEW),
    (R.NEW, R.ONLINE),
    (R.ONLINE, R.ONLINE),
    (R.OFFLINE, R.ONLINE),
    (R.DELETION_INELIGIBLE, R.ONLINE),
    (R.NEW, R.OFFLINE),
    (R.ONLINE, R.OFFLINE),
    (R.OFFLINE, R.OFFLINE),
    (R.DELETION_INELIGIBLE, R.OFFLINE),
    (R.OFFLINE, R.DELETION_STARTED),
    (R.DELETION_STARTED, R.DELETION_SUCCESSFUL),
    (R.OFFLINE, R.DELETION_INELIGIBLE),
    (R.DELETION_STARTED, R.DELETION_INELIGIBLE),
    (R.DELETION_SUCCESSFUL, R.NON_EXISTENT),
}


@pytest.mark.parametrize("state", PartitionState)
@pytest.mark.parametrize("target", PartitionState)
def test_a_partition_goes_where_kafkas_machine_lets_it(state: PartitionState, target: PartitionState) -> None:
    assert may_become(state, target) is ((state, target) in PARTITION_PAIRS)


@pytest.mark.parametrize("state", ReplicaState)
@pytest.mark.parametrize("target", ReplicaState)
def test_a_replica_goes_where_kafkas_machine_lets_it(state: ReplicaState, target: ReplicaState) -> None:
    assert replica_may_become(state, target) is ((state, target) in REPLICA_PAIRS)
