"""When a client requests its subscription and when it pushes, without I/O.

Mirrors ClientTelemetryReporter with its DefaultClientTelemetrySender and ClientTelemetryUtils (KIP-714). Times are
milliseconds of the client's clock. `client_instance_id` may be waited for from any thread; all else belongs to the
network thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_client.core.telemetry.metrics_collector import selector_of
from broker_client.core.telemetry.otlp import metrics_data
from broker_client.core.telemetry.telemetry_states import (
    TELEMETRY_STATES,
    TERMINATING,
    TelemetryEvent,
    TelemetryState,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import ProtocolError
from protocol_specs.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from protocol_specs.messages.push_telemetry import PushTelemetryRequest
from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence

    from broker_client.core.telemetry.metrics_collector import MetricsCollector
    from broker_client.metrics import MetricName
    from protocol_specs.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsResponse
    from protocol_specs.messages.push_telemetry import PushTelemetryResponse

__all__ = ["ClientTelemetryReporter"]

NEVER_MS: Final = 1 << 62
DEFAULT_PUSH_INTERVAL_MS: Final = 300_000
# The first push of a subscription comes after half an interval to one and a half, so that clients that began together
# do not push together.
JITTER_LOWER: Final = 0.5
JITTER_UPPER: Final = 1.5
_AT_ONCE: Final = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
_AFTER_THE_INTERVAL: Final = (ErrorCode.TELEMETRY_TOO_LARGE, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
_log = Logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subscription:
    client_instance_id: bytes
    subscription_id: int
    push_interval_ms: int
    codecs: tuple[CompressionCodec, ...]
    delta: bool
    wants: Callable[[str], bool] | None


class ClientTelemetryReporter:
    """`resource` are attributes of the whole client."""

    def __init__(
        self,
        collector: MetricsCollector,
        *,
        random: random.Random,
        now_ms: Callable[[], int],
        resource: Mapping[str, str] | None = None,
    ) -> None:
        self.state = TelemetryState.SUBSCRIPTION_NEEDED
        self._collector = collector
        self._random = random
        self._now_ms = now_ms
        self._resource = dict(resource or {})
        self._subscription: _Subscription | None = None
        self._last_request_ms: int | None = None
        self._interval_ms = 0
        self._enabled = True
        self._unusable_codecs: list[CompressionCodec] = []
        self._lock = Lock()
        self._waiters: list[Callable[[], object]] = []

    @property
    def client_instance_id(self) -> bytes | None:
        """The id that a broker has assigned to this client, None before a response."""
        return None if self._subscription is None else self._subscription.client_instance_id

    def register_metric(self, name: MetricName, measure: Callable[[], float]) -> None:
        """Push a metric of the application, too; a name that the client has is skipped (KIP-1076)."""
        if not self._collector.register(name, measure):
            _log.debug("telemetry: skipping a metric of the application, the client has it name={name}", name=name)

    def unregister_metric(self, name: MetricName) -> None:
        """Push a metric of the application no more."""
        self._collector.unregister(name)

    def update_labels(self, **labels: str) -> None:
        """Attributes of the whole client that are known later. Mirrors updateMetricsLabels."""
        self._resource.update(labels)

    def on_subscription(self, notify: Callable[[], object]) -> None:
        """Call when there is a client instance id, at once when there is one; from any thread."""
        with self._lock:
            if self._subscription is None:
                self._waiters.append(notify)
                return
        notify()

    def forget(self, notify: Callable[[], object]) -> None:
        """Take back what `on_subscription` registered."""
        with self._lock:
            if notify in self._waiters:
                self._waiters.remove(notify)

    def time_to_next_update_ms(self, now_ms: int) -> int:
        """How long until `next_request` has one; NEVER_MS while a response is awaited, or for good."""
        if not self._enabled:
            return NEVER_MS
        if self.state is TelemetryState.TERMINATING_PUSH_NEEDED:
            return 0
        if self.state not in (TelemetryState.SUBSCRIPTION_NEEDED, TelemetryState.PUSH_NEEDED):
            return NEVER_MS
        if self._last_request_ms is None:
            return 0
        return max(self._last_request_ms + self._interval_ms - now_ms, 0)

    def next_request(self) -> GetTelemetrySubscriptionsRequest | PushTelemetryRequest:
        """Return the request to send now; it counts as sent."""
        subscription = self._subscription
        if self.state is TelemetryState.SUBSCRIPTION_NEEDED:
            self._become(TelemetryEvent.REQUEST_SENT)
            instance_id = ZERO_UUID if subscription is None else subscription.client_instance_id
            return GetTelemetrySubscriptionsRequest(client_instance_id=instance_id)
        assert subscription is not None, "nothing is pushed before there is a subscription"
        self._become(TelemetryEvent.REQUEST_SENT)
        terminating = self.state is TelemetryState.TERMINATING_PUSH_IN_PROGRESS
        points = (
            [] if subscription.wants is None else self._collector.collect(subscription.wants, delta=subscription.delta)
        )
        codec, metrics = self._compressed(metrics_data(points, tuple(self._resource.items())), subscription)
        return PushTelemetryRequest(
            client_instance_id=subscription.client_instance_id,
            subscription_id=subscription.subscription_id,
            terminating=terminating,
            compression_type=codec,
            metrics=metrics,
        )

    def handle_subscription(self, response: GetTelemetrySubscriptionsResponse) -> None:
        """Apply a subscription."""
        if self.state in TERMINATING or self._failed(ErrorCode(response.error_code)):
            return
        if response.client_instance_id == ZERO_UUID:
            _log.warn("the broker gives no client instance id: metrics are not pushed")
            self._stop(TelemetryEvent.FAILED)
            return
        before = self._subscription
        if before is not None and before.delta != response.delta_temporality:
            self._collector.reset()
        interval_ms = response.push_interval_ms if response.push_interval_ms > 0 else DEFAULT_PUSH_INTERVAL_MS
        wants = selector_of(response.requested_metrics)
        self._become(TelemetryEvent.NOTHING_WANTED if wants is None else TelemetryEvent.METRICS_WANTED)
        jitter = 1.0 if wants is None else self._random.uniform(JITTER_LOWER, JITTER_UPPER)
        self._wait(round(jitter * interval_ms))
        with self._lock:
            self._subscription = _Subscription(
                client_instance_id=bytes(response.client_instance_id),
                subscription_id=response.subscription_id,
                push_interval_ms=interval_ms,
                codecs=tuple(_codecs_of(response.accepted_compression_types)),
                delta=response.delta_temporality,
                wants=wants,
            )
            waiters, self._waiters = self._waiters, []
        for notify in waiters:
            notify()

    def handle_push(self, response: PushTelemetryResponse) -> None:
        """Apply the response to a push."""
        if self.state in TERMINATING or self._failed(ErrorCode(response.error_code)):
            return
        assert self._subscription is not None
        self._become(TelemetryEvent.PUSHED)
        self._wait(self._subscription.push_interval_ms)

    def handle_disconnect(self) -> None:
        """A request had no response: another broker gets one after the back-off."""
        if self.state not in TERMINATING:
            self._become(TelemetryEvent.FAILED)
            self._wait(DEFAULT_PUSH_INTERVAL_MS)

    def handle_unsupported_version(self) -> None:
        """The broker has no receiver of metrics: it gets no more requests, and nothing is logged."""
        if self.state not in TERMINATING:
            self._stop(TelemetryEvent.FAILED)

    def initiate_close(self) -> None:
        """The client closes: what it measured since the last push goes out at once, if it is wanted."""
        if (
            self._subscription is not None
            and self._enabled
            and TELEMETRY_STATES.allows(self.state, TelemetryEvent.CLOSE_BEGAN)
        ):
            self._become(TelemetryEvent.CLOSE_BEGAN)

    def close(self) -> None:
        """Send nothing more."""
        if self.state is not TelemetryState.TERMINATED:
            self._become(TelemetryEvent.CLOSED)

    # Details

    def _become(self, event: TelemetryEvent) -> None:
        self.state = TELEMETRY_STATES.next(self.state, event)

    def _wait(self, interval_ms: int) -> None:
        self._interval_ms = interval_ms
        self._last_request_ms = self._now_ms()

    def _stop(self, event: TelemetryEvent) -> None:
        self._become(event)
        self._enabled = False

    def _failed(self, code: ErrorCode) -> bool:
        """Act on an error; False when there is none. Mirrors ClientTelemetryUtils.maybeFetchErrorIntervalMs."""
        if code is ErrorCode.NONE:
            return False
        _log.debug("a broker refuses client metrics: {code}", code=code.name)
        if code in _AT_ONCE:
            self._become(TelemetryEvent.FAILED)
            self._wait(0)
        elif code in _AFTER_THE_INTERVAL:
            self._become(TelemetryEvent.FAILED)
            known = self._subscription
            self._wait(DEFAULT_PUSH_INTERVAL_MS if known is None else known.push_interval_ms)
        else:
            self._stop(TelemetryEvent.FAILED)
        return True

    def _compressed(self, payload: bytes, subscription: _Subscription) -> tuple[CompressionCodec, bytes]:
        """By the first codec that the broker takes and this installation has."""
        codec = next((one for one in subscription.codecs if one not in self._unusable_codecs), CompressionCodec.NONE)
        if codec is CompressionCodec.NONE:
            return codec, payload
        try:
            return codec, compress(codec, payload)
        except ProtocolError as error:
            _log.debug("metrics are pushed as they are: {error}", error=error)
            self._unusable_codecs.append(codec)
            return CompressionCodec.NONE, payload


def _codecs_of(ids: Sequence[int]) -> list[CompressionCodec]:
    known = [codec.value for codec in CompressionCodec]
    return [CompressionCodec(one) for one in ids if one in known]
