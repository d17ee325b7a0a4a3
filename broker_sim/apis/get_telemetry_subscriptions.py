"""GetTelemetrySubscriptions (api key 71): which metrics a client shall push (KIP-714).

Version 0. Mirrors KafkaApis.handleGetTelemetrySubscriptionsRequest. Served, but only listed with
client.telemetry.receiver=true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.client_metrics import attributes_of, client_metrics_of
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest

ACCEPTED_CODECS: Final = (4, 3, 1, 2)
"""zstd, lz4, gzip, snappy: best first."""


def handle(request: GetTelemetrySubscriptionsRequest, context: RequestContext) -> GetTelemetrySubscriptionsResponse:
    """Return the client's id, a new one if it has none, and the metrics to push."""
    manager = client_metrics_of(context)
    found = manager.subscribe(
        request.client_instance_id, attributes_of(context), context.broker.now_ms(), context.connection
    )
    if isinstance(found, ErrorCode):
        return GetTelemetrySubscriptionsResponse(error_code=found)
    instance_id, instance = found
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance_id,
        subscription_id=instance.subscription_id,
        accepted_compression_types=list(ACCEPTED_CODECS),
        push_interval_ms=instance.interval_ms,
        telemetry_max_bytes=manager.max_bytes,
        delta_temporality=True,
        requested_metrics=list(instance.metrics),
    )


HANDLER: Final = ApiHandler(handle=handle)
