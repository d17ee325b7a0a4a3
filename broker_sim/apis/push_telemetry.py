"""PushTelemetry (api key 72): a client's metrics (KIP-714).

Version 0. Mirrors KafkaApis.handlePushTelemetryRequest. Served, but only listed with client.telemetry.receiver=true;
the journal then records the metrics, as a ClientTelemetryReceiver would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.client_metrics import attributes_of, client_metrics_of
from broker_sim.config.simulator_configs import TELEMETRY_RECEIVER
from broker_sim.control.events import TelemetryReceived
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.push_telemetry import PushTelemetryResponse
from protocol_specs.uuids import to_text

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.push_telemetry import PushTelemetryRequest


def handle(request: PushTelemetryRequest, context: RequestContext) -> PushTelemetryResponse:
    """Accept the metrics, or return the error."""
    error_code = client_metrics_of(context).push(
        request, attributes_of(context), context.broker.now_ms(), context.connection
    )
    broker = context.broker
    if error_code is ErrorCode.NONE and broker.config[TELEMETRY_RECEIVER] and broker.journal.full:
        broker.journal.append(
            TelemetryReceived(
                time_us=broker.journal.now_us(),
                broker_id=broker.id,
                client_id=context.client_id,
                client_instance_id=to_text(request.client_instance_id),
                subscription_id=request.subscription_id,
                terminating=request.terminating,
                compression_type=request.compression_type,
                metrics=bytes(request.metrics),
            )
        )
    return PushTelemetryResponse(error_code=error_code)


HANDLER: Final = ApiHandler(handle=handle)
