"""When a client asks, pushes, waits and gives up: one broker's answers, one clock, no network."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from broker_client.core.metrics.registry import Metrics
from broker_client.core.metrics.stats import MetricConfig
from broker_client.core.telemetry import telemetry_reporter
from broker_client.core.telemetry.metrics_collector import MetricsCollector
from broker_client.core.telemetry.telemetry_reporter import (
    DEFAULT_PUSH_INTERVAL_MS,
    NEVER_MS,
    ClientTelemetryReporter,
)
from broker_client.core.telemetry.telemetry_states import TelemetryState
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import ProtocolError
from protocol_specs.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from protocol_specs.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from protocol_specs.records.compression import CompressionCodec, decompress
from protocol_specs.uuids import ZERO_UUID
from tests.client.core.telemetry.read_metrics_data import read_metrics_data

if TYPE_CHECKING:
    from collections.abc import Callable

CLIENT = bytes(range(16))
INTERVAL_MS = 1_000


class Told:
    """A reporter and the clock it goes by."""

    def __init__(self) -> None:
        self.now_ms = 5_000
        metrics = Metrics(config=MetricConfig(), now_ms=lambda: self.now_ms, tags={"client-id": "c"})
        self.reporter = ClientTelemetryReporter(
            MetricsCollector(metrics), random=random.Random(1), now_ms=lambda: self.now_ms, resource=[("a", "b")]
        )

    @property
    def wait_ms(self) -> int:
        return self.reporter.time_to_next_update_ms(self.now_ms)

    def asks(self) -> GetTelemetrySubscriptionsRequest:
        assert self.wait_ms == 0
        request = self.reporter.next_request()
        assert isinstance(request, GetTelemetrySubscriptionsRequest)
        assert self.wait_ms == NEVER_MS
        return request

    def pushes(self) -> PushTelemetryRequest:
        assert self.wait_ms == 0
        request = self.reporter.next_request()
        assert isinstance(request, PushTelemetryRequest)
        assert self.wait_ms == NEVER_MS
        return request

    def subscribed(self, **changed: object) -> None:
        self.asks()
        given: dict[str, object] = {
            "client_instance_id": CLIENT,
            "subscription_id": 7,
            "accepted_compression_types": [],
            "push_interval_ms": INTERVAL_MS,
            "requested_metrics": ["*"],
            **changed,
        }
        self.reporter.handle_subscription(GetTelemetrySubscriptionsResponse(**given))

    def sleeps(self) -> int:
        waited = self.wait_ms
        self.now_ms += waited
        return waited

    def pushed(self, error: ErrorCode = ErrorCode.NONE) -> None:
        self.reporter.handle_push(PushTelemetryResponse(error_code=error))


@pytest.fixture
def told() -> Told:
    return Told()


def test_the_first_question_has_no_id_and_the_next_has_the_one_that_was_given(told: Told) -> None:
    assert told.asks().client_instance_id == ZERO_UUID
    told.reporter.handle_subscription(
        GetTelemetrySubscriptionsResponse(client_instance_id=CLIENT, push_interval_ms=INTERVAL_MS)
    )
    assert told.reporter.client_instance_id == CLIENT
    assert told.sleeps() == INTERVAL_MS  # nothing is wanted: asked again, without jitter
    assert told.asks().client_instance_id == CLIENT


def test_the_first_push_is_spread_and_the_others_keep_the_interval(told: Told) -> None:
    told.subscribed()
    assert INTERVAL_MS / 2 <= told.sleeps() <= INTERVAL_MS * 3 / 2
    request = told.pushes()
    assert (request.client_instance_id, request.subscription_id, request.terminating) == (CLIENT, 7, False)
    told.pushed()
    assert told.sleeps() == INTERVAL_MS
    told.pushes()


def test_an_interval_that_is_none_is_five_minutes(told: Told) -> None:
    told.subscribed(push_interval_ms=0, requested_metrics=[])
    assert told.wait_ms == DEFAULT_PUSH_INTERVAL_MS


def test_the_brokers_first_codec_is_used(told: Told) -> None:
    told.subscribed(accepted_compression_types=[99, CompressionCodec.GZIP, CompressionCodec.LZ4])
    told.sleeps()
    request = told.pushes()
    assert request.compression_type == CompressionCodec.GZIP
    points, resource = read_metrics_data(bytes(decompress(CompressionCodec.GZIP, request.metrics, limit_bytes=10_000)))
    assert [point.name for point in points] == ["org.apache.kafka.kafka.count.count"]
    assert resource == [("a", "b")]


def test_a_codec_that_is_not_installed_is_not_tried_again(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    def compress(codec: CompressionCodec, payload: bytes) -> bytes:
        if codec is CompressionCodec.ZSTD:
            raise ProtocolError("no zstd here")
        return b"packed" + payload

    monkeypatch.setattr(telemetry_reporter, "compress", compress)
    told.subscribed(accepted_compression_types=[CompressionCodec.ZSTD, CompressionCodec.GZIP])
    codecs = []
    for _ in range(2):
        told.sleeps()
        codecs.append(told.pushes().compression_type)
        told.pushed()
    assert codecs == [CompressionCodec.NONE, CompressionCodec.GZIP]


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE])
def test_after_a_stale_subscription_it_is_asked_for_at_once(told: Told, code: ErrorCode) -> None:
    told.subscribed()
    told.sleeps()
    told.pushes()
    told.pushed(code)
    told.asks()


@pytest.mark.parametrize("code", [ErrorCode.TELEMETRY_TOO_LARGE, ErrorCode.THROTTLING_QUOTA_EXCEEDED])
def test_after_too_much_the_interval_is_waited(told: Told, code: ErrorCode) -> None:
    told.asks()
    told.reporter.handle_subscription(GetTelemetrySubscriptionsResponse(error_code=code))
    assert told.sleeps() == DEFAULT_PUSH_INTERVAL_MS
    told.subscribed()
    told.sleeps()
    told.pushes()
    told.pushed(code)
    assert told.sleeps() == INTERVAL_MS
    told.asks()


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_after_any_other_error_nothing_is_sent_any_more(told: Told, code: ErrorCode) -> None:
    told.subscribed()
    told.sleeps()
    told.pushes()
    told.pushed(code)
    assert told.wait_ms == NEVER_MS
    told.reporter.initiate_close()
    assert told.wait_ms == NEVER_MS


def test_a_broker_without_telemetry_is_not_asked_again(told: Told) -> None:
    told.asks()
    told.reporter.handle_unsupported_version()
    assert told.wait_ms == NEVER_MS


def test_after_a_disconnection_it_is_asked_for_in_five_minutes(told: Told) -> None:
    told.asks()
    told.reporter.handle_disconnect()
    assert told.sleeps() == DEFAULT_PUSH_INTERVAL_MS
    told.asks()


def test_a_broker_that_gives_no_id_is_left_alone(told: Told) -> None:
    told.subscribed(client_instance_id=ZERO_UUID)
    assert told.wait_ms == NEVER_MS
    assert told.reporter.client_instance_id is None


def test_a_change_of_temporality_starts_sums_anew(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    resets = []
    monkeypatch.setattr(MetricsCollector, "reset", lambda _: resets.append(1))
    for delta in (True, True, False):
        told.subscribed(delta_temporality=delta, requested_metrics=[])
        told.sleeps()
    assert resets == [1]


@pytest.mark.parametrize("pushes", [False, True])
def test_the_last_push_goes_at_once_and_what_is_answered_later_does_not_count(told: Told, *, pushes: bool) -> None:
    told.subscribed()
    if pushes:
        told.sleeps()
        told.pushes()
    told.reporter.initiate_close()
    told.reporter.initiate_close()
    told.pushed()
    assert told.pushes().terminating
    told.pushed(ErrorCode.INVALID_REQUEST)
    told.reporter.handle_disconnect()
    told.reporter.handle_unsupported_version()
    assert told.reporter.state is TelemetryState.TERMINATING_PUSH_IN_PROGRESS
    told.reporter.close()
    told.reporter.close()
    assert told.reporter.state is TelemetryState.TERMINATED


def ask(told: Told) -> None:
    told.asks()


def want_nothing(told: Told) -> None:
    told.subscribed(requested_metrics=[])


@pytest.mark.parametrize("before", [lambda _: None, ask, want_nothing], ids=["unasked", "asked", "nothing wanted"])
def test_without_anything_wanted_there_is_no_last_push(told: Told, before: Callable[[Told], None]) -> None:
    before(told)
    told.reporter.initiate_close()
    assert told.reporter.state in (TelemetryState.SUBSCRIPTION_NEEDED, TelemetryState.SUBSCRIPTION_IN_PROGRESS)
    told.reporter.close()
    assert told.wait_ms == NEVER_MS


def test_who_waits_for_the_id_is_called_once(told: Told) -> None:
    called: list[str] = []
    told.reporter.on_subscription(lambda: called.append("early"))
    forgotten = lambda: called.append("forgotten")  # noqa: E731 - the same function has to be given twice
    told.reporter.on_subscription(forgotten)
    told.reporter.forget(forgotten)
    told.subscribed(requested_metrics=[])
    told.reporter.on_subscription(lambda: called.append("late"))
    assert called == ["early", "late"]
