"""Batches and records as the Sender sees them: of the producer, and of each topic. Mirrors Sender.SenderMetrics.

Nothing is recorded for a record: a batch is measured when it goes out, each time that it does.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from broker_client.core.metrics.stats import Avg, Max
from protocol_specs.records.batch_builder import MAX_RECORD_OVERHEAD
from protocol_specs.records.batch_peek import RECORD_BATCH_OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.metrics.registry import Metrics, Sensor
    from broker_client.core.metrics.selector_metrics import SelectorMetrics
    from broker_client.metrics import MetricName

__all__ = ["SenderMetrics"]

GROUP: Final = "producer-metrics"
TOPIC_GROUP: Final = "producer-topic-metrics"
# Java measures records by what they may take at most; ours are known by what they take, but for a length of one byte,
# attributes and two deltas of a byte each.
_RECORD_UPPER_BOUND: Final = RECORD_BATCH_OVERHEAD + MAX_RECORD_OVERHEAD - 4
# From these sizes on the length before a record takes a byte more.
_LENGTH_GROWS: Final = tuple((1 << 6 + 7 * more) + more + 1 for more in range(4))


class _TopicSensors:
    __slots__ = ("byte", "compression", "errors", "records", "retries")

    def __init__(self, metrics: Metrics, topic: str) -> None:
        def name(name: str, description: str) -> MetricName:
            return metrics.name(name, TOPIC_GROUP, description, topic=topic)

        def meter(of: str, rate: str, total: str) -> Sensor:
            sensor = metrics.sensor()
            rate_name, total_name = name(f"{of}-rate", f"The average {rate}"), name(f"{of}-total", f"The total {total}")
            sensor.add_meter(rate_name, total_name)
            return sensor

        # Some of Java's descriptions end in a dot.
        sent = "number of records sent"
        self.records = meter("record-send", f"{sent} per second for a topic.", f"{sent} for a topic.")
        sent = "number of bytes sent"
        self.byte = meter("byte", f"{sent} per second for a topic.", f"{sent} for a topic.")
        self.compression = metrics.sensor()
        ratio = (
            "The average compression rate of record batches for a topic, defined as the average ratio of the "
            "compressed batch size over the uncompressed size."
        )
        self.compression.add(name("compression-rate", ratio), Avg)
        again = "number of retried record sends for a topic"
        self.retries = meter("record-retry", f"per-second {again}", again)
        failed = "number of record sends that resulted in errors for a topic"
        self.errors = meter("record-error", f"per-second {failed}", failed)


class SenderMetrics:
    """One Sender's sensors; times are those of the turn."""

    def __init__(
        self,
        metrics: Metrics,
        selector: SelectorMetrics,
        *,
        in_flight: Callable[[], int],
        last_metadata_ms: Callable[[], int],
    ) -> None:
        self._metrics = metrics
        self._selector = selector
        self._topics: dict[str, _TopicSensors] = {}
        per_request = "number of bytes sent per partition per-request."
        self._batch_size = self._average_and_max("batch-size", f"The average {per_request}", f"The max {per_request}")
        self._compression = self._average(
            "compression-rate-avg",
            "The average compression rate of record batches, defined as the average ratio of the compressed batch size "
            "over the uncompressed size.",
        )
        queued = "time in ms record batches spent in the send buffer."
        self._queue_time = self._average_and_max("record-queue-time", f"The average {queued}", f"The maximum {queued}")
        self._request_time = self._average_and_max(
            "request-latency", "The average request latency in ms", "The maximum request latency in ms"
        )
        self._records_per_request = self._meter(
            "record-send", "The average number of records sent per second.", "The total number of records sent."
        )
        average = self._name("records-per-request-avg", "The average number of records per request.")
        self._records_per_request.add(average, Avg)
        again = "number of retried record sends"
        self._retries = self._meter("record-retry", f"The average per-second {again}", f"The total {again}")
        failed = "number of record sends that resulted in errors"
        self._errors = self._meter("record-error", f"The average per-second {failed}", f"The total {failed}")
        self._record_size = self._average_and_max("record-size", "The average record size", "The maximum record size")
        name = self._name("requests-in-flight", "The current number of in-flight requests awaiting a response.")
        metrics.gauge(name, lambda _: float(in_flight()))
        name = self._name("metadata-age", "The age in seconds of the current producer metadata being used.")
        metrics.gauge(name, lambda now_ms: (now_ms - last_metadata_ms()) / 1000)
        self._splits = self._meter(
            "batch-split", "The average number of batch splits per second", "The total number of batch splits"
        )
        throttled = "time in ms a request was throttled by a broker"
        self.throttle_time = self._average_and_max(
            "produce-throttle-time", f"The average {throttled}", f"The maximum {throttled}"
        )

    def sent(self, batches: Iterable[ProducerBatch], now_ms: int) -> None:
        """A node's batches go out in one request. Mirrors updateProduceRequestMetrics."""
        records = 0
        for batch in batches:
            topic = batch.topic_partition.topic
            sensors = self._topics.get(topic)
            if sensors is None:
                sensors = self._topics[topic] = _TopicSensors(self._metrics, topic)
            count, size = batch.record_count, batch.estimated_size_in_bytes
            ratio = batch.compression_ratio
            sensors.records.record(count, now_ms)
            sensors.byte.record(size, now_ms)
            sensors.compression.record(ratio, now_ms)
            self._batch_size.record(size, now_ms)
            self._queue_time.record(batch.drained_ms - batch.created_ms, now_ms)
            self._compression.record(ratio, now_ms)
            self._record_size.record(_upper_bound(batch.max_record_size), now_ms)
            records += count
        self._records_per_request.record(records, now_ms)

    def retried(self, batch: ProducerBatch) -> None:
        """A batch goes again."""
        now_ms = self._metrics.now_ms()
        self._retries.record(batch.record_count, now_ms)
        sensors = self._topics.get(batch.topic_partition.topic)
        if sensors is not None:
            sensors.retries.record(batch.record_count, now_ms)

    def failed(self, batch: ProducerBatch) -> None:
        """A batch has failed for good."""
        now_ms = self._metrics.now_ms()
        self._errors.record(batch.record_count, now_ms)
        sensors = self._topics.get(batch.topic_partition.topic)
        if sensors is not None:
            sensors.errors.record(batch.record_count, now_ms)

    def refused(self) -> None:
        """A record was not even appended."""
        self._errors.record(1.0, self._metrics.now_ms())

    def split(self) -> None:
        """A batch was too large for the broker."""
        self._splits.record(1.0, self._metrics.now_ms())

    def responded(self, node_id: int, latency_ms: int, now_ms: int) -> None:
        """Record the response of a node to a Produce request."""
        self._request_time.record(latency_ms, now_ms)
        self._selector.latency(node_id, latency_ms, now_ms)

    # How the sensors are made

    def _name(self, name: str, description: str) -> MetricName:
        return self._metrics.name(name, GROUP, description)

    def _average(self, name: str, description: str) -> Sensor:
        sensor = self._metrics.sensor()
        sensor.add(self._name(name, description), Avg)
        return sensor

    def _average_and_max(self, name: str, average: str, largest: str) -> Sensor:
        sensor = self._average(f"{name}-avg", average)
        sensor.add(self._name(f"{name}-max", largest), Max)
        return sensor

    def _meter(self, name: str, rate: str, total: str) -> Sensor:
        sensor = self._metrics.sensor()
        sensor.add_meter(self._name(f"{name}-rate", rate), self._name(f"{name}-total", total))
        return sensor


def _upper_bound(size: int) -> int:
    """A record's size as Java counts it: the most that a batch of this one record may take."""
    return size - bisect_right(_LENGTH_GROWS, size) + _RECORD_UPPER_BOUND
