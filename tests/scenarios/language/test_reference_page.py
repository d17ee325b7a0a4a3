"""docs/reference/scenario-files.md is what the code prints, and has every key, step and measure."""

from __future__ import annotations

from pathlib import Path

from broker_scenarios.language.reference_page import reference_page
from broker_scenarios.language.schema import SCENARIO
from broker_scenarios.language.step_forms import STEPS
from broker_scenarios.measures import MEASURES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "scenario-files.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == reference_page(), "run: make docs"


def test_the_page_has_every_key_step_and_measure() -> None:
    page = reference_page()
    assert [name for name in (*SCENARIO.keys, *STEPS, *MEASURES) if f"`{name}`" not in page] == []


def test_examples_of_steps_are_flow_style_yaml() -> None:
    assert "`send: {topic: orders, partition: 0, count: 3}`" in reference_page()
    assert '`lost: ">= 1"`' in reference_page()
