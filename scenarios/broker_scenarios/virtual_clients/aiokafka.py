"""aiokafka on virtual time: unmodified, on a VirtualEventLoop.

Its record builder in C reads the system's clock for a record without a timestamp, and its class counts producers.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.errors import ScenarioError
from sim_runtime.foreign_modules import ForeignModules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sim_runtime.world import World

__all__ = ["PACKAGE", "adapted", "aiokafka_on_virtual_time", "load"]

PACKAGE: Final = "aiokafka"


@contextmanager
def aiokafka_on_virtual_time(world: World, *packages: str) -> Iterator[None]:
    """Within it aiokafka, and the application in `packages`, belong to the world.

    Raises:
        ScenarioError: aiokafka is not installed.
        AnotherWorldRuns: another world of this process has foreign code.
    """
    load()
    with ForeignModules(world, PACKAGE, *packages), adapted():
        yield


def load() -> None:
    """Import aiokafka, before its modules are changed. Raises ScenarioError if it is not installed."""
    try:
        import_module("aiokafka.producer.message_accumulator")
    except ModuleNotFoundError as error:
        raise ScenarioError("aiokafka is not installed: pip install aiokafka") from error


@contextmanager
def adapted() -> Iterator[None]:
    """Within it, and within ForeignModules, aiokafka's records have the world's time, and its ids begin at 1."""
    from aiokafka import AIOKafkaProducer
    from aiokafka.producer.message_accumulator import BatchBuilder

    append = BatchBuilder.append

    def append_at_virtual_time(builder: Any, *, timestamp: int | None, **parts: Any) -> Any:
        if timestamp is None:
            timestamp = time.time_ns() // 1_000_000  # noqa: TID251 - the world's: the module belongs to it
        return append(builder, timestamp=timestamp, **parts)

    BatchBuilder.append = append_at_virtual_time
    AIOKafkaProducer._PRODUCER_CLIENT_ID_SEQUENCE = 0  # noqa: SLF001 - the ids of each run begin at 1
    try:
        yield
    finally:
        BatchBuilder.append = append
