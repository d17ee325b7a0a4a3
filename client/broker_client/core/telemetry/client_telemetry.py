"""The telemetry of a client: its pushes, and the id of its metrics. Mirrors CommonClientConfigs.telemetryReporter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from broker_client.core.telemetry.metrics_collector import MetricsCollector
from broker_client.core.telemetry.telemetry_reporter import ClientTelemetryReporter
from broker_client.core.telemetry.telemetry_sender import TelemetrySender
from broker_client.errors import IllegalState
from protocol_specs.uuids import to_text

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from broker_client.core.metrics.registry import Metrics
    from broker_client.core.network.network_client import NetworkClient
    from sim_runtime.interfaces import IReactor

__all__ = ["client_instance_id", "telemetry_of"]


def telemetry_of(
    client: NetworkClient, metrics: Metrics, random: random.Random, resource: Mapping[str, object]
) -> TelemetrySender:
    """Push the metrics of a client; `resource` has the attributes of the whole client, None is left out."""
    attributes = {name: str(value) for name, value in resource.items() if value is not None}
    reporter = ClientTelemetryReporter(
        MetricsCollector(metrics), random=random, now_ms=metrics.now_ms, resource=attributes
    )
    return TelemetrySender(reporter, client)


async def client_instance_id(telemetry: TelemetrySender | None, reactor: IReactor, timeout_ms: int) -> str | None:
    """Kafka's text of the id that a broker gave, None when none has within the time. Mirrors clientInstanceId."""
    if telemetry is None:
        raise IllegalState("there is no client instance id without telemetry: set enable.metrics.push=true")
    if timeout_ms < 0:
        raise IllegalState(f"timeout of {timeout_ms} ms: a wait is never negative")
    reporter = telemetry.reporter
    given: Deferred[None] = Deferred()

    def notify() -> None:
        if not given.called:
            given.callback(None)

    reporter.on_subscription(notify)
    timer = reactor.callLater(timeout_ms / 1000, notify)
    try:
        await given
    finally:
        reporter.forget(notify)
        if timer.active():
            timer.cancel()
    instance_id = reporter.client_instance_id
    return None if instance_id is None else to_text(instance_id)
