"""A user's asyncio application on virtual time, for the fixture `virtual_cluster`."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from broker_scenarios.virtual_clients.aiokafka import PACKAGE, aiokafka_on_virtual_time
from broker_sim.virtual_cluster import DEADLINE_S
from sim_runtime.deadlines import DeadlineExceeded
from sim_runtime.foreign_modules import ForeignModules
from sim_runtime.virtual_event_loop import OPTION

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from broker_sim.virtual_cluster import VirtualCluster
    from sim_runtime.world import World

__all__ = ["run_application"]


def run_application(
    cluster: VirtualCluster, program: Coroutine[Any, Any, Any], *packages: str, deadline_s: float = DEADLINE_S
) -> Any:
    """Run a coroutine on the host `application` of a cluster's world; returns its result.

    `packages` are those of the application: their sets are ordered, and their `datetime.now()` is virtual.

    Raises:
        UnhandledInLoop: a callback raised, or an error of a task was never retrieved.
        DeadlineExceeded: the program waits for nothing that comes.
    """
    with (
        _modules_of(cluster.world, packages),
        asyncio.Runner(loop_factory=lambda: cluster.event_loop(deadline_s=deadline_s)) as runner,
    ):
        try:
            return runner.run(program)
        except DeadlineExceeded as error:
            if error.option != OPTION:
                raise
            raise DeadlineExceeded(error.awaited, error.waited_ms, "virtual_cluster(deadline_s=...)") from None


@contextmanager
def _modules_of(world: World, packages: tuple[str, ...]) -> Iterator[None]:
    if find_spec(PACKAGE) is None:
        with ForeignModules(world, *packages):
            yield
    else:
        with aiokafka_on_virtual_time(world, *packages):
            yield
