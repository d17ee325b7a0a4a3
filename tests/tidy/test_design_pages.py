"""The pages docs/design/add-*.md: each is applied to a copy of the tree, and the tests that it shows pass there.

The steps that the tree has already are taken away in the copy first, so that a page cannot differ from the code.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "design").glob("add-*.md"))
COPIED = ("broker_sim", "client", "protocol_specs", "scenarios", "sim_runtime", "pyproject.toml")
BLOCK = re.compile(r"^( *)```(\w+) file=(\S+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """One step of a page: a whole file, or a change of one."""

    language: str
    path: str
    text: str


def blocks_of(page: Path) -> list[Block]:
    return [Block(language, path, textwrap.dedent(text)) for _, language, path, text in BLOCK.findall(page.read_text())]


def sides(diff: str) -> tuple[str, str]:
    """The text that a diff without line numbers replaces, and its replacement."""
    lines = diff.splitlines(keepends=True)
    return (
        "".join(line[1:] for line in lines if line[0] != "+"),
        "".join(line[1:] for line in lines if line[0] != "-"),
    )


def apply(block: Block, tree: Path) -> None:
    path = tree / block.path
    if block.language != "diff":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
        return
    old, new = sides(block.text)
    text = path.read_text()
    assert text.count(old) == 1, f"{block.path} has this {text.count(old)} times:\n{old}"
    path.write_text(text.replace(old, new))


def take_away(block: Block, tree: Path) -> None:
    """Undo a step that the tree has already."""
    path = tree / block.path
    if block.language == "diff":
        old, new = sides(block.text)
        text = path.read_text()
        if text.count(new) == 1:
            path.write_text(text.replace(new, old))
    elif path.exists():
        assert path.read_text() == block.text, f"{block.path} differs from the page"
        path.unlink()


class Tree:
    """A copy of the packages and of the fixtures."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                # With the compiled modules: they hold as long as the sources have their times.
                shutil.copytree(source, folder / name)
            else:
                shutil.copy(source, folder / name)
        tests = ROOT / "tests"
        for path in (tests / "whole_files.py", *sorted(tests.glob("**/conftest.py"))):
            copied = folder / path.relative_to(ROOT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copied)

    def run(self, tests: list[Block]) -> subprocess.CompletedProcess[str]:
        """Run tests with the packages of this copy, which come before the installed ones."""
        paths = [str(self.folder / name) for name in (".", "client", "scenarios")]
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(block.path for block in tests)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tests_of_a_page_need_its_code_and_pass_with_it(page: Path, tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    blocks = blocks_of(page)
    tests = [block for block in blocks if block.path.startswith("tests/")]
    for block in reversed(blocks):
        take_away(block, tmp_path)
    for block in tests:
        apply(block, tmp_path)
    without = tree.run(tests)
    assert without.returncode != 0, "nothing fails without the page's code"
    assert " passed" not in without.stdout, without.stdout + without.stderr
    for block in blocks:
        apply(block, tmp_path)
    with_it = tree.run(tests)
    assert with_it.returncode == 0, with_it.stdout + with_it.stderr
