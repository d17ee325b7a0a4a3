"""docs/reference/http-control.md is current, and every call and type is on it."""

from __future__ import annotations

from pathlib import Path

from broker_sim.http_control.openapi import openapi_document
from broker_sim.http_control.operations import OPERATIONS
from broker_sim.http_control.reference_page import reference_page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "http-control.md"


def test_the_page_is_what_the_code_writes_now() -> None:
    assert PAGE.read_text() == reference_page(), "run: make docs"


def test_every_call_and_every_type_has_a_heading() -> None:
    page = reference_page()
    names = [operation.name for operation in OPERATIONS] + list(openapi_document()["components"]["schemas"])
    assert [name for name in names if f"\n### {name}\n" not in page] == []
