"""The scenarios and histories that how-to pages show: each ends with the result that the page states."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from broker_scenarios.cli import main

HOW_TO: Final = Path(__file__).parents[2] / "docs" / "how-to"
SCENARIO: Final = re.compile(r"^```yaml\n(title: .*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN: Final = [
    pytest.param(text, id=text.splitlines()[0].removeprefix("title: "))
    for page in sorted(HOW_TO.glob("*.md"))
    for text in SCENARIO.findall(page.read_text())
]


@pytest.mark.parametrize("text", SHOWN)
def test_a_shown_scenario_ends_as_it_expects(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "shown.yaml"
    path.write_text(text)
    assert main(["run", str(path)]) == 0, capsys.readouterr().out


def test_the_smallest_scenario_runs_on_tcp(tmp_path: Path) -> None:
    path = tmp_path / "smallest.yaml"
    path.write_text(SCENARIO.findall((HOW_TO / "write-a-scenario.md").read_text())[0])
    assert main(["run", str(path), "--local"]) == 0
