"""After any faults of members and coordinators, each task of a streams group is active on one member.

Each defect that is put in on purpose is found.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.coordinators.groups.modern.epoch_groups import EpochGroups
from broker_sim.coordinators.groups.streams import reconciliation, target_assignment
from broker_sim.coordinators.groups.streams.streams_group import StreamsGroup
from broker_sim.coordinators.groups.streams.streams_replay import StreamsReplay
from broker_sim.coordinators.groups.streams.tasks import NO_HELD_TASKS, HeldTasks, Tasks
from tests.broker_sim.coordinators.groups.streams.streams_machine import StreamsMachine
from tests.broker_sim.coordinators.run_machine import run_machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.coordinators.groups.streams.streams_member import StreamsMember

EXAMPLES = 12
EXAMPLES_UNTIL_FOUND = 150
FOUND_SOON = 1
"""Draws examples of which the first find every defect."""
STEPS = 30


def test_each_task_is_active_on_one_member() -> None:
    run_machine(StreamsMachine, examples=EXAMPLES, steps=STEPS)


def tasks_are_never_taken(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reconciliation._Step, "_is_active_task_taken", lambda *_: False)


def copies_run_beside_the_active_task(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reconciliation._Step, "_is_passive_task_taken", lambda *_: False)


def tasks_are_free_before_they_are_closed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(HeldTasks, "overlaps", lambda *_: False)


def commits_are_not_checked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(StreamsGroup, "check_offset_commit", lambda *_, **__: None)


def a_task_is_not_assigned(patch: pytest.MonkeyPatch) -> None:
    def assign_tasks(*arguments: Any) -> dict[str, Tasks]:
        return {
            member_id: replace(
                tasks, active={name: partitions - {2} for name, partitions in tasks.active.items() if partitions - {2}}
            )
            for member_id, tasks in original(*arguments).items()
        }

    original = target_assignment.assign_tasks
    patch.setattr(target_assignment, "assign_tasks", assign_tasks)


def a_moved_coordinator_forgets_unclosed_tasks(patch: pytest.MonkeyPatch) -> None:
    def assigned(replay: StreamsReplay, member: StreamsMember, value: Any) -> StreamsMember:
        return replace(original(replay, member, value), pending_revocation=NO_HELD_TASKS)

    original = StreamsReplay._assigned
    patch.setattr(StreamsReplay, "_assigned", assigned)


def a_moved_coordinator_starts_no_timers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EpochGroups, "loaded", lambda *_: None)


DEFECTS = [
    tasks_are_never_taken,
    copies_run_beside_the_active_task,
    tasks_are_free_before_they_are_closed,
    commits_are_not_checked,
    a_task_is_not_assigned,
    a_moved_coordinator_forgets_unclosed_tasks,
    a_moved_coordinator_starts_no_timers,
]


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found(defect: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    defect(monkeypatch)
    with pytest.raises(AssertionError):
        run_machine(StreamsMachine, examples=EXAMPLES_UNTIL_FOUND, steps=STEPS, drawn_from=FOUND_SOON)
