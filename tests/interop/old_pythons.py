"""Python clients of another time in virtual environments of their own, made once into the user's cache from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.interop.kafka_release import ToolMissingError, cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

INSTALL_SECONDS_MAX = 300
WHEELS_ALONE = ("--only-binary", ":all:")


def find_python(*versions: str) -> str:
    """The command of the first of these Pythons ("3.10") that can make virtual environments. Raise ToolMissingError."""
    for version in versions:
        for candidate in _candidates(version):
            if _is(candidate, version):
                return candidate
    raise ToolMissingError(f"no Python {', '.join(versions)} in PATH, of pyenv or of uv: install one of them")


def interpreter_with(
    name: str,
    requirements: Sequence[str],
    python: str = sys.executable,
    *,
    pip: Sequence[str] = WHEELS_ALONE,
    environment: Mapping[str, str] | None = None,
) -> str:
    """The interpreter of a virtual environment that has these packages. Raise ToolMissingError.

    `pip` has options of the install (wheels only), `environment` the variables of a compiler.
    """
    found = cached_interpreter(name)
    if found is not None:
        return found
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    # An environment cannot be moved: the mark that it is whole is a link, made last.
    made = Path(tempfile.mkdtemp(prefix=f"python-{name}-", dir=cache))
    try:
        run_tool([python, "-m", "venv", str(made)])
        install = [str(made / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        run_tool([*install, *pip, *requirements], environment)
    except ToolMissingError:
        shutil.rmtree(made)
        raise
    link = made / "link"
    link.symlink_to(made)
    link.replace(cache / f"python-{name}")
    return str(cache / f"python-{name}" / "bin" / "python")


def cached_interpreter(name: str) -> str | None:
    """The interpreter that was made under this name, if the Python that it was made of is still there."""
    python = cache_folder() / f"python-{name}" / "bin" / "python"
    return str(python) if python.exists() else None


def run_tool(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Return the output of a command. Raise ToolMissingError with the last line of its errors."""
    try:
        run = subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS_MAX,
            env={**os.environ, **(environment or {})},
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired, FileNotFoundError) as error:
        output = getattr(error, "stderr", "") or str(error)
        reason = (output if isinstance(output, str) else output.decode()).strip().splitlines()
        # pip ends with a hint; what failed stands before it.
        errors = [line for line in reason if line.lower().lstrip().startswith("error")] or reason
        raise ToolMissingError(f"{' '.join(command[1:])} failed: {errors[-1]}") from None
    return run.stdout


def _candidates(version: str) -> Iterator[str]:
    """Where a Python of this version may be: on PATH, of pyenv, of uv, of a CI's tool cache, of the system."""
    command = f"python{version}"
    on_path = shutil.which(command)
    if on_path is not None:
        yield on_path
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME", home / ".local" / "share"))
    folders = {
        Path(os.environ.get("PYENV_ROOT", home / ".pyenv")) / "versions": f"{version}.*/bin/{command}",
        Path(os.environ.get("UV_PYTHON_INSTALL_DIR", data / "uv" / "python")): f"cpython-{version}.*/bin/{command}",
        Path(os.environ.get("RUNNER_TOOL_CACHE", "/opt/hostedtoolcache")) / "Python": f"{version}.*/*/bin/{command}",
        Path("/usr"): f"bin/{command}",
        Path("/usr/local"): f"bin/{command}",
    }
    for folder, pattern in folders.items():
        yield from map(str, sorted(folder.glob(pattern)))


def _is(python: str, version: str) -> bool:
    # pyenv puts commands on PATH for versions that are not chosen: those exist, and fail. Debian has Pythons without
    # what an environment needs.
    probed = subprocess.run(
        [python, "-c", "import ensurepip, venv, sys; print(sys.version)"], capture_output=True, text=True, check=False
    )
    return probed.returncode == 0 and probed.stdout.startswith(f"{version}.")
