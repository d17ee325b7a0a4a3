"""A run on virtual time has one digest in every Python and with every hash seed, with kafka-python as well."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.interop.old_pythons import find_python, interpreter_with, run_tool

ROOT = Path(__file__).parents[2]
FOREIGN = ("kafka-python", "greenlet", "python-snappy", "lz4")


def digests(python: str, hash_seed: str, *folders: Path) -> str:
    path = os.pathsep.join(map(str, (ROOT, ROOT / "client", ROOT / "scenarios", *folders)))
    return run_tool([python, "-m", "tests.interop.run_digests"], {"PYTHONPATH": path, "PYTHONHASHSEED": hash_seed})


def requirements() -> list[str]:
    """The packages of a run in the versions of this environment: another version may be another run."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = (re.match(r"[\w-]+", each) for each in project["dependencies"])
    return [f"{name}=={version(name)}" for name in (*(each[0] for each in names if each), *FOREIGN)]


@pytest.fixture(scope="module")
def here() -> str:
    return digests(sys.executable, "0")


@pytest.fixture
def own_metadata(tmp_path: Path) -> Path:
    """The version of this package, which our clients send: the other Pythons have its sources alone."""
    folder = tmp_path / "broker_sim.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: broker-sim\nVersion: {version('broker-sim')}\n")
    return tmp_path


@pytest.mark.parametrize(("minor", "hash_seed"), [("3.12", "31337"), ("3.13", "4711")])
def test_another_python_gives_the_same_digests(minor: str, hash_seed: str, here: str, own_metadata: Path) -> None:
    python = interpreter_with(f"runs-{minor}", requirements(), find_python(minor))
    assert here.count("\n") >= 10
    assert digests(python, hash_seed, own_metadata) == here
