"""PushTelemetry (api key 72): a client's metrics (KIP-714). Served, but never listed; nobody receives them.

Version 0. Mirrors KafkaApis.handlePushTelemetryRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.client_metrics import attributes_of, client_metrics_of
from broker_sim.apis.kafka_apis import ApiHandler, register
from protocol_specs.messages.push_telemetry import PushTelemetryResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.push_telemetry import PushTelemetryRequest

PUSH_TELEMETRY: Final = 72


def handle_push_telemetry(request: PushTelemetryRequest, context: RequestContext) -> PushTelemetryResponse:
    """Take the metrics, or say what is wrong with them."""
    error_code = client_metrics_of(context).push(
        request, attributes_of(context), context.broker.now_ms(), context.connection
    )
    return PushTelemetryResponse(error_code=error_code)


register(ApiHandler(api_key=PUSH_TELEMETRY, handle=handle_push_telemetry))
