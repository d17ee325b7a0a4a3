from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.errors import BrokerSimError
from broker_sim.html_page import html_page, page_style, write_page

if TYPE_CHECKING:
    from pathlib import Path


def test_a_page_has_its_style_and_script_within(tmp_path: Path) -> None:
    page = html_page(title="a < b", body="<p>text</p>", style=".own {}", script="start()")
    assert "<title>a &lt; b</title>" in page
    assert page_style() + ".own {}" in page
    assert "<script>start()</script>" in page
    assert "<script>" not in html_page(title="", body="")
    assert write_page(tmp_path / "folder/page.html", page, "--html").read_text() == page


def test_a_page_that_cannot_be_written_names_the_file_and_the_option(tmp_path: Path) -> None:
    (tmp_path / "page").mkdir()
    with pytest.raises(BrokerSimError, match=r"^cannot write .*page \(--html\): Is a directory$"):
        write_page(tmp_path / "page", "", "--html")
