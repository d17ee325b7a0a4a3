"""When a client requests, pushes, waits and stops: one broker's responses, one clock, no network."""

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


class Reported:
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

    def requests(self) -> GetTelemetrySubscriptionsRequest:
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
        self.requests()
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
def reported() -> Reported:
    return Reported()


def test_the_first_question_has_no_id_and_the_next_has_the_one_that_was_given(reported: Reported) -> None:
    assert reported.requests().client_instance_id == ZERO_UUID
    reported.reporter.handle_subscription(
        GetTelemetrySubscriptionsResponse(client_instance_id=CLIENT, push_interval_ms=INTERVAL_MS)
    )
    assert reported.reporter.client_instance_id == CLIENT
    assert reported.sleeps() == INTERVAL_MS  # an empty subscription: requested again, without jitter
    assert reported.requests().client_instance_id == CLIENT


def test_the_first_push_is_spread_and_the_others_keep_the_interval(reported: Reported) -> None:
    reported.subscribed()
    assert INTERVAL_MS / 2 <= reported.sleeps() <= INTERVAL_MS * 3 / 2
    request = reported.pushes()
    assert (request.client_instance_id, request.subscription_id, request.terminating) == (CLIENT, 7, False)
    reported.pushed()
    assert reported.sleeps() == INTERVAL_MS
    reported.pushes()


def test_an_interval_that_is_none_is_five_minutes(reported: Reported) -> None:
    reported.subscribed(push_interval_ms=0, requested_metrics=[])
    assert reported.wait_ms == DEFAULT_PUSH_INTERVAL_MS


def test_the_brokers_first_codec_is_used(reported: Reported) -> None:
    reported.subscribed(accepted_compression_types=[99, CompressionCodec.GZIP, CompressionCodec.LZ4])
    reported.sleeps()
    request = reported.pushes()
    assert request.compression_type == CompressionCodec.GZIP
    points, resource = read_metrics_data(bytes(decompress(CompressionCodec.GZIP, request.metrics, limit_bytes=10_000)))
    assert [point.name for point in points] == ["org.apache.kafka.kafka.count.count"]
    assert resource == [("a", "b")]


def test_a_codec_that_is_not_installed_is_not_tried_again(reported: Reported, monkeypatch: pytest.MonkeyPatch) -> None:
    def compress(codec: CompressionCodec, payload: bytes) -> bytes:
        if codec is CompressionCodec.ZSTD:
            raise ProtocolError("no zstd here")
        return b"packed" + payload

    monkeypatch.setattr(telemetry_reporter, "compress", compress)
    reported.subscribed(accepted_compression_types=[CompressionCodec.ZSTD, CompressionCodec.GZIP])
    codecs = []
    for _ in range(2):
        reported.sleeps()
        codecs.append(reported.pushes().compression_type)
        reported.pushed()
    assert codecs == [CompressionCodec.NONE, CompressionCodec.GZIP]


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE])
def test_after_a_stale_subscription_it_is_requested_at_once(reported: Reported, code: ErrorCode) -> None:
    reported.subscribed()
    reported.sleeps()
    reported.pushes()
    reported.pushed(code)
    reported.requests()


@pytest.mark.parametrize("code", [ErrorCode.TELEMETRY_TOO_LARGE, ErrorCode.THROTTLING_QUOTA_EXCEEDED])
def test_after_too_much_the_interval_is_waited(reported: Reported, code: ErrorCode) -> None:
    reported.requests()
    reported.reporter.handle_subscription(GetTelemetrySubscriptionsResponse(error_code=code))
    assert reported.sleeps() == DEFAULT_PUSH_INTERVAL_MS
    reported.subscribed()
    reported.sleeps()
    reported.pushes()
    reported.pushed(code)
    assert reported.sleeps() == INTERVAL_MS
    reported.requests()


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_after_any_other_error_nothing_is_sent_any_more(reported: Reported, code: ErrorCode) -> None:
    reported.subscribed()
    reported.sleeps()
    reported.pushes()
    reported.pushed(code)
    assert reported.wait_ms == NEVER_MS
    reported.reporter.initiate_close()
    assert reported.wait_ms == NEVER_MS


def test_a_broker_without_telemetry_gets_no_more_requests(reported: Reported) -> None:
    reported.requests()
    reported.reporter.handle_unsupported_version()
    assert reported.wait_ms == NEVER_MS


def test_after_a_disconnection_it_is_requested_in_five_minutes(reported: Reported) -> None:
    reported.requests()
    reported.reporter.handle_disconnect()
    assert reported.sleeps() == DEFAULT_PUSH_INTERVAL_MS
    reported.requests()


def test_a_broker_that_gives_no_id_is_left_alone(reported: Reported) -> None:
    reported.subscribed(client_instance_id=ZERO_UUID)
    assert reported.wait_ms == NEVER_MS
    assert reported.reporter.client_instance_id is None


def test_a_change_of_temporality_starts_sums_anew(reported: Reported, monkeypatch: pytest.MonkeyPatch) -> None:
    resets = []
    monkeypatch.setattr(MetricsCollector, "reset", lambda _: resets.append(1))
    for delta in (True, True, False):
        reported.subscribed(delta_temporality=delta, requested_metrics=[])
        reported.sleeps()
    assert resets == [1]


@pytest.mark.parametrize("pushes", [False, True])
def test_the_last_push_goes_at_once_and_later_responses_do_not_count(reported: Reported, *, pushes: bool) -> None:
    reported.subscribed()
    if pushes:
        reported.sleeps()
        reported.pushes()
    reported.reporter.initiate_close()
    reported.reporter.initiate_close()
    reported.pushed()
    assert reported.pushes().terminating
    reported.pushed(ErrorCode.INVALID_REQUEST)
    reported.reporter.handle_disconnect()
    reported.reporter.handle_unsupported_version()
    assert reported.reporter.state is TelemetryState.TERMINATING_PUSH_IN_PROGRESS
    reported.reporter.close()
    reported.reporter.close()
    assert reported.reporter.state is TelemetryState.TERMINATED


def send_request(reported: Reported) -> None:
    reported.requests()


def want_nothing(reported: Reported) -> None:
    reported.subscribed(requested_metrics=[])


@pytest.mark.parametrize(
    "before", [lambda _: None, send_request, want_nothing], ids=["before", "during", "nothing wanted"]
)
def test_without_anything_wanted_there_is_no_last_push(reported: Reported, before: Callable[[Reported], None]) -> None:
    before(reported)
    reported.reporter.initiate_close()
    assert reported.reporter.state in (TelemetryState.SUBSCRIPTION_NEEDED, TelemetryState.SUBSCRIPTION_IN_PROGRESS)
    reported.reporter.close()
    assert reported.wait_ms == NEVER_MS


def test_who_waits_for_the_id_is_called_once(reported: Reported) -> None:
    called: list[str] = []
    reported.reporter.on_subscription(lambda: called.append("early"))
    forgotten = lambda: called.append("forgotten")  # noqa: E731 - the same function has to be given twice
    reported.reporter.on_subscription(forgotten)
    reported.reporter.forget(forgotten)
    reported.subscribed(requested_metrics=[])
    reported.reporter.on_subscription(lambda: called.append("late"))
    assert called == ["early", "late"]
