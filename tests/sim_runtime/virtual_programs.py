"""Programs of threads in a world, for tests: run to their end, with the modules that they would import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred

from sim_runtime.foreign_modules import ForeignModules
from sim_runtime.virtual_threads import VirtualThreads

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from sim_runtime.world import World

DEADLINE_MS = 60_000.0


def run_program(world: World, program: Callable[[], Any], *, threads: VirtualThreads | None = None) -> Any:
    """Run a program as the first thread of a host; returns its result, raises its error and those of its threads."""
    threads, ended = threads or VirtualThreads(), Deferred[Any]()

    def main() -> None:
        ended.callback(program())

    def fail(thread: threading.Thread, error: Exception) -> None:
        del thread
        ended.errback(error)

    with ForeignModules(world, threads=threads):
        threads.start_program(world.network.host("application"), main, on_error=fail)
        return world.run_until(ended, deadline_ms=DEADLINE_MS, awaited="the program")
