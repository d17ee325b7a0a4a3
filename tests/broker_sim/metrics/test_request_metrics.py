from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from broker_sim.metrics.metric import Histogram, Metric, histogram_of
from broker_sim.metrics.prometheus import render
from broker_sim.metrics.request_metrics import KEPT, TIMED_ALL, TIMED_ONE_OF, RequestMetrics
from protocol_specs.api_key import ApiKey

METADATA_9 = ApiKey.METADATA << 16 | 9


def context(**values: Any) -> Any:
    usual = {
        "api_key": ApiKey.METADATA,
        "api_version": 9,
        "received_us": 1000,
        "dequeued_us": 3000,
        "local_done_us": 6000,
        "remote_done_us": 10_000,
        "throttle_ms": 7,
        "size_bytes": 50,
        "request": None,
        "request_id": 1,
    }
    return SimpleNamespace(**(usual | values))


def histograms(metrics: RequestMetrics) -> dict[str, Histogram]:
    return {each.name: each.value for each in metrics.metrics(1, 1.0) if isinstance(each.value, Histogram)}


def test_the_stages_of_a_request_add_up_to_its_time() -> None:
    metrics = RequestMetrics(lambda: 15_000)
    metrics.counts[METADATA_9] += 1
    metrics.sent(context(), 100, send_us=2000)
    shown = {name: value.max for name, value in histograms(metrics).items()}
    assert shown == {
        "RequestQueueTimeMs": 2.0,
        "LocalTimeMs": 3.0,
        "RemoteTimeMs": 4.0,
        "ThrottleTimeMs": 7.0,
        "ResponseQueueTimeMs": 3.0,
        "ResponseSendTimeMs": 2.0,
        "TotalTimeMs": 14.0,
        "RequestBytes": 50.0,
        "ResponseBytes": 100.0,
    }
    assert metrics.busy_us == 3000


def test_a_request_with_an_immediate_response_is_local_alone() -> None:
    metrics = RequestMetrics(lambda: 5000)
    metrics.counts[METADATA_9] += 1
    metrics.sent(context(local_done_us=-1, remote_done_us=-1, throttle_ms=-1, dequeued_us=1000), 0, 0)
    shown = {name: value.max for name, value in histograms(metrics).items()}
    assert (shown["LocalTimeMs"], shown["RemoteTimeMs"], shown["ThrottleTimeMs"], shown["TotalTimeMs"]) == (4, 0, 0, 4)


def test_every_request_is_counted_and_a_sample_of_many_is_timed() -> None:
    metrics = RequestMetrics(lambda: 15_000)
    many = TIMED_ALL + 100 * TIMED_ONE_OF
    for request_id in range(1, many + 1):
        metrics.counts[METADATA_9] += 1
        if request_id <= TIMED_ALL or not request_id % TIMED_ONE_OF:
            metrics.sent(context(request_id=request_id), 1, 0)
    assert histograms(metrics)["TotalTimeMs"].count == many
    assert metrics.busy_us == many * 3000


def test_no_more_times_are_kept_than_the_limit() -> None:
    metrics = RequestMetrics(lambda: 15_000)
    metrics.counts[METADATA_9] += 1
    for number in range(KEPT + 1):
        metrics.sent(context(size_bytes=number), 1, 0)
    assert histograms(metrics)["RequestBytes"].min == 1


def test_a_histogram_of_nothing_is_all_zero() -> None:
    assert histogram_of([], 0) == Histogram(
        count=0, min=0.0, max=0.0, mean=0.0, p50=0.0, p75=0.0, p95=0.0, p98=0.0, p99=0.0, p999=0.0
    )
    assert histogram_of([3.0, 1.0, 2.0], 3).p50 == 2.0


def test_labels_are_escaped() -> None:
    metric = Metric(
        domain="kafka.server", type="Produce", name="byte-rate", broker=1, tags=(("client-id", 'a"b\\c\nd'),), value=1.5
    )
    assert render([metric]).splitlines()[1] == (
        'kafka_server_produce_byte_rate{broker="1",client_id="a\\"b\\\\c\\nd"} 1.5'
    )
