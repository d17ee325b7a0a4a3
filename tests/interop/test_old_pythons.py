"""Where an interpreter for a Python client of another time is found, and what is done where there is none."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.interop import old_confluent_kafka, old_pythons
from tests.interop.kafka_release import ToolMissingError
from tests.interop.old_confluent_kafka import COMPILED, WITH_WHEELS, compiled, confluent_kafka_1_9_2

if TYPE_CHECKING:
    from pathlib import Path

LIBRDKAFKA_1_9_2 = 0x010902FF


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any program, with a home and a cache that are empty."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    for name in ("PYENV_ROOT", "XDG_DATA_HOME", "UV_PYTHON_INSTALL_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RUNNER_TOOL_CACHE", str(tmp_path / "tools"))
    return tmp_path


def put_python(path: Path, output: str) -> str:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{output}'\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "place",
    [
        ".pyenv/versions/3.0.16/bin/python3.0",
        ".local/share/uv/python/cpython-3.0.16-linux-x86_64-gnu/bin/python3.0",
        "tools/Python/3.0.16/x64/bin/python3.0",
    ],
)
def test_an_old_python_is_found_wherever_it_is_kept(bare_machine: Path, place: str) -> None:
    python = put_python(bare_machine / place, "3.0.16 (main)")
    assert old_pythons.find_python("3.1", "3.0") == python


def test_a_command_that_only_points_to_another_python_is_no_old_python(bare_machine: Path) -> None:
    put_python(bare_machine / ".pyenv" / "versions" / "3.0.16" / "bin" / "python3.0", "3.11.7 (main)")
    with pytest.raises(ToolMissingError, match=r"no Python 3\.0 in PATH, of pyenv or of uv"):
        old_pythons.find_python("3.0")


@pytest.mark.usefixtures("bare_machine")
def test_without_an_old_python_and_a_compiler_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_confluent_kafka, "WITH_WHEELS", ("3.0",))
    with pytest.raises(ToolMissingError, match=r"no Python 3\.0 in PATH.*compile confluent-kafka==1\.9\.2: "):
        confluent_kafka_1_9_2()


def test_an_environment_that_fails_leaves_nothing_behind(bare_machine: Path) -> None:
    with pytest.raises(ToolMissingError, match="failed"):
        old_pythons.interpreter_with("nothing", ["nothing"], "/nowhere/python")
    assert list((bare_machine / ".cache" / "broker-sim").iterdir()) == []


def test_confluent_kafka_1_9_2_compiles_for_the_python_of_today() -> None:
    assert f"{sys.version_info.major}.{sys.version_info.minor}" not in WITH_WHEELS
    show = "import confluent_kafka as c; print(c.version()[0], c.libversion()[1], c.__file__)"
    run = subprocess.run([compiled(), "-c", show], capture_output=True, text=True, check=True, timeout=30)
    version, librdkafka, file = run.stdout.split()
    assert (version, int(librdkafka)) == ("1.9.2", LIBRDKAFKA_1_9_2)
    assert COMPILED in file
