from dataclasses import replace

import pytest

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.streams.reconciliation import reconciled
from broker_sim.coordinators.groups.streams.streams_member import StreamsMember, TaskState
from broker_sim.coordinators.groups.streams.task_owners import TaskOwners
from broker_sim.coordinators.groups.streams.tasks import NO_TASKS, HeldTasks, Tasks
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

ANN = StreamsMember(member_id="ann", process_id="p", member_epoch=5, previous_member_epoch=4)


def active(*partitions):
    return Tasks({"0": frozenset(partitions)})


def held(*partitions, epoch=5):
    return HeldTasks({"0": dict.fromkeys(partitions, epoch)} if partitions else {})


def owners(*members):
    found = TaskOwners(SnapshotRegistry())
    for member in members:
        found.member_changed(None, member)
    return found


def step(member, target, *others, owned=None, epoch=6):
    return reconciled(member, target_epoch=epoch, target=target, owners=owners(member, *others), owned=owned)


def test_free_tasks_are_given_at_once_with_the_epoch_of_the_assignment():
    found = step(replace(ANN, assigned=held(0)), active(0, 1))
    assert (found.state, found.member_epoch, found.previous_member_epoch) == (TaskState.STABLE, 6, 5)
    assert found.assigned.active == {"0": {0: 5, 1: 6}}


def test_a_member_revokes_before_its_epoch_grows():
    found = step(replace(ANN, assigned=held(0, 1)), active(0))
    assert (found.state, found.member_epoch) == (TaskState.UNREVOKED_TASKS, 5)
    assert (found.assigned, found.pending_revocation) == (held(0), held(1))


def test_a_member_that_still_owns_the_task_stays():
    member = replace(ANN, state=TaskState.UNREVOKED_TASKS, assigned=held(0), pending_revocation=held(1))
    assert step(member, active(0), owned=active(0, 1)) is member
    assert step(member, active(0), owned=None) is member
    done = step(member, active(0), owned=active(0))
    assert (done.state, done.member_epoch, done.pending_revocation) == (TaskState.STABLE, 6, HeldTasks())


def test_tasks_of_others_are_awaited():
    bob = StreamsMember(member_id="bob", process_id="q", pending_revocation=held(1))
    waiting = step(ANN, active(0, 1), bob)
    assert (waiting.state, waiting.assigned) == (TaskState.UNRELEASED_TASKS, held(0, epoch=6))
    assert step(waiting, active(0, 1)).assigned == held(0, 1, epoch=6)


def test_a_process_does_not_get_a_copy_of_its_own_active_task():
    amy = StreamsMember(member_id="amy", process_id="p", assigned=held(0))
    bob = StreamsMember(member_id="bob", process_id="q", assigned=held(1))
    found = step(ANN, Tasks(standby={"0": frozenset({0, 1})}), amy, bob)
    assert (found.state, found.assigned.standby) == (TaskState.UNRELEASED_TASKS, {"0": frozenset({1})})


def test_a_copy_of_the_same_process_keeps_an_active_task_away():
    amy = StreamsMember(member_id="amy", process_id="p", assigned=HeldTasks(standby={"0": frozenset({0})}))
    assert step(ANN, active(0), amy).state is TaskState.UNRELEASED_TASKS


def test_the_state_of_a_newer_release_is_fenced():
    member = replace(ANN, state=TaskState.from_value(9))
    with pytest.raises(CoordinatorError, match="in a unknown state"):
        step(member, active(0))
    assert step(member, active(0), owned=NO_TASKS).state is TaskState.STABLE
