"""After any faults of members and coordinators, a classic group comes to rest with one owner of each partition."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
from broker_sim.coordinators.groups.classic.responses import synced
from broker_sim.coordinators.groups.classic.sync_phase import SyncPhase
from tests.broker_sim.coordinators.groups.classic.group_machine import GroupMachine, OldCoordinatorMachine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXAMPLES = 8
EXAMPLES_UNTIL_FOUND = 100
STEPS = 25


def run(machine: type[GroupMachine], examples: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


@contextmanager
def replaced(owner: Any, name: str, replacement: Callable[..., Any]) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, replacement)
    try:
        yield
    finally:
        setattr(owner, name, original)


@pytest.mark.parametrize("machine", [GroupMachine, OldCoordinatorMachine])
def test_a_group_comes_to_rest(machine: type[GroupMachine]) -> None:
    run(machine, EXAMPLES)


def test_an_assignment_that_goes_to_a_wrong_member_is_found() -> None:
    def propagate(_: Any, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
        for member in list(group.members.values()):
            member.assignment = next(iter(assignments.values()))
            group.complete_sync(member, synced(group, member.assignment))

    with replaced(SyncPhase, "_propagate", propagate), pytest.raises(AssertionError):
        run(GroupMachine, EXAMPLES_UNTIL_FOUND)


def test_commits_of_earlier_generations_are_found() -> None:
    with replaced(ClassicGroup, "check_offset_commit", lambda *_, **__: None), pytest.raises(AssertionError):
        run(GroupMachine, EXAMPLES_UNTIL_FOUND)
