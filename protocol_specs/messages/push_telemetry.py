"""PushTelemetry (api key 72): a client pushes its metrics.

Mirrors PushTelemetryRequest and PushTelemetryResponse; KIP-714.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Bool, Bytes, Int8, Int16, Int32, Uuid
from protocol_specs.message import Message, field, message


@message(api_key=ApiKey.PUSH_TELEMETRY, versions="0", flexible="0+")
class PushTelemetryRequest(Message):
    """The request: a client pushes its metrics."""

    client_instance_id: bytes = field(Uuid)
    subscription_id: int = field(Int32)
    terminating: bool = field(Bool)
    compression_type: int = field(Int8)
    metrics: bytes = field(Bytes)


@message(api_key=ApiKey.PUSH_TELEMETRY, versions="0", flexible="0+")
class PushTelemetryResponse(Message):
    """The response: one error code."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
