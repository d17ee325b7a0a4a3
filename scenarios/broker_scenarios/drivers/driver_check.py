"""The checks of a client group against its driver: what the driver cannot do is refused by name before the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.language.script_check import word_of
from broker_scenarios.language.steps import CommitOffsets, Poll, Repeat, Restart, Send, Subscribe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.drivers.driver import Driver
    from broker_scenarios.language.clients import ClientGroup
    from broker_scenarios.language.steps import Script
    from broker_sim.yaml_source import KeyPath

__all__ = ["driver_problems"]


def driver_problems(driver: Driver, group: ClientGroup) -> Iterator[tuple[KeyPath, str]]:
    """The path within the client and the problem of each thing that the driver cannot do."""
    for part, config in (("producer", group.producer), ("consumer", group.consumer)):
        for name, problem in driver.config_problems(config or {}, producer=part == "producer"):
            yield (part, name), problem
    if group.defects:
        yield ("defects",), f"are those of this project's client: driver {driver.name} has its own"
    if driver.java_program is not None and group.load is not None:
        if group.load.keys:
            yield ("load",), f"driver {driver.name} sends no keys: expected `keys: 0`"
        if group.count > 1:
            yield ("count",), f"driver {driver.name} sends a load whole: expected one client"
    if driver.java_program is not None and group.consumer is not None and not group.consumer.get("group.id"):
        yield ("consumer",), f"driver {driver.name} consumes as a member: expected a group.id"
    yield from _of_script(driver, group.script, ("script",))


def _of_script(driver: Driver, script: Script, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    for place, step in enumerate(script):
        at = (*path, place)
        word = word_of(step)
        if word not in driver.steps:
            yield at, f"driver {driver.name} cannot {word}; it can {', '.join(sorted(driver.steps))}"
        if isinstance(step, Send) and step.on_delivery is not None:
            yield at, f"driver {driver.name} makes no calls within a delivery callback (on_delivery)"
        if isinstance(step, CommitOffsets) and step.asynchronous:
            yield at, f"driver {driver.name} waits for its commits (async)"
        if driver.java_program is not None and isinstance(step, Subscribe) and len(step.topics) != 1:
            yield at, f"driver {driver.name} subscribes to one topic"
        if driver.java_program is not None and isinstance(step, Poll) and step.to_end:
            yield at, f"driver {driver.name} does not read the ends of partitions: expected a number of records"
        if isinstance(step, Restart):
            yield from ((at, problem) for _, problem in driver.config_problems(step.config, producer=True))
        if isinstance(step, Repeat):
            yield from _of_script(driver, step.steps, (*at, "repeat", "steps"))
