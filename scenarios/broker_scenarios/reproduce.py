"""The command that runs a scenario again: with every option that changes the run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario

__all__ = ["reproduce_command"]


def reproduce_command(
    scenario: Scenario, *, where: str, seed: int, records: int | None, decisions: Path | None = None
) -> str:
    """Return the command line; `where` is its option of the target, the others are given with it."""
    command = ["broker-sim", "run", str(scenario.path), *where.split(), "--seed", str(seed)]
    if scenario.planted is not None:
        command += ["--defect", scenario.planted]
    if records is not None:
        command += ["--records", str(records)]
    return shlex.join(command if decisions is None else [*command, "--decisions", str(decisions)])
