from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_pages_are_written_into_a_new_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert main(["protocol", "docs", str(folder)]) == 0
    pages = list(folder.glob("*.md"))
    assert capsys.readouterr().out == f"{len(pages)} pages in {folder}\n"
    assert (folder / "produce.md").read_text().startswith("# Produce\n")


def test_a_folder_that_cannot_be_written_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["protocol", "docs", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err == f"{tmp_path}/file: File exists; give a folder that can be written\n"
