"""A cluster in a world of its own, on virtual time, for tests of asyncio applications.

The verbs are those of a ThreadedCluster. The application runs on an event loop of the world, where `await
cluster.aio.restart(1)` lets virtual time pass until the verb is done. Outside of a loop a verb runs the world itself.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeVar

from twisted.internet.defer import Deferred

from broker_sim.cluster import Cluster
from broker_sim.cluster_input import check_seed, check_timeout
from broker_sim.config.release_behaviour import DEFAULT_RELEASE
from broker_sim.control.journal import Detail
from broker_sim.errors import BrokerSimError
from broker_sim.quick_settings import with_quick_settings
from broker_sim.threaded_cluster import TIMEOUT_S, ThreadedCluster
from sim_runtime.deadlines import DeadlineExceeded
from sim_runtime.virtual_event_loop import VirtualEventLoop
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_sim.cluster_input import ConfigInput, TopicsInput

__all__ = ["DEADLINE_S", "VirtualCluster"]

T = TypeVar("T")

__tracebackhide__ = True

APPLICATION: Final = "application"
DEADLINE_S: Final = 3_600.0
"""How much virtual time a program may take: the timers of idle brokers take seconds of a core per hour."""


class VirtualCluster(ThreadedCluster):
    """A running cluster from its construction on: a broker per host `broker-N` of `world.network`.

    The same seed and the same application give the same run, byte for byte, in every process.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        brokers: int = 3,
        first_broker_id: int = 1,
        controllers: int = 1,
        topics: TopicsInput = (),
        config: ConfigInput | None = None,
        release: str = DEFAULT_RELEASE,
        journal_detail: Detail = Detail.FULL,
        timeout_s: float = TIMEOUT_S,
        quick_failover: bool = False,
        quick_groups: bool = False,
        defects: Sequence[str] = (),
        features: Mapping[str, int] | None = None,
    ) -> None:
        check_timeout(timeout_s)
        check_seed(seed)
        self.timeout_s = timeout_s
        config = with_quick_settings(config, release, failover=quick_failover, groups=quick_groups)
        self.world = World(seed)
        self._closed = False
        self._waiting: list[asyncio.Future[Any]] = []
        network = self.world.network
        self.cluster: Cluster = Cluster(
            reactor=self.world.reactor,
            brokers=brokers,
            first_broker_id=first_broker_id,
            controllers=controllers,
            topics=topics,
            config=config,
            defects=defects,
            features=features,
            streams=self.world.streams,
            release=release,
            host=_host_of,
            broker_reactor=lambda broker_id: network.host(_host_of(broker_id)),
            journal_detail=journal_detail,
            digest=self.world.digest,
        )
        self.cluster.attach_to_network(network)
        if quick_groups:
            self.cluster.set_up_early()
        self.cluster.start()

    def event_loop(self, host: str = APPLICATION, *, deadline_s: float = DEADLINE_S) -> VirtualEventLoop:
        """Return an event loop for a program on a host of the world, which ends in time; its owner closes it."""
        return VirtualEventLoop(self.world, self.world.network.host(host), deadline_ms=deadline_s * 1000)

    def fingerprint(self) -> str:
        """Return a hash of all events, segments, calls and draws: equal for equal runs."""
        return self.world.fingerprint()

    async def awaited(self, verb: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Await a verb of this cluster, on virtual time."""
        self._waiting.clear()
        result = verb(self, *arguments, **options)
        # Some verbs return what they wait for, some return nothing.
        for waiting in self._waiting:
            done: T = await waiting
            return done if result is waiting else result
        return result

    def _call(self, function: Callable[..., Any], *args: object, timeout_s: float) -> Any:
        if self._closed:
            raise BrokerSimError("the cluster is closed")
        result = function(*args)
        if not isinstance(result, Deferred):
            return result
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return self.world.run_until(result, deadline_ms=timeout_s * 1000)
        if not isinstance(loop, VirtualEventLoop):
            raise BrokerSimError(
                f"{type(loop).__name__} is a loop of real time, and the cluster is on virtual time: use event_loop(). "
                "Configure pytest-asyncio for its strict mode, in which it does not run the test"
            )
        waiting = asyncio.ensure_future(_within(result.asFuture(loop), timeout_s))
        self._waiting[:] = [waiting]
        return waiting

    def reset(self) -> None:
        """Refuse: a test has a world of its own. Raises BrokerSimError."""
        raise BrokerSimError("a cluster on virtual time is not reset: make another one")

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._closed

    def close(self) -> None:
        """End the world. A second call does nothing."""
        if not self._closed:
            self.cluster.close()
            self._closed = True


async def _within(waiting: asyncio.Future[Any], timeout_s: float) -> Any:
    try:
        return await asyncio.wait_for(waiting, timeout_s)
    except TimeoutError:
        raise DeadlineExceeded("a verb of the cluster", timeout_s * 1000, "timeout_s") from None


def _host_of(broker_id: int) -> str:
    return f"broker-{broker_id}"
