"""The event loop of a consumer's core, for the consumers of programs on asyncio."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from asyncio import get_running_loop
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from twisted.internet.defer import Deferred

from broker_client.api_options import CLOSE_S, fresh_random
from broker_client.core.consumer.fetch_memory import keep_fetch_memory
from broker_client.core.network.client_core import ClientCore
from broker_client.core.telemetry.measured_consumer import MeasuredConsumer
from broker_client.errors import IllegalState, ProducerClosed
from sim_runtime.asyncio_reactor import AsyncioReactor, LoopCannotWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from random import Random

    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.network.client_core import ClientOptions
    from broker_client.metrics import MetricName, MetricsSnapshot
    from sim_runtime.interfaces import IReactor

__all__ = ["EventLoopConsumer"]

C = TypeVar("C", bound=MeasuredConsumer)
T = TypeVar("T")


class EventLoopConsumer(ABC, Generic[C]):
    """Runs `make(core, run_callback)` and its calls on the event loop of the first call that is awaited."""

    def __init__(
        self,
        client: ClientOptions,
        make: Callable[[ClientCore, CallbackRunner], C],
        random: Random | None,
        *,
        auto_create_topics: bool,
    ) -> None:
        self._client = client
        self._make = make
        self._auto_create_topics = auto_create_topics
        self._random = random if random is not None else fresh_random()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._reactor: AsyncioReactor
        self._core: ClientCore
        self._consumer: C

    async def start(self) -> None:
        """Start on the running event loop; the first other call does this too.

        Raises:
            IllegalState: the event loop cannot watch sockets.
            ProducerClosed: the consumer is closed.
        """
        self._started()

    def metrics(self) -> MetricsSnapshot:
        """Return a snapshot of all metrics, under Java's names: `metrics()["records-consumed-rate"]`."""
        return self._started().metrics.read()

    async def client_instance_id(self, timeout: float) -> str | None:
        """Return the id that a broker assigned for client metrics (KIP-714), None if none came in `timeout` seconds.

        Raises:
            IllegalState: enable.metrics.push is false, or the time-out is negative.
        """
        return await self._awaited(self._started().client_instance_id(int(timeout * 1000)))

    def register_metric_for_subscription(self, name: MetricName, measure: Callable[[], float]) -> None:
        """Push a metric of the application with those of the consumer, if brokers request it (KIP-1076)."""
        self._started().register_metric(name, measure)

    def unregister_metric_from_subscription(self, name: MetricName) -> None:
        """Push a metric of the application no more."""
        self._started().unregister_metric(name)

    @abstractmethod
    async def close(self, timeout: float = CLOSE_S) -> None:
        """Close the consumer within `timeout` seconds."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Details

    def _started(self) -> C:
        """Start if need be; raise if the consumer is closed or on another event loop."""
        if self._closed:
            raise ProducerClosed("the consumer is closed")
        loop = get_running_loop()
        if self._loop is None:
            self._begin(loop)
        if self._loop is not loop:
            raise IllegalState(
                f"the consumer was started on another event loop; create one {type(self).__name__} per event loop, "
                "that is, in each asyncio.run and in each thread"
            )
        return self._consumer

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self._reactor = AsyncioReactor(loop)
        except LoopCannotWatch as error:
            raise IllegalState(f"cannot start: {error}") from None
        self._core = ClientCore(
            self._client,
            cast("IReactor", self._reactor),
            self._random,
            call_from_thread=loop.call_soon,
            by_subscription=True,
            allow_auto_topic_creation=self._auto_create_topics,
        )
        keep_fetch_memory()
        self._consumer = self._make(self._core, partial(_run_on_loop, loop))
        self._loop = loop

    async def _close(self, close: Callable[[C], Coroutine[Any, Any, None]]) -> None:
        """Close the core if it was started; a second call has no effect."""
        if self._closed:
            return
        if self._loop is None:
            self._closed = True
            return
        try:
            await self._awaited(close(self._consumer))
        finally:
            self._closed = True
            self._core.close()
            await self._reactor.close()

    async def _awaited(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine of the core; cancel it if the caller is cancelled."""
        deferred = Deferred.fromCoroutine(coroutine)
        future: asyncio.Future[T] = deferred.asFuture(get_running_loop())
        try:
            return await future
        finally:
            if not deferred.called:
                deferred.cancel()


async def _run_on_loop(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: object) -> Any:
    """Call a function of the application; a coroutine that it returns runs as a task."""
    result = function(*args)
    if asyncio.iscoroutine(result):
        return await Deferred.fromFuture(asyncio.ensure_future(result, loop=loop))
    return result
