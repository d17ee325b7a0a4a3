"""docs/how-to/test-in-another-language.md: its programs inject a fault over HTTP and show the effect."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from broker_sim.http_control.guard import Guard
from tests.broker_sim.http_control.conftest import serving
from tests.interop.kafka_release import ToolMissingError, java_tool
from tests.interop.prepared_release import java_command
from tests.interop.test_franz_go import FETCHES_TOOLCHAINS, go_tool, go_version
from tests.interop.test_group_clients import installed_kafkajs

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE: Final = Path(__file__).parent
PAGE: Final = HERE.parents[1] / "docs/how-to/test-in-another-language.md"
RELEASE: Final = "4.3.1"
RUN_SECONDS_MAX: Final = 220


@pytest.fixture(scope="module")
def control() -> Iterator[str]:
    with serving(Guard("127.0.0.1")) as found:
        yield found.url


def program(language: str, path: Path) -> Path:
    """Write the program of the page in a language to a file."""
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    path.write_text(found[1])
    return path


def printed(command: list[str], folder: Path) -> str:
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=RUN_SECONDS_MAX)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_go(control: str, tmp_path: Path) -> None:
    if go_version() < FETCHES_TOOLCHAINS:
        raise ToolMissingError("the newest franz-go needs Go 1.21 or later: the Go in PATH is older")
    for name in ("go.mod", "go.sum"):
        shutil.copy(HERE / "franz_go" / name, tmp_path)
    program("go", tmp_path / "main.go")
    assert printed([go_tool(), "run", ".", control], tmp_path) == "stored 2\n"


def test_java(control: str, tmp_path: Path) -> None:
    java_tool("javac")
    source = program("java", tmp_path / "LostResponse.java")
    assert printed([*java_command(RELEASE), str(source), control], tmp_path) == "stored 2\n"


def test_javascript(control: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = installed_kafkajs(tmp_path_factory)
    source = program("js", folder / "lost_response.js")
    assert printed(["node", str(source), control], folder) == "stored 2\n"
