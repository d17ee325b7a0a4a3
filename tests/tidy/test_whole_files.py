"""The workers of pytest-xdist import and collect only the files that they run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS_MAX = 180
HOOKS = """
from pathlib import Path
from tests.whole_files import WholeFile, collect_files, fail_without_tests

def pytest_collection(session):
    return collect_files(session) or None

def pytest_runtest_protocol(item, nextitem):
    if isinstance(item, WholeFile):
        item.run_tests(nextitem)
        return True

def pytest_sessionfinish(session):
    fail_without_tests(session)
"""
IMPORTED = "from pathlib import Path\nwith Path('imported').open('a') as file: file.write(__name__ + ' ')\n"
FILES = {
    "conftest.py": HOOKS,
    "test_one.py": IMPORTED + "def test_chosen(): pass\ndef test_also_chosen(): pass\ndef test_other(): assert False\n",
    "test_two.py": IMPORTED + "import pytest\n@pytest.fixture\ndef x(): assert False\ndef test_chosen(x): pass\n",
    "test_cannot_be_imported.py": "import nowhere\n",
}


def run(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS_MAX
    )
    return f"{done.stdout}{done.stderr}exit status {done.returncode}"


def test_a_file_is_imported_by_one_worker_and_its_selected_tests_run_there(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    output = run(tmp_path, "-n", "2", "-k", "chosen")
    assert "2 passed, 2 errors" in output, output
    for failed in ("ERROR test_two.py::test_chosen", "ERROR test_cannot_be_imported.py"):
        assert failed in output, output
    assert sorted((tmp_path / "imported").read_text().split()) == ["test_one", "test_two"]


def test_a_file_without_selected_tests_ends_the_folder_before_it(tmp_path: Path) -> None:
    files = {
        "conftest.py": HOOKS,
        "a/test_first.py": "def test_chosen(): pass\n",
        "a/test_none.py": "def test_other(): assert False\n",
        "b/test_last.py": "def test_also_chosen(): pass\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    output = run(tmp_path, "-n", "1", "-k", "chosen")
    assert "2 passed" in output, output
    assert output.endswith("exit status 0"), output


def test_a_test_is_named_on_the_command_line(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    output = run(tmp_path, "-n", "1", "test_one.py::test_chosen")
    assert "1 passed" in output, output


def test_a_run_that_selects_no_test_fails(tmp_path: Path) -> None:
    for name in ("conftest.py", "test_one.py"):
        (tmp_path / name).write_text(FILES[name])
    output = run(tmp_path, "-n", "1", "-k", "nothing")
    assert output.endswith(f"exit status {pytest.ExitCode.NO_TESTS_COLLECTED}"), output
