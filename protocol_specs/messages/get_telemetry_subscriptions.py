"""GetTelemetrySubscriptions (api key 71): list the metrics that a client shall push.

Mirrors GetTelemetrySubscriptionsRequest and GetTelemetrySubscriptionsResponse; KIP-714.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, String, Uuid
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions="0", flexible="0+")
class GetTelemetrySubscriptionsRequest(Message):
    """The request: list the metrics that a client shall push."""

    client_instance_id: bytes = field(Uuid)


@message(api_key=ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions="0", flexible="0+")
class GetTelemetrySubscriptionsResponse(Message):
    """The response: the subscription of the client: metrics, interval and compression."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    client_instance_id: bytes = field(Uuid)
    subscription_id: int = field(Int32)
    accepted_compression_types: list[int] = field(Array(Int8))
    push_interval_ms: int = field(Int32)
    telemetry_max_bytes: int = field(Int32)
    delta_temporality: bool = field(Bool)
    requested_metrics: list[str] = field(Array(String))
