"""Runs of state machines with the same examples each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine


def run_machine(machine: type[RuleBasedStateMachine], *, examples: int, steps: int) -> None:
    """Run a machine, without the search for a smaller example that fails."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
