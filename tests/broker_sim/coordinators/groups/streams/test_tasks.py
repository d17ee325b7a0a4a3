from broker_sim.coordinators.groups.streams.tasks import HeldTasks, Tasks, in_hash_order, sorted_tasks, task_sets
from protocol_specs.messages.streams_group_heartbeat import TaskIds


def test_sets_are_merged_per_subtopology():
    merged = HeldTasks({"0": {1: 5}}, {"1": frozenset({0})}).merged_with(
        HeldTasks({"0": {2: 6}, "2": {0: 6}}, {"1": frozenset({3})})
    )
    assert merged == HeldTasks({"0": {1: 5, 2: 6}, "2": {0: 6}}, {"1": frozenset({0, 3})})


def test_merged_partitions_come_in_the_order_of_javas_copy():
    merged = HeldTasks({"0": {3: 5}}).merged_with(HeldTasks({"0": {4: 6}, "1": {3: 6, 4: 6}}))
    assert {name: list(epochs) for name, epochs in merged.active.items()} == {"0": [4, 3], "1": [4, 3]}


def test_only_the_same_kind_of_task_overlaps():
    held = HeldTasks({"0": {1: 5}})
    assert held.overlaps(Tasks({"0": frozenset({1, 2})}))
    assert not held.overlaps(Tasks(standby={"0": frozenset({1})}))


def test_tasks_are_named_as_kafka_streams_names_them():
    held = HeldTasks({"0": {1: 5, 0: 4}}, {"1": frozenset({0})})
    assert held.as_text() == "active 0_0, 0_1; standby 1_0"


def test_lists_have_the_order_of_records_and_of_responses():
    tasks = task_sets([TaskIds(subtopology_id="b", partitions=[2, 1]), TaskIds(subtopology_id="10", partitions=[0])])
    assert [(each.subtopology_id, each.partitions) for each in sorted_tasks(tasks, TaskIds)] == [
        ("10", [0]),
        ("b", [1, 2]),
    ]
    assert [each.subtopology_id for each in in_hash_order(tasks, TaskIds)] == ["b", "10"]


def test_a_merged_subtopology_comes_before_those_of_its_bucket():
    """0 and 11 share a bucket of 16: a record's map appends 11, merged() puts it first."""
    first, second = ({name: frozenset({0})} for name in ("0", "11"))
    assert list(task_sets([TaskIds(subtopology_id=name, partitions=[0]) for name in ("0", "11")])) == ["0", "11"]
    assert list(HeldTasks(standby=first).merged_with(HeldTasks(standby=second)).standby) == ["11", "0"]
