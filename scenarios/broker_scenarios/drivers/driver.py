"""The description of a driver: how it is started, and which steps and configurations it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, Protocol

from broker_sim.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

__all__ = [
    "CONSUMER_STEPS",
    "OF_THE_RUN",
    "PRODUCER_STEPS",
    "TRANSACTION_STEPS",
    "Driver",
    "DriverChoice",
    "DriverProgram",
    "version_numbers",
]

OF_THE_RUN: Final = frozenset({"resend", "wait", "act", "repeat", "crash", "restart", "exit"})
"""Steps that a run takes itself, with any driver."""
PRODUCER_STEPS: Final = frozenset({"send", "flush", "close"})
TRANSACTION_STEPS: Final = frozenset({"init", "begin", "commit", "abort"})
CONSUMER_STEPS: Final = frozenset({"assign", "subscribe", "unsubscribe", "seek", "poll", "commit_offsets", "close"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """One foreign client.

    `producer_configs` and `consumer_configs` are the names that it takes, in Kafka's spelling. `promised` are the
    values under Kafka's names that differ from those of Java's client when a file does not give them, and
    `meanings` the client's own names for what Kafka names otherwise.
    """

    name: str
    what: str
    """The client, in a few words."""
    package: str
    """What installs it: a package of PyPI, or the path of a module."""
    steps: frozenset[str]
    producer_configs: frozenset[str] = frozenset()
    consumer_configs: frozenset[str] = frozenset()
    promised: Mapping[str, str] = field(default_factory=dict)
    promised_before: str | None = None
    """The version from which on the values of `promised` are Java's; None if they are not yet."""
    meanings: Mapping[str, str] = field(default_factory=dict)
    module: str | None = None
    """The module of its program, for a Python client."""
    go_program: str | None = None
    """The folder of its program, for a Go client."""
    java_program: str | None = None
    """The module that starts its program, for one of Kafka's tools: it sends a load as it chooses."""

    def config_problems(self, config: Mapping[str, str], *, producer: bool) -> Iterator[tuple[str, str]]:
        """The name and the problem of each configuration that it does not take."""
        known: Collection[str] = self.producer_configs if producer else self.consumer_configs
        part = "producer" if producer else "consumer"
        for name in config:
            if not known:
                yield name, f"driver {self.name} has no {part}"
            elif name not in known:
                yield name, f"driver {self.name} takes no {name} of a {part}{nearest(name, known)}"

    def promises_of(self, config: Mapping[str, str], version: str | None) -> dict[str, str]:
        """The configuration of a producer under Kafka's names, for what it promises; the newest without a version."""
        named = {self.meanings.get(name, name): value for name, value in config.items()}
        as_java = self.promised_before is not None and (
            version is None or version_numbers(version) >= version_numbers(self.promised_before)
        )
        return named if as_java else {**self.promised, **named}


def version_numbers(version: str) -> tuple[int, ...]:
    """`2.0.2` -> (2, 0, 2); what is no number ends it."""
    return tuple(int(part) for part in takewhile(str.isdecimal, version.split(".")))


@dataclass(frozen=True, slots=True)
class DriverChoice:
    """The driver of a client group, and the version of it that must run; None takes the installed one."""

    driver: Driver
    version: str | None = None

    def __str__(self) -> str:
        return self.driver.name if self.version is None else f"{self.driver.name} {self.version}"


class DriverProgram(Protocol):
    """A running driver: a process of its own, or a program on virtual time."""

    @property
    def is_ready(self) -> bool:
        """True if it waits for its first invocation, or has ended."""

    def invoke(
        self, f: str, mops: list[list[Any]], on_response: Callable[[Mapping[str, Any]], None], **facts: Any
    ) -> None:
        """Begin an operation. `on_response` gets its completion, once, or one without `type` at the program's end."""

    def exit(self) -> None:
        """Let the program end as it is."""

    def pause(self) -> None:
        """Freeze it."""

    def resume(self) -> None:
        """Let it go on."""

    def kill(self) -> None:
        """Kill it. A second call has no effect."""
