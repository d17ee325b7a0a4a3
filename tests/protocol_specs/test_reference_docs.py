"""The reference in the checkout is the one that the declarations give: `make docs` writes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.layout import field_rows
from protocol_specs.reference_docs import INDEX, page_name, pages
from protocol_specs.reference_tables import table

FOLDER = Path(__file__).parents[2] / "docs" / "reference" / "protocol"
PAGES = pages()


def test_the_checkout_has_these_pages_and_no_others() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name: str) -> None:
    assert (FOLDER / name).read_text("utf-8") == PAGES[name], "run `make docs`"


def test_pages_are_made_alike_each_time() -> None:
    assert pages() == PAGES


def test_every_field_of_every_message_is_on_a_page() -> None:
    everything = "".join(PAGES.values())
    missing = [
        f"{cls.__name__} {row.place}"
        for cls in registry.every_message()
        for row in field_rows(cls)
        if f"| `{row.place}` | `{row.type_name}` | {row.versions_text} |" not in everything
    ]
    assert missing == []


def test_an_api_page_has_a_row_for_each_version() -> None:
    for key in ApiKey:
        page = PAGES[page_name(key.api_name)]
        versions = page.partition("## Versions")[2].partition("\n## ")[0]
        assert re.findall(r"^\| (\d+)", versions, re.MULTILINE) == [str(v) for v in registry.request_type(key).VERSIONS]


def test_the_index_leads_to_every_page() -> None:
    assert {*re.findall(r"\]\(([^)]+)\)", PAGES[INDEX]), INDEX} == set(PAGES)


def test_a_stroke_in_a_cell_is_escaped() -> None:
    assert list(table([("a",), ("b|c",)])) == ["| a |", "| --- |", "| b\\|c |"]
