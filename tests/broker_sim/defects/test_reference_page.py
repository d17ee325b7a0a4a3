"""docs/reference/defects.md is current, and has every defect."""

from __future__ import annotations

from pathlib import Path

from broker_sim.defects import DEFECTS
from broker_sim.defects.reference_page import reference_page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "defects.md"


def test_the_page_is_what_the_code_writes_now() -> None:
    assert PAGE.read_text() == reference_page(), "run: make docs"


def test_every_defect_has_a_section() -> None:
    page = reference_page()
    for name in DEFECTS:
        assert f"\n## {name}\n" in page
