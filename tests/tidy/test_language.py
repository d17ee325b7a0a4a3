"""The words that docs/design/language.md replaces: in names, comments, docstrings, texts and docs."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

REPLACED: Final = {
    "answer": "response; return",
    "tell told hear heard say says said spoken talk": "return; report, notify, log, format",
    "ask asked asker asks asking": "request, requested, caller",
    "wish wishes wished": "request",
    "whoever nobody somebody whatever": "the caller, no client, a client",
    "vain": "unsuccessful, no result",
    "strike strikes struck": "fire, fired",
    "borrow lend lends lent": "acquire, release",
    "sitting sittings": "benchmark run",
    "furnish furnishes": "wire, register",
}
"""Words on the left, and on the right what to use in their place."""
FORMS: Final = {
    form: instead
    for words, instead in REPLACED.items()
    for word in words.split()
    for form in (word, f"{word}s", f"{word}ed", f"{word}ing")
}
PROSE: Final = re.compile(rf"\b(?:{'|'.join(sorted(FORMS, key=len, reverse=True))})\b", re.IGNORECASE)
RIDDLES: Final = re.compile(r"^(?:What|Who|Whom|Whether|Whose)\b")
RIDDLES_IN_SOURCE: Final = re.compile(r'"""\s*(?:What|Who|Whom|Whether|Whose)\b')
"""How no docstring begins: it has a subject (language.md, rule 4) or is an imperative."""

FOLDERS: Final = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "benchmarks",
    "broker_sim",
    "client",
    "docs/*.md",
    "docs/design/[!l]*.md",
    "docs/explanation",
    "docs/how-to",
    "docs/recipes",
    "docs/reference",
    "docs/tutorial",
    "protocol_specs",
    "scenarios",
    "sim_runtime",
    "tests/*.py",
    "tests/against",
    "tests/broker_sim",
    "tests/client",
    "tests/determinism",
    "tests/differential",
    "tests/interop",
    "tests/interop_python",
    "tests/protocol_specs",
    "tests/scenarios",
    "tests/sim_runtime",
    "tests/tidy/test_[!l]*.py",
    "tools",
)
"""The folders and files that the check covers, from the root of the checkout. The guide itself lists the words."""

KAFKAS_OWN: Final = frozenset(
    {'tests/protocol_specs/records/test_compression.py: b"Nobody inspects the spammish repetition"'},
)
"""Texts of Kafka itself and published test data, which keep their words: `path: text`."""


@cache
def words_of(name: str) -> tuple[str, ...]:
    """The words of an identifier, lower case."""
    return tuple(word.lower() for part in name.split("_") for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", part))


def findings(path: Path) -> list[str]:
    """Each replaced word in one file, with its line."""
    text = path.read_text()
    if path.suffix == ".md":
        return list(_in_prose(path, 1, text))
    names = set(re.findall(r"[A-Za-z_]+", text))
    if not RIDDLES_IN_SOURCE.search(text) and not any(word in FORMS for name in names for word in words_of(name)):
        return []
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            found += [
                f"{_place(path, token.start[0])}: {token.string}: {FORMS[word]}"
                for word in words_of(token.string)
                if word in FORMS
            ]
        elif token.type in {tokenize.COMMENT, tokenize.STRING}:
            found += _in_prose(path, token.start[0], token.string)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring and RIDDLES.match(docstring):
                line = getattr(node, "lineno", 1)
                found.append(f"{_place(path, line)}: {docstring.splitlines()[0]}: name the subject")
    return found


def _in_prose(path: Path, first_line: int, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), first_line):
        for match in PROSE.finditer(line):
            if f"{path.relative_to(ROOT)}: {line.strip()}" not in KAFKAS_OWN:
                yield f"{_place(path, number)}: {match.group()}: {FORMS[match.group().lower()]}"


def _place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def files_of(folder: str) -> list[Path]:
    """The Python and Markdown files of a folder, one file, or the files that a pattern matches."""
    if "*" in folder:
        return sorted(ROOT.glob(folder))
    path = ROOT / folder
    if path.is_file():
        return [path]
    return sorted(each for each in path.rglob("*") if each.suffix in {".py", ".md"})


@pytest.mark.parametrize("folder", FOLDERS)
def test_standard_terms_are_used(folder: str) -> None:
    assert [found for path in files_of(folder) for found in findings(path)] == []


def test_the_check_finds_what_it_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / "module.py"
    path.write_text('"""What is asked."""\n\n\ndef told_by(task: str) -> str:\n    return task  # nobody answers\n')
    assert [finding.partition(": ")[0] for finding in findings(path)] == [
        "module.py:1",
        "module.py:4",
        "module.py:5",
        "module.py:5",
        "module.py:1",
    ]
