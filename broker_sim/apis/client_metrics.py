"""Which clients push their metrics, and how often. Mirrors ClientMetricsManager and ClientMetricsInstance (KIP-714).

The subscriptions are the configurations of client metrics in the broker's own image.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.apis.client_metrics_subscriptions import Subscription, wanted_of
from broker_sim.config.config_resource import ResourceType
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order
from protocol_specs.records.checksums import crc32c
from protocol_specs.uuids import METADATA_TOPIC_UUID, ZERO_UUID, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from broker_sim.apis.request_context import ConnectionInfo, RequestContext
    from broker_sim.config.broker_config import BrokerConfig
    from protocol_specs.messages.push_telemetry import PushTelemetryRequest

CACHE_EXPIRY_MS: Final = 60_000
CACHE_MAX_SIZE: Final = 16_384
RESERVED_IDS: Final = (ZERO_UUID, METADATA_TOPIC_UUID)
CODECS: Final = range(5)
EXCUSES: Final = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
"""After these errors a client may request again at once."""
UUID_BYTES: Final = 16
LONG_AGO_MS: Final = -(1 << 62)
DECOMPRESSED_BYTES_MAX: Final = 64 * 1024 * 1024
"""The limit of metrics where Kafka has no limit but its heap."""


@dataclass(slots=True, kw_only=True)
class ClientInstance:
    """One client that has requested subscriptions or pushed metrics; times are the broker's."""

    attributes: Mapping[str, str | None]
    metrics: Sequence[str]
    interval_ms: int
    subscription_id: int
    subscription_version: int
    expires_ms: int
    connection: ConnectionInfo | None = None
    """The connection that the instance was created on, if it ends with the connection."""
    last_get_ms: int = LONG_AGO_MS
    last_push_ms: int = LONG_AGO_MS
    terminating: bool = False
    last_error: ErrorCode = ErrorCode.NONE

    def may_get(self, now_ms: int) -> bool:
        """Return True if the interval has passed since the last accepted request; if so, record the time."""
        if now_ms - max(self.last_get_ms, self.last_push_ms) < self.interval_ms:
            return False
        self.last_get_ms = now_ms
        return True

    def may_push(self, now_ms: int) -> bool:
        """Return True for the first push, or after the interval; if so, record the time."""
        if self.last_get_ms <= self.last_push_ms and now_ms - self.last_push_ms < self.interval_ms:
            return False
        self.last_push_ms = now_ms
        return True


