"""Which clients push their metrics, and how often. Mirrors ClientMetricsManager and ClientMetricsInstance (KIP-714).

No subscriptions are known here: every client is told to push nothing, every five minutes.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.checksums import crc32c
from protocol_specs.uuids import METADATA_TOPIC_UUID, ZERO_UUID

if TYPE_CHECKING:
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig

PUSH_INTERVAL_MS: Final = 300_000
CACHE_EXPIRY_MS: Final = 60_000
CACHE_MAX_SIZE: Final = 16_384
RESERVED_IDS: Final = (ZERO_UUID, METADATA_TOPIC_UUID)
CODECS: Final = range(5)
UUID_BYTES: Final = 16
LONG_AGO_MS: Final = -(1 << 62)


@dataclass(slots=True, kw_only=True)
class ClientInstance:
    """One client that has asked or pushed; times are the broker's."""

    subscription_id: int
    expires_ms: int
    last_get_ms: int = LONG_AGO_MS
    last_push_ms: int = LONG_AGO_MS
    terminating: bool = False

    def may_get(self, now_ms: int) -> bool:
        """Whether the interval has passed since the client was heard last; the time counts when it has."""
        if now_ms - max(self.last_get_ms, self.last_push_ms) < PUSH_INTERVAL_MS:
            return False
        self.last_get_ms = now_ms
        return True

    def may_push(self, now_ms: int) -> bool:
        """Whether it is the first push after a question, or the interval has passed; the time counts when it has."""
        if self.last_get_ms <= self.last_push_ms and now_ms - self.last_push_ms < PUSH_INTERVAL_MS:
            return False
        self.last_push_ms = now_ms
        return True


class ClientMetricsManager:
    """The client instances of one run of a broker, the least recently heard one first."""

    __slots__ = ("_decompresses", "_instances", "_random", "max_bytes")

    def __init__(self, *, config: BrokerConfig, random: Random) -> None:
        max_bytes = config["telemetry.max.bytes"]
        assert isinstance(max_bytes, int)
        self.max_bytes = max_bytes
        self._decompresses = config.behaviour.telemetry_is_decompressed
        self._random = random
        self._instances: OrderedDict[bytes, ClientInstance] = OrderedDict()

    def subscribe(self, instance_id: bytes, now_ms: int) -> tuple[bytes, ClientInstance] | ErrorCode:
        """Answer the instance that asks for its subscriptions, a new one for the reserved id."""
        if instance_id == ZERO_UUID:
            instance_id = self._random.randbytes(UUID_BYTES)
        instance = self._instance(instance_id, now_ms)
        if not instance.may_get(now_ms):
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        return instance_id, instance

    def push(
        self, instance_id: bytes, subscription_id: int, codec: int, metrics: bytes, *, terminating: bool, now_ms: int
    ) -> ErrorCode:
        """Take a client's metrics; nobody receives them, but what is wrong with them is found."""
        if instance_id in RESERVED_IDS:
            return ErrorCode.INVALID_REQUEST
        instance = self._instance(instance_id, now_ms)
        was_terminating, instance.terminating = instance.terminating, terminating
        if was_terminating:
            return ErrorCode.INVALID_REQUEST
        if not instance.may_push(now_ms) and not terminating:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if subscription_id != instance.subscription_id:
            return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        if codec not in CODECS:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        if len(metrics) > self.max_bytes:
            return ErrorCode.TELEMETRY_TOO_LARGE
        if metrics and codec and self._decompresses and not self._is_readable(codec, metrics):
            return ErrorCode.INVALID_RECORD
        return ErrorCode.NONE

    def _instance(self, instance_id: bytes, now_ms: int) -> ClientInstance:
        instance = self._instances.get(instance_id)
        if instance is None or instance.expires_ms <= now_ms:
            instance = self._instances[instance_id] = ClientInstance(
                subscription_id=_subscription_id(instance_id), expires_ms=now_ms
            )
        instance.expires_ms = now_ms + max(CACHE_EXPIRY_MS, 3 * PUSH_INTERVAL_MS)
        self._instances.move_to_end(instance_id)
        if len(self._instances) > CACHE_MAX_SIZE:
            self._instances.popitem(last=False)
        return instance

    def _is_readable(self, codec: int, metrics: bytes) -> bool:
        from protocol_specs.errors import ProtocolError
        from protocol_specs.records.compression import CompressionCodec, decompress

        try:
            decompress(CompressionCodec.for_id(codec), metrics, limit_bytes=self.max_bytes)
        except ProtocolError:
            return False
        return True


def _subscription_id(instance_id: bytes) -> int:
    """The checksum of the subscriptions (none, and the interval) mixed with the id's hash, as a signed int."""
    checksum = crc32c(f"[]{PUSH_INTERVAL_MS}".encode())
    for word in struct.unpack(">4I", instance_id):
        checksum ^= word
    return checksum - (1 << 32) if checksum >= 1 << 31 else checksum
