"""A schedule as a file: the choices of one run, to be replayed by `broker-sim explore FILE --replay SCHEDULE`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from broker_scenarios.errors import ScenarioError
from sim_runtime.spelling import reason_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ScheduleFile", "load_schedule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFile:
    """The name of the scenario, its seed, the messages that may be lost, and the step at each choice point."""

    scenario: str
    seed: int
    losses: int
    choices: tuple[str, ...]

    def text(self) -> str:
        """Return the file."""
        document = {
            "scenario": self.scenario,
            "seed": self.seed,
            "losses": self.losses,
            "choices": list(self.choices),
        }
        return yaml.safe_dump(document, sort_keys=False, width=10_000)


def load_schedule(path: Path) -> ScheduleFile:
    """Read a schedule.

    Raises:
        ScenarioError: the file cannot be read, or is no schedule.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ScenarioError(f"cannot read {path} (--replay): {reason_of(error)}") from error
    if not _is_schedule(document):
        raise ScenarioError(
            f"--replay {path}: expected a schedule that --schedule has written: scenario, seed, losses, choices"
        )
    return ScheduleFile(
        scenario=document["scenario"],
        seed=document["seed"],
        losses=document["losses"],
        choices=tuple(document["choices"]),
    )


def _is_schedule(document: Any) -> bool:
    kinds = {"scenario": str, "seed": int, "losses": int, "choices": list}
    return (
        isinstance(document, dict)
        and set(document) == set(kinds)
        and all(isinstance(document[key], kind) for key, kind in kinds.items())
        and all(isinstance(choice, str) for choice in document["choices"])
    )
