"""The order of members by load."""

from __future__ import annotations

from broker_sim.coordinators.groups.assignors.load_balancer import LoadBalancer


def test_partitions_go_to_the_least_loaded_members_in_turn():
    loads = [2, 0, 1]
    balancer = LoadBalancer(loads, [0, 1, 2])
    taken = []
    for _ in range(4):
        member = balancer.next_least_loaded()
        loads[member] += 1
        taken.append(member)
    assert balancer.imbalance == 2
    assert taken == [1, 1, 2, 1]
    assert loads == [2, 3, 2]


def test_the_most_loaded_members_give_in_turn():
    loads = [5, 1, 4]
    balancer = LoadBalancer(loads, [0, 1, 2])
    given = []
    for _ in range(3):
        member = balancer.next_most_loaded()
        assert member is not None
        loads[member] -= 1
        given.append(member)
    assert given == [0, 0, 2]
