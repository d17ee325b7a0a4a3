from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.exploring.schedule_file import ScheduleFile, load_schedule

if TYPE_CHECKING:
    from pathlib import Path


def test_a_schedule_is_read_as_it_was_written(tmp_path: Path) -> None:
    schedule = ScheduleFile(scenario="small", seed=3, losses=1, choices=("1 -> 2", "rule crash"))
    path = tmp_path / "schedule.yaml"
    path.write_text(schedule.text())
    assert load_schedule(path) == schedule


@pytest.mark.parametrize(
    "text", ["[]", "scenario: small", "{scenario: a, seed: 0, losses: 0, choices: [1]}", "a: b: c"]
)
def test_what_is_no_schedule_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "schedule.yaml"
    path.write_text(text)
    with pytest.raises(ScenarioError, match="--replay"):
        load_schedule(path)
    with pytest.raises(ScenarioError, match=r"cannot read .*nowhere\.yaml \(--replay\): No such file"):
        load_schedule(tmp_path / "nowhere.yaml")
