"""Finds the client of a driver, in the wanted version: in this Python's environment, or in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_scenarios.drivers.driver import DriverChoice, version_numbers
from broker_scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from broker_scenarios.drivers.driver import Driver
    from broker_scenarios.language.scenario import Scenario

__all__ = [
    "DriverCommand",
    "command_of",
    "commands_of",
    "driver_folder",
    "install",
    "installed_versions",
    "refuse_drivers",
]

PROGRAMS: Final = Path(__file__).parent / "programs"
_INSTALL_SECONDS_MAX: Final = 600
_BINARY: Final = "client"
_WHOLE: Final = "whole"
"""The mark of a folder whose installation has ended; it holds the digest of the compiled program."""


@dataclass(frozen=True, slots=True)
class DriverCommand:
    """The command line of a driver's process, and its folder."""

    name: str
    """The driver, with its version if the file names one."""
    arguments: Sequence[str]
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    """What its environment has beside the run's, without the run's PYTHONPATH."""


def driver_folder() -> Path:
    """The folder of the installed versions: BROKER_SIM_DRIVERS, or one in the user's cache."""
    given = os.environ.get("BROKER_SIM_DRIVERS")
    return Path(given) if given else _cache() / "drivers"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "broker-sim"


def commands_of(scenario: Scenario) -> dict[str, DriverCommand]:
    """The command of each client group with a driver. Raises ScenarioError for one that is not installed."""
    return {group.name: command_of(group.driver) for group in scenario.clients if group.driver is not None}


def refuse_drivers(scenario: Scenario, given: str, *, but: Collection[str] = ()) -> None:
    """Refuse a scenario with drivers, except those of these names, where the run has something else.

    Raises:
        ScenarioError: the scenario has one.
    """
    for group in scenario.clients:
        if group.driver is not None and group.driver.driver.name not in but:
            raise ScenarioError(
                f"{scenario.path}: client {group.name!r}: driver {group.driver.driver.name} needs real sockets, "
                f"not {given}: run with --local"
            )


def command_of(choice: DriverChoice) -> DriverCommand:
    """The command that starts a driver. Raises ScenarioError, with the command that installs what is missing."""
    driver = choice.driver
    if driver.module is not None:
        path = _path_of(choice)
        variables = {"PYTHONPATH": path} if path else {}
        return DriverCommand(str(choice), (sys.executable, "-m", driver.module), PROGRAMS, variables)
    if driver.java_program is not None:
        jars = _cache() / f"kafka-{choice.version}"
        java = shutil.which("java", path=f"{home}/bin" if (home := os.environ.get("JAVA_HOME")) else None)
        if choice.version is None or java is None or not jars.exists():
            raise ScenarioError(
                f"driver {choice} needs Java and the jars of its version in {jars}: make interop fetches some"
            )
        return DriverCommand(str(choice), (sys.executable, "-m", driver.java_program, java, f"{jars}/*"), PROGRAMS)
    if choice.version is None:
        built = installed_versions(driver)
        choice = DriverChoice(driver, max(built, key=version_numbers) if built else None)
    folder = _folder_of(choice)
    if choice.version is None or not _is_whole(choice):
        raise ScenarioError(
            f"driver {choice} is not installed: broker-sim drivers install {driver.name} {choice.version or 'VERSION'}"
        )
    return DriverCommand(str(choice), (str(folder / _BINARY),), folder)


def install(choice: DriverChoice) -> Path:
    """Install the client in this version into a folder of its own; returns the folder.

    A Python client comes from PyPI's wheels; the program of a Go client is compiled with its module.

    Raises:
        ScenarioError: there is no such version for this Python, or no Go.
    """
    if choice.driver.java_program is not None:
        raise ScenarioError(f"driver {choice.driver.name} is part of Kafka's releases: make interop fetches some")
    folder = _folder_of(choice)
    if not _is_whole(choice):
        if choice.driver.go_program is None:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            package = f"{choice.driver.package}=={choice.version}"
            _run([*pip, "--only-binary", ":all:", "--upgrade", "--target", str(folder), package], PROGRAMS)
        else:
            shutil.copytree(PROGRAMS / choice.driver.go_program, folder, dirs_exist_ok=True)
            _run(["go", "mod", "edit", f"-require={choice.driver.package}@v{choice.version}"], folder)
            _run(["go", "mod", "tidy"], folder)
            _run(["go", "build", "-o", _BINARY, "."], folder)
        (folder / _WHOLE).write_text(_digest_of(choice.driver))
    return folder


def installed_versions(driver: Driver) -> list[str]:
    """The versions that can run: that of this Python's environment, and those with folders of their own."""
    here = None if driver.module is None else _installed_here(driver)
    kept = sorted(
        whole.parent.name.removeprefix(f"{driver.name}-") for whole in driver_folder().glob(f"{driver.name}-*/{_WHOLE}")
    )
    return [*([] if here is None else [here]), *kept]


def _path_of(choice: DriverChoice) -> str:
    """Where Python looks for the client first; empty if this environment has it."""
    driver, wanted = choice.driver, choice.version
    here = _installed_here(driver)
    if here is not None and wanted in {None, here}:
        return ""
    if wanted is None:
        raise ScenarioError(f"driver {driver.name} is not installed: pip install {driver.package}")
    if not _is_whole(choice):
        raise ScenarioError(f"driver {choice} is not installed: broker-sim drivers install {driver.name} {wanted}")
    return str(_folder_of(choice))


def _installed_here(driver: Driver) -> str | None:
    try:
        return version(driver.package)
    except PackageNotFoundError:
        return None


def _is_whole(choice: DriverChoice) -> bool:
    """Return True if the client is installed, and its program is the one of this project's version."""
    mark = _folder_of(choice) / _WHOLE
    return mark.exists() and mark.read_text() == _digest_of(choice.driver)


def _digest_of(driver: Driver) -> str:
    """Return the digest of a program that is compiled; empty for one that is not."""
    if driver.go_program is None:
        return ""
    sources = sorted((PROGRAMS / driver.go_program).iterdir())
    return sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def _folder_of(choice: DriverChoice) -> Path:
    return driver_folder() / f"{choice.driver.name}-{choice.version}"


def _run(command: Sequence[str], folder: Path) -> None:
    environment: Mapping[str, str] = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS_MAX,
            env=environment,
            cwd=folder,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired, FileNotFoundError) as error:
        lines = str(getattr(error, "stderr", "") or error).strip().splitlines()
        errors = [line for line in lines if line.lower().startswith("error")] or lines
        raise ScenarioError(f"{' '.join((Path(command[0]).name, *command[1:]))}: {errors[-1]}") from None
