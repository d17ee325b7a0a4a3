from hypothesis import given
from hypothesis import strategies as st

from broker_sim.coordinators.groups.streams.configured_topology import ConfiguredSubtopology, InternalTopic
from broker_sim.coordinators.groups.streams.sticky_assignor import TaskMember, assign_tasks
from broker_sim.coordinators.groups.streams.tasks import NO_TASKS, Tasks, each_task


def subtopology(tasks, *, stateful=False):
    changelogs = {"log": InternalTopic("log", tasks, 0, {})} if stateful else {}
    return ConfiguredSubtopology(tasks, frozenset({"in"}), {}, frozenset(), changelogs)


def fresh(**processes):
    return {member: TaskMember(process, NO_TASKS) for member, process in processes.items()}


def test_tasks_are_spread_over_processes_and_their_threads():
    found = assign_tasks(fresh(a1="p", a2="p", b1="q"), {"0": subtopology(6)}, 0)
    assert {member: len(list(each_task(tasks.active))) for member, tasks in found.items()} == {
        "a1": 2,
        "a2": 2,
        "b1": 2,
    }


def test_a_member_keeps_its_tasks_up_to_its_share():
    members = {
        "a": TaskMember("p", Tasks({"0": frozenset({0, 1, 2, 3})})),
        "b": TaskMember("q", NO_TASKS),
    }
    found = assign_tasks(members, {"0": subtopology(4)}, 0)
    assert found["a"].active == {"0": frozenset({0, 1})}
    assert found["b"].active == {"0": frozenset({2, 3})}


def test_a_member_keeps_the_first_partitions_of_all_subtopologies():
    members = {
        "a": TaskMember("p", Tasks({"0": frozenset({0, 1}), "1": frozenset({0, 1})})),
        "b": TaskMember("q", NO_TASKS),
    }
    found = assign_tasks(members, {"0": subtopology(2), "1": subtopology(2)}, 0)
    assert found["a"].active == {"0": frozenset({0}), "1": frozenset({0})}


def test_the_holder_of_a_standby_copy_becomes_active():
    members = {
        "a": TaskMember("p", Tasks({"0": frozenset({0})}, {"0": frozenset({3})})),
        "b": TaskMember("q", Tasks({"0": frozenset({1})}, {"0": frozenset({2})})),
    }
    found = assign_tasks(members, {"0": subtopology(4, stateful=True)}, 1)
    assert found["a"].active == {"0": frozenset({0, 3})}
    assert found["b"].active == {"0": frozenset({1, 2})}


def test_one_process_has_no_standby_copies():
    found = assign_tasks(fresh(a="p", b="p"), {"0": subtopology(2, stateful=True)}, 1)
    assert all(not tasks.standby for tasks in found.values())


processes = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["p", "q", "r"]), min_size=1)
shapes = st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=4)


@given(processes, processes, shapes, st.integers(0, 2))
def test_every_task_has_one_owner_and_copies_on_other_processes(first, second, shape, replicas):
    subtopologies = {str(number): subtopology(tasks, stateful=state) for number, (tasks, state) in enumerate(shape)}
    before = assign_tasks(fresh(**first), subtopologies, replicas)
    members = {member: TaskMember(process, before.get(member, NO_TASKS)) for member, process in second.items()}
    found = assign_tasks(members, subtopologies, replicas)
    owners = {}
    for member, tasks in found.items():
        for task in each_task(tasks.active):
            assert task not in owners
            owners[task] = members[member].process_id
    assert len(owners) == sum(tasks for tasks, _ in shape)
    copies = [
        (task, members[member].process_id) for member, tasks in found.items() for task in each_task(tasks.standby)
    ]
    assert len(set(copies)) == len(copies)
    assert all(owners[task] != process for task, process in copies)
    others = min(replicas, len(set(second.values())) - 1)
    assert len(copies) == others * sum(tasks for tasks, state in shape if state)
