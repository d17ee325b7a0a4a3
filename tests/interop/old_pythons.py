"""Python clients of another time in virtual environments of their own, made once into the user's cache from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.interop.kafka_release import ToolMissingError

if TYPE_CHECKING:
    from collections.abc import Sequence

INSTALL_SECONDS_MAX = 300
PYENV_VERSIONS = Path.home() / ".pyenv" / "versions"


def find_python(*versions: str) -> str:
    """The command of the first of these Pythons ("3.10") on PATH or among pyenv's. Raise ToolMissingError."""
    for version in versions:
        named = [shutil.which(f"python{version}"), *PYENV_VERSIONS.glob(f"{version}.*/bin/python")]
        for candidate in filter(None, map(str, filter(None, named))):
            if _is(candidate, version):
                return candidate
    raise ToolMissingError(f"no Python {', '.join(versions)} in PATH or ~/.pyenv: install one of them")


def interpreter_with(name: str, requirements: Sequence[str], python: str = sys.executable) -> str:
    """The interpreter of a virtual environment that has these packages, of wheels alone. Raise ToolMissingError."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "broker-sim"
    folder = cache / f"python-{name}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        # An environment cannot be moved: the mark that it is whole is a link, made last.
        made = Path(tempfile.mkdtemp(prefix=f"python-{name}-", dir=cache))
        _run([python, "-m", "venv", str(made)])
        _run([str(made / "bin" / "python"), "-m", "pip", "install", "-q", "--only-binary", ":all:", *requirements])
        folder.symlink_to(made)
    return str(folder / "bin" / "python")


def _run(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1:]
        raise ToolMissingError(f"{' '.join(command[1:])} failed: {' '.join(reason)}") from None


def _is(python: str, version: str) -> bool:
    # pyenv puts commands on PATH for versions that are not chosen: those exist, and fail.
    asked = subprocess.run(
        [python, "-c", "import venv, sys; print(sys.version)"], capture_output=True, text=True, check=False
    )
    return asked.returncode == 0 and asked.stdout.startswith(f"{version}.")
