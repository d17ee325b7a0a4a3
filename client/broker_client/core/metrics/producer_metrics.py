"""All sensors of one producer, and where they are put. Mirrors how KafkaProducer's constructor shares its Metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.metrics.client_metrics import register_app_info
from broker_client.core.metrics.kafka_producer_metrics import BufferPoolMetrics, KafkaProducerMetrics
from broker_client.core.metrics.registry import Metrics, RecordingLevel
from broker_client.core.metrics.selector_metrics import MeasuredRunnable, SelectorMetrics
from broker_client.core.metrics.sender_metrics import SenderMetrics
from broker_client.core.metrics.stats import MetricConfig
from broker_client.core.producer.sender_loop import now_ms_of
from sim_runtime.version import VERSION

if TYPE_CHECKING:
    from broker_client.core.network.metadata import Metadata
    from broker_client.core.network.network_client import NetworkClient
    from broker_client.core.producer.sender_loop import Runnable
    from broker_client.metrics import MetricsSnapshot
    from broker_client.producer_config import ProducerConfig
    from sim_runtime.interfaces import IReactor

__all__ = ["ProducerMetrics"]


class ProducerMetrics:
    """`registry` has every metric; the others are those who record."""

    def __init__(self, config: ProducerConfig, reactor: IReactor, client: NetworkClient, metadata: Metadata) -> None:
        self._reactor = reactor
        self.registry = Metrics(
            config=MetricConfig(
                samples=config.number("metrics.num.samples"), window_ms=config.number("metrics.sample.window.ms")
            ),
            now_ms=lambda: now_ms_of(reactor),
            tags={"client-id": config.client_id},
            level=RecordingLevel[config.text("metrics.recording.level")],
        )
        self.calls = KafkaProducerMetrics(self.registry, reactor)
        self.pool = BufferPoolMetrics(self.registry, reactor)
        self.selector = SelectorMetrics(self.registry, lambda: client.selector.connection_count)
        self.sender = SenderMetrics(
            self.registry,
            self.selector,
            in_flight=client.in_flight_count,
            last_metadata_ms=lambda: metadata.last_successful_update_ms,
        )
        register_app_info(self.registry, VERSION)
        client.selector.sensors = self.selector
        client.throttle_time = self.sender.throttle_time

    def measured(self, runnable: Runnable) -> MeasuredRunnable:
        """The Sender, with its iterations measured."""
        return MeasuredRunnable(runnable, self.selector, self._reactor.seconds)

    def read(self) -> MetricsSnapshot:
        """The present values of all metrics; from any thread."""
        return self.registry.read()
