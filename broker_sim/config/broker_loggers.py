"""The loggers of one broker's process and their levels (KIP-412), which end with the process. Mirrors
LoggingController and RuntimeLoggerManager.

A real broker lists the classes that have logged so far; these are the ones that it lists soon after its start.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from broker_sim.config.config_resource import ConfigOperation
from broker_sim.config.release_behaviour import behaviour_of, release_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from protocol_specs.messages.incremental_alter_configs import AlterableConfig

ROOT: Final = "root"
LEVELS: Final = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")


class LoggerRefused(Exception):
    """A change that is not possible; `invalid_config` separates a wrong logger or level from a wrong request."""

    def __init__(self, message: str, *, invalid_config: bool = False) -> None:
        super().__init__(message)
        self.invalid_config = invalid_config


class BrokerLoggers:
    """Logger names and the levels that are set; a logger without its own has that of the nearest above it."""

    __slots__ = ("_levels", "_names")

    def __init__(self, release: str) -> None:
        self._names = _names(behaviour_of(release).release)
        self._levels: dict[str, str] = {ROOT: "INFO"}

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Every logger with the level that counts for it."""
        return ((name, self._level(name)) for name in self._names)

    def alter(self, changes: Iterable[AlterableConfig], *, validate_only: bool) -> None:
        """Set levels and take them away: all of them, or LoggerRefused and none."""
        requested = list(changes)
        for change in requested:
            self._validate(change)
        if validate_only:
            return
        for change in requested:
            if change.config_operation == ConfigOperation.SET:
                assert change.value is not None
                self._levels[change.name] = change.value
            else:
                self._levels.pop(change.name, None)

    def _level(self, name: str) -> str:
        while name not in self._levels:
            name = name.rpartition(".")[0] or ROOT
        return self._levels[name]

    def _validate(self, change: AlterableConfig) -> None:
        operation = change.config_operation
        if operation in {ConfigOperation.APPEND, ConfigOperation.SUBTRACT}:
            name = ConfigOperation(operation).name
            raise LoggerRefused(f"{name} operation is not allowed for the BROKER_LOGGER resource")
        if change.name not in self._names:
            raise LoggerRefused(f"Logger {change.name} does not exist!", invalid_config=True)
        if operation == ConfigOperation.SET and change.value not in LEVELS:
            raise LoggerRefused(
                f"Cannot set the log level of {change.name} to {change.value} as it is not a supported log level. "
                f"Valid log levels are {', '.join(LEVELS)}",
                invalid_config=True,
            )
        if operation == ConfigOperation.DELETE and change.name == ROOT:
            raise LoggerRefused(f"Removing the log level of the {ROOT} logger is not allowed")


@cache
def _names(release: str) -> tuple[str, ...]:
    text = resources.files("broker_sim.config").joinpath("data", "loggers.json").read_text(encoding="utf-8")
    listed: dict[str, list[str]] = json.loads(text)
    number = release_number(release)
    # Releases without recorded loggers have those of the nearest older one, or of the oldest of all.
    older = [each for each in listed if release_number(each) <= number]
    return tuple(listed[older[-1] if older else next(iter(listed))])
