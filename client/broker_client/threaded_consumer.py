"""The thread of a consumer's core, for the consumers of programs with threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from broker_client.api_options import CLOSE_S, fresh_random, milliseconds
from broker_client.app_thread_calls import AppThreadCalls
from broker_client.bootstrap_problems import bootstrap_problems
from broker_client.core.consumer.fetch_memory import keep_fetch_memory
from broker_client.core.network.client_core import ClientCore
from broker_client.core.telemetry.measured_consumer import MeasuredConsumer
from broker_client.errors import ProducerClosed
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from random import Random

    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.network.client_core import ClientOptions
    from broker_client.metrics import MetricName, MetricsSnapshot

__all__ = ["ThreadedConsumer"]

C = TypeVar("C", bound=MeasuredConsumer)
T = TypeVar("T")

_GRACE_S: Final = 5.0


class ThreadedConsumer(ABC, Generic[C]):
    """Runs `make(core, run_callback)` and its calls on a thread of its own; `run_callback` uses the caller's thread."""

    def __init__(
        self,
        client: ClientOptions,
        make: Callable[[ClientCore, CallbackRunner], C],
        random: Random | None,
        *,
        auto_create_topics: bool,
    ) -> None:
        self._limit_s = client.default_api_timeout_ms / 1000 + _GRACE_S
        keep_fetch_memory()
        self._thread = ReactorThread(f"kafka-consumer-network-thread | {client.network.client_id}")
        self._calls = AppThreadCalls(self._thread)
        reactor = self._thread.reactor

        def start() -> tuple[ClientCore, C]:
            core = ClientCore(
                client,
                reactor,
                random if random is not None else fresh_random(),
                call_from_thread=reactor.callFromThread,
                by_subscription=True,
                allow_auto_topic_creation=auto_create_topics,
            )
            return core, make(core, self._calls.run_callback)

        self._core, self._consumer = self._thread.make(start)
        self._closed = False
        self._calls.metrics = self._consumer.metrics.events

    def metrics(self) -> MetricsSnapshot:
        """Return a snapshot of all metrics, under Java's names: `metrics()["records-consumed-rate"]`."""
        return self._consumer.metrics.read()

    def connection_problems(self) -> list[str] | None:
        """Return why bootstrap servers cannot be reached so far, None once a broker has sent its metadata."""
        return self._open_thread.call(lambda: bootstrap_problems(self._core))

    def client_instance_id(self, timeout: float) -> str | None:
        """Return the id that a broker assigned for client metrics (KIP-714), None if none came in `timeout` seconds.

        Raises:
            IllegalState: enable.metrics.push is false, or the time-out is negative.
        """
        return self._call(self._consumer.client_instance_id, milliseconds(timeout), timeout=timeout)

    def register_metric_for_subscription(self, name: MetricName, measure: Callable[[], float]) -> None:
        """Push a metric of the application with those of the consumer, if brokers request it (KIP-1076).

        `measure` is called on the network thread; a name that the consumer has is skipped.
        """
        self._open_thread.call(self._consumer.register_metric, name, measure)

    def unregister_metric_from_subscription(self, name: MetricName) -> None:
        """Push a metric of the application no more."""
        self._open_thread.call(self._consumer.unregister_metric, name)

    @property
    def _open_thread(self) -> ReactorThread:
        if self._closed:
            raise ProducerClosed("the consumer is closed")
        return self._thread

    def _call(self, function: Callable[..., Coroutine[Any, Any, T]], *args: object, timeout: float | None = None) -> T:
        if self._closed:
            raise ProducerClosed("the consumer is closed")
        return self._calls.call(function, *args, timeout_s=self._limit_s + (timeout or 0))

    def _direct(self, function: Callable[..., T], *args: object, **options: object) -> T:
        """Call a function of the core that does not wait."""
        thread = self._open_thread
        with self._calls.acquired():
            return thread.call(partial(function, *args, **options))

    def _close(self, function: Callable[[int], Coroutine[Any, Any, None]], timeout: float) -> None:
        """Run the core's `close`, then stop the thread; a second call has no effect."""
        if self._closed:
            return
        if not self._thread.running:
            self._closed = True
            return
        with self._calls.acquired():
            try:
                self._calls.call(function, int(timeout * 1000), timeout_s=timeout + _GRACE_S)
            finally:
                self._closed = True
                self._thread.call(self._core.close)
                self._thread.stop()

    @abstractmethod
    def close(self, timeout: float = CLOSE_S) -> None:
        """Close the consumer within `timeout` seconds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