class ClientMetricsManager:
    """The client instances of one run of a broker, the least recently active one first."""

    __slots__ = (
        "_configs",
        "_decompressed_bytes_max",
        "_decompresses",
        "_excuses",
        "_forgets",
        "_instances",
        "_random",
        "_subscriptions",
        "_version",
        "max_bytes",
    )

    def __init__(self, *, config: BrokerConfig, random: Random) -> None:
        max_bytes = config["telemetry.max.bytes"]
        assert isinstance(max_bytes, int)
        self.max_bytes = max_bytes
        self._decompresses = config.behaviour.telemetry_is_decompressed
        limited = config.behaviour.telemetry_is_small_decompressed
        self._decompressed_bytes_max = max_bytes if limited else DECOMPRESSED_BYTES_MAX
        self._excuses = config.behaviour.telemetry_excuses_errors
        self._forgets = config.behaviour.telemetry_ends_with_connection
        self._random = random
        self._instances: OrderedDict[bytes, ClientInstance] = OrderedDict()
        self._configs: Mapping[str, Mapping[str, str]] = {}
        self._subscriptions: list[Subscription] = []
        self._version = 0

    def update(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        """Update the subscriptions, resource by name; a change computes those of each client again."""
        if configs != self._configs:
            self._configs = configs
            self._subscriptions = [Subscription.of(configs[name]) for name in hash_order(configs)]
            self._version += 1

    def subscribe(
        self,
        instance_id: bytes,
        attributes: Mapping[str, str | None],
        now_ms: int,
        connection: ConnectionInfo | None = None,
    ) -> tuple[bytes, ClientInstance] | ErrorCode:
        """Return the instance that requests its subscriptions, a new one for the reserved id."""
        if instance_id == ZERO_UUID:
            instance_id = self._random.randbytes(UUID_BYTES)
        instance = self._instance(instance_id, attributes, now_ms, connection)
        excused = self._excuses and instance.last_error in EXCUSES
        if not instance.may_get(now_ms) and not excused:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        instance.last_error = ErrorCode.NONE
        return instance_id, instance

    def push(
        self,
        request: PushTelemetryRequest,
        attributes: Mapping[str, str | None],
        now_ms: int,
        connection: ConnectionInfo | None = None,
    ) -> ErrorCode:
        """Check a client's metrics and discard them."""
        if request.client_instance_id in RESERVED_IDS:
            return ErrorCode.INVALID_REQUEST
        instance = self._instance(request.client_instance_id, attributes, now_ms, connection)
        instance.last_error = self._fault(instance, request, now_ms)
        instance.terminating = request.terminating
        return instance.last_error

    def _fault(self, instance: ClientInstance, request: PushTelemetryRequest, now_ms: int) -> ErrorCode:
        if instance.terminating:
            return ErrorCode.INVALID_REQUEST
        if not instance.may_push(now_ms) and not request.terminating:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if request.subscription_id != instance.subscription_id:
            return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        codec = request.compression_type
        if codec not in CODECS:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        if len(request.metrics) > self.max_bytes:
            return ErrorCode.TELEMETRY_TOO_LARGE
        if request.metrics and codec and self._decompresses and not self._is_readable(codec, request.metrics):
            return ErrorCode.INVALID_RECORD
        return ErrorCode.NONE

    def _instance(
        self,
        instance_id: bytes,
        attributes: Mapping[str, str | None],
        now_ms: int,
        connection: ConnectionInfo | None,
    ) -> ClientInstance:
        instance = self._instances.get(instance_id)
        if instance is None or instance.expires_ms <= now_ms or self._is_gone(instance):
            instance = self._instances[instance_id] = self._subscribed(instance_id, attributes)
            instance.connection = connection
        elif instance.subscription_version < self._version:
            instance = self._instances[instance_id] = self._subscribed(instance_id, instance.attributes)
        instance.expires_ms = now_ms + max(CACHE_EXPIRY_MS, 3 * instance.interval_ms)
        self._instances.move_to_end(instance_id)
        if len(self._instances) > CACHE_MAX_SIZE:
            self._instances.popitem(last=False)
        return instance

    def _is_gone(self, instance: ClientInstance) -> bool:
        return self._forgets and instance.connection is not None and instance.connection.closed

    def _subscribed(self, instance_id: bytes, attributes: Mapping[str, str | None]) -> ClientInstance:
        named = {**attributes, "client_instance_id": to_text(instance_id)}
        metrics, interval_ms = wanted_of(self._subscriptions, named)
        return ClientInstance(
            attributes=named,
            metrics=metrics,
            interval_ms=interval_ms,
            subscription_id=_subscription_id(instance_id, metrics, interval_ms),
            subscription_version=self._version,
            expires_ms=LONG_AGO_MS,
        )

    def _is_readable(self, codec: int, metrics: bytes | memoryview) -> bool:
        from protocol_specs.errors import ProtocolError
        from protocol_specs.records.compression import CompressionCodec, decompress

        try:
            decompress(CompressionCodec.for_id(codec), metrics, limit_bytes=self._decompressed_bytes_max)
        except ProtocolError:
            return False
        return True


def client_metrics_of(context: RequestContext) -> ClientMetricsManager:
    """The broker's clients, with the subscriptions of its newest image."""
    broker = context.broker
    broker.apis.client_metrics.update(
        {
            resource.name: configs
            for resource, configs in broker.metadata_cache.image.configs.items()
            if resource.type == ResourceType.CLIENT_METRICS
        }
    )
    return broker.apis.client_metrics


def attributes_of(context: RequestContext) -> dict[str, str | None]:
    """The attributes of a client that patterns match. Mirrors ClientMetricsInstanceMetadata."""
    connection = context.connection
    knows_port = context.behaviour.telemetry_knows_ports
    return {
        "client_id": context.client_id,
        "client_software_name": connection.client_software_name,
        "client_software_version": connection.client_software_version,
        "client_source_address": connection.client_host,
        "client_source_port": str(connection.client_port) if knows_port else None,
    }


def _subscription_id(instance_id: bytes, metrics: Sequence[str], interval_ms: int) -> int:
    """The checksum of the metrics and the interval mixed with the id's hash, as a signed int."""
    checksum = crc32c(f"[{', '.join(metrics)}]{interval_ms}".encode())
    for word in struct.unpack(">4I", instance_id):
        checksum ^= word
    return checksum - (1 << 32) if checksum >= 1 << 31 else checksum
