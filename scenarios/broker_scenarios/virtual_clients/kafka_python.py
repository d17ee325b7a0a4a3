"""kafka-python on virtual time: unmodified, in virtual threads.

Its classes keep the selector and the clock of the standard library as defaults, count producers, and close them when
the interpreter exits.
"""

from __future__ import annotations

import atexit
import selectors
import time
from contextlib import ExitStack, contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.errors import ScenarioError
from sim_runtime.foreign_modules import ForeignModules
from sim_runtime.package_names import replaced_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sim_runtime.virtual_threads import VirtualThreads
    from sim_runtime.world import World

__all__ = ["PACKAGE", "adapted", "kafka_python_on_virtual_time", "load"]

PACKAGE: Final = "kafka"

_real_clock: Final = time.time  # noqa: TID251 - to find where it is kept


@contextmanager
def kafka_python_on_virtual_time(world: World, threads: VirtualThreads, *packages: str) -> Iterator[None]:
    """Within it kafka-python, and the application in `packages`, belong to the world.

    Raises:
        ScenarioError: kafka-python is not installed, or one before 3.0.
        AnotherWorldRuns: another world of this process has foreign code.
    """
    load()
    with ForeignModules(world, PACKAGE, *packages, threads=threads), adapted(threads):
        yield


def load() -> None:
    """Import kafka-python, before its modules are changed.

    Raises:
        ScenarioError: it is not installed, or one before 3.0.
    """
    try:
        for name in ("kafka.net.selector", "kafka.record.default_records"):
            import_module(name)
    except ModuleNotFoundError as error:
        raise ScenarioError("kafka-python 3 is not installed: pip install 'kafka-python>=3'") from error


@contextmanager
def adapted(threads: VirtualThreads) -> Iterator[None]:
    """Within it, and within ForeignModules, kafka-python has the world's clock and selectors; ids begin at 1."""
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
    from kafka.net.selector import NetworkSelector
    from kafka.producer import kafka as producers
    from kafka.record.default_records import DefaultRecordBatchBuilder

    from sim_runtime.virtual_sockets import selectors_module

    append = DefaultRecordBatchBuilder.append
    exits = ModuleType("atexit")
    vars(exits).update(vars(atexit), register=lambda function, *_, **__: function, unregister=lambda _: None)
    with replaced_names((PACKAGE,), {atexit: exits}), ExitStack() as undo:
        selector = vars(selectors_module(threads))["DefaultSelector"]
        for each in (KafkaAdminClient, KafkaConsumer, KafkaProducer, NetworkSelector):
            undo.callback(each.DEFAULT_CONFIG.update, selector=selectors.DefaultSelector)
            each.DEFAULT_CONFIG["selector"] = selector
        undo.callback(setattr, producers, "PRODUCER_CLIENT_ID_SEQUENCE", producers.PRODUCER_CLIENT_ID_SEQUENCE)
        producers.PRODUCER_CLIENT_ID_SEQUENCE = producers.AtomicInteger()
        undo.callback(setattr, KafkaProducer, "__del__", KafkaProducer.__del__)
        KafkaProducer.__del__ = _in_programs_alone(threads, KafkaProducer.__del__)
        undo.callback(setattr, append, "__defaults__", append.__defaults__)
        append.__defaults__ = tuple(
            time.time if each is _real_clock else each  # noqa: TID251 - the world's: the module belongs to it
            for each in append.__defaults__
        )
        yield


def _in_programs_alone(threads: VirtualThreads, finalize: Callable[[Any], None]) -> Callable[[Any], None]:
    """A producer closes when its program drops it, and not when the program was killed or the run is over."""

    def finalize_in_program(owner: Any) -> None:
        if threads.current_thread() is not None:
            finalize(owner)

    return finalize_in_program
