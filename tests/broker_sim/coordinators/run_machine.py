"""Runs of state machines with the same examples each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine


def run_machine(
    machine: type[RuleBasedStateMachine], *, examples: int, steps: int, drawn_from: int | None = None
) -> None:
    """Run a machine, without the search for a smaller example that fails.

    `drawn_from` chooses other examples than those that the name of the machine draws.
    """
    run_state_machine_as_test(
        machine if drawn_from is None else seed(drawn_from)(type(machine.__name__, (machine,), {})),
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
