"""The metrics of a consumer, for its application and for brokers that request them (KIP-714, KIP-1076).

Mirrors the methods of KafkaConsumer and KafkaShareConsumer that have to do with metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.telemetry.client_telemetry import client_instance_id, telemetry_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_client.core.metrics.consumer_metrics import AnyConsumerMetrics
    from broker_client.core.network.client_core import ClientCore
    from broker_client.metrics import MetricName

__all__ = ["MeasuredConsumer"]


class MeasuredConsumer:
    """A base of the cores of consumers; call everything on the reactor's thread."""

    metrics: AnyConsumerMetrics

    def __init__(self, core: ClientCore, *, push: bool, labels: Mapping[str, object]) -> None:
        """`metrics` are set. With `push` they are pushed, with `labels` as attributes of the whole client."""
        self._core = core
        self._telemetry = telemetry_of(core.client, self.metrics.registry, core.random, labels) if push else None
        core.client.telemetry = self._telemetry

    async def client_instance_id(self, timeout_ms: int) -> str | None:
        """The id under which brokers keep this client's metrics, None if no broker sends it in time (KIP-714).

        Raises:
            IllegalState: enable.metrics.push is false.
        """
        self._core.wakeup()
        return await client_instance_id(self._telemetry, self._core.reactor, timeout_ms)

    def register_metric(self, name: MetricName, measure: Callable[[], float]) -> None:
        """Push a metric of the application with those of the consumer (KIP-1076); no effect without pushes."""
        if self._telemetry is not None:
            self._telemetry.reporter.register_metric(name, measure)

    def unregister_metric(self, name: MetricName) -> None:
        """Push a metric of the application no more."""
        if self._telemetry is not None:
            self._telemetry.reporter.unregister_metric(name)

    def prepare_last_push(self, timeout_ms: int) -> None:
        """The consumer begins to close: `push_last_metrics` of the client's core pushes a last time."""
        if self._telemetry is not None and timeout_ms > 0:
            self._telemetry.reporter.initiate_close()
