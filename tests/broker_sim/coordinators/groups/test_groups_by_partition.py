from broker_sim.coordinators.groups.groups_by_partition import groups_by_partition
from broker_sim.coordinators.internal_partitions import partition_for


def test_groups_of_a_partition_are_together_in_the_order_of_the_request():
    names = [f"group-{number}" for number in range(40)]
    found = groups_by_partition(names, 5)
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert all(partition_for(name, 5) == partition for partition, of_one in found.items() for name in of_one)
    assert all(of_one == sorted(of_one, key=names.index) for of_one in found.values())


def test_without_a_topic_all_groups_are_together():
    assert groups_by_partition(["a", "b"], 0) == {-1: ["a", "b"]}
