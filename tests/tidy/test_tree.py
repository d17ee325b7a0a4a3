"""The house rules that a linter does not know: sizes, names, docstrings, mirrors."""

from __future__ import annotations

import ast
import re
import tokenize
from pathlib import Path

import pytest

from tests.conftest import LONGEST

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "sim_runtime": ROOT / "sim_runtime",
    "protocol_specs": ROOT / "protocol_specs",
    "broker_sim": ROOT / "broker_sim",
    "broker_client": ROOT / "client" / "broker_client",
    "broker_scenarios": ROOT / "scenarios" / "broker_scenarios",
}
# Where the tests of a package live: tests/ mirrors the checkout, not the import names.
TEST_FOLDERS = {
    "sim_runtime": ROOT / "tests" / "sim_runtime",
    "protocol_specs": ROOT / "tests" / "protocol_specs",
    "broker_sim": ROOT / "tests" / "broker_sim",
    "broker_client": ROOT / "tests" / "client",
    "broker_scenarios": ROOT / "tests" / "scenarios",
}
# Folders of tests that mirror no package, each with the reason for it.
CROSSING_TESTS = {
    "against": "the same bytes through independent implementations",
    "determinism": "one seed twice, two hash seeds, both reactors",
    "differential": "request by request against the recorded responses of real Kafka",
    "hostile": "millions of broken frames against everything that reads bytes",
    "interop": "real Kafka, Java clients, franz-go: make interop",
    "interop_python": "unmodified Python clients against broker-sim serve",
    "tidy": "the tree itself",
}
MARKS = re.compile(r"pytest\.mark\.(?:interop|alone)\b")
LINES_OF_A_MODULE_MAX = 600
LINES_OF_A_FUNCTION_MAX = 70
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "base"}

MODULES = [path for folder in PACKAGES.values() for path in sorted(folder.rglob("*.py"))]
SOURCES = [
    *MODULES,
    *(path for folder in ("tests", "benchmarks", "docs") for path in sorted((ROOT / folder).rglob("*.py"))),
]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions_of(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def test_every_room_is_there() -> None:
    assert [name for name, folder in PACKAGES.items() if not (folder / "__init__.py").exists()] == []


def test_no_module_is_too_long_to_hold_in_mind() -> None:
    lengths = {relative(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert {name: lines for name, lines in lengths.items() if lines > LINES_OF_A_MODULE_MAX} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    too_long = {
        f"{relative(path)}:{function.lineno} {function.name}": length
        for path in SOURCES
        if (text := path.read_text()).count("\n") > LINES_OF_A_FUNCTION_MAX
        for function in functions_of(ast.parse(text))
        if (length := (function.end_lineno or 0) - function.lineno + 1) > LINES_OF_A_FUNCTION_MAX
    }
    assert too_long == {}


def test_every_module_has_a_docstring() -> None:
    assert [relative(path) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text()))] == []


def test_no_file_has_a_vague_name() -> None:
    named = [path for path in SOURCES if path.stem.lstrip("_") in VAGUE_NAMES]
    folders = {path.parent for path in SOURCES if path.parent.name in VAGUE_NAMES}
    assert [relative(path) for path in [*named, *sorted(folders)]] == []


def comments_of(path: Path) -> list[tuple[int, str]]:
    with path.open("rb") as file:
        return [
            (token.start[0], token.string)
            for token in tokenize.tokenize(file.readline)
            if token.type == tokenize.COMMENT
        ]


def test_a_todo_carries_its_issue_number() -> None:
    unnumbered = re.compile(r"\b(?:TODO|FIXME|XXX)\b(?!\(#\d+\))")
    found = [
        f"{relative(path)}:{line}"
        for path in SOURCES
        if unnumbered.search(path.read_text())
        for line, comment in comments_of(path)
        if unnumbered.search(comment)
    ]
    assert found == []


def test_brokers_make_no_random_streams_of_their_own() -> None:
    # The draws of a cluster follow from its seed: every part has a stream by name.
    makes = re.compile(r"\bRandom\(")
    modules = sorted(PACKAGES["broker_sim"].rglob("*.py"))
    assert [relative(path) for path in modules if makes.search(path.read_text())] == []


def test_spark_is_imported_in_its_own_folder_alone() -> None:
    # Import-linter sees whole packages; within broker_scenarios the border is a folder.
    spark = PACKAGES["broker_scenarios"] / "spark"
    imports = re.compile(r"^\s*(?:from|import) pyspark\b", re.MULTILINE)
    assert [relative(path) for path in MODULES if spark not in path.parents and imports.search(path.read_text())] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_marked_as_typed(package: str) -> None:
    assert (PACKAGES[package] / "py.typed").exists()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_of_modules_is_a_package(package: str) -> None:
    folders = {path.parent for path in PACKAGES[package].rglob("*.py")}
    assert [relative(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_the_folders_of_tests_are_folders_of_the_package(package: str) -> None:
    tests, source = TEST_FOLDERS[package], PACKAGES[package]
    # The scenario room holds its package and the catalogue side by side: both have tests.
    roots = [source, source.parent] if package in {"broker_client", "broker_scenarios"} else [source]
    mirrored = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    strays = [str(folder) for folder in sorted(mirrored) if not any((root / folder).is_dir() for root in roots)]
    assert strays == []


def test_every_other_folder_of_tests_has_a_reason() -> None:
    mirrors = {folder.name for folder in TEST_FOLDERS.values()}
    folders = {path.name for path in (ROOT / "tests").iterdir() if any(path.rglob("test_*.py"))}
    assert sorted(folders - mirrors - set(CROSSING_TESTS)) == []


def test_tests_are_not_packages() -> None:
    assert [relative(path) for path in (ROOT / "tests").rglob("__init__.py")] == []


def test_tests_neither_sleep_nor_skip_nor_expect_failure() -> None:
    # Interop tests may skip: they need tools that a machine may lack, and name them.
    excuse = re.compile(r"time\.sleep\(|mark\.(?:skip|xfail|flaky)\b|pytest\.xfail\(|pytest\.skip\(")
    tests = ROOT / "tests"
    real = {tests / "interop_python" / "conftest.py", tests / "differential" / "conftest.py"}
    # Threads of a world sleep in virtual time.
    simulated = {tests / "sim_runtime" / f"test_virtual_{name}.py" for name in ("threads", "sockets")}
    virtual = {tests / "determinism" / "kafka_python_run.py", *simulated}
    allowed = {tests / "interop", tests / "tidy", *real, *virtual}
    found = [
        f"{relative(path)}:{number}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if not allowed & {path, *path.parents}
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if excuse.search(line)
    ]
    assert found == []


def test_the_files_that_tests_begin_with_are_there() -> None:
    names = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert [name for name in LONGEST if name not in names] == []


def test_make_interop_collects_every_file_with_its_marks() -> None:
    makefile = (ROOT / "Makefile").read_text()
    found = re.search(r"^INTEROP := (.*)$", makefile, re.MULTILINE)
    assert found is not None
    collected = [ROOT / name for name in found[1].split()]
    marked = [path for path in sorted((ROOT / "tests").rglob("*.py")) if MARKS.search(path.read_text())]
    assert [relative(path) for path in marked if not any(path.is_relative_to(each) for each in collected)] == []
