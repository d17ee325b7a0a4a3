"""Fetches as a consumer sees them: of all, of each topic and of each partition. Mirrors FetchMetricsManager.

The records of a response are counted when all of its partitions have been read (FetchMetricsAggregator). A topic whose
name has a period has its metrics a second time, under the name with underscores, as in Java. A share consumer has the
metrics of all fetches, and those of acknowledgements (ShareFetchMetricsManager).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.metrics.client_metrics import MetricGroup
from broker_client.core.metrics.stats import Avg, Max, Min, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_client.core.metrics.registry import Metrics, Sensor
    from broker_client.metrics import MetricName
    from broker_client.records import TopicPartition

__all__ = ["FetchMetrics", "ResponseMetrics", "ShareFetchMetrics"]

GROUP: Final = "consumer-fetch-manager-metrics"
SHARE_GROUP: Final = "consumer-share-fetch-manager-metrics"
_NOTE: Final = (
    ". Note: For topic names with periods (.), an additional metric with underscores is emitted. However, the periods "
    "replaced metric is deprecated. Please use the metric with actual topic name instead."
)


class _TopicSensors:
    __slots__ = ("bytes", "records")

    def __init__(self, metrics: Metrics, topic: str) -> None:
        group = MetricGroup(metrics, GROUP, note=_NOTE, topic=topic)
        self.bytes, self.records = _consumed(group, " for a topic")


class _PartitionSensors:
    __slots__ = ("_names", "lag", "lead")

    def __init__(self, metrics: Metrics, topic: str, partition: int, read_replica: Callable[[], int]) -> None:
        group = MetricGroup(metrics, GROUP, note=_NOTE, topic=topic, partition=str(partition))
        described = "The current read replica for the partition, or -1 if reading from leader"
        self._names = [group.gauge("preferred-read-replica", described, lambda _: read_replica())]
        self.lag: Sensor | None = None
        self.lead: Sensor | None = None

    def record_lag(self, metrics: Metrics, key: tuple[str, int], lag: int, now_ms: int) -> None:
        if self.lag is None:
            group = MetricGroup(metrics, GROUP, note=_NOTE, topic=key[0], partition=str(key[1]))
            self.lag = group.sensor()
            self.lag.add(group.name("records-lag", "The latest lag of the partition"), Value)
            self.lag.add(group.name("records-lag-max", "The max lag of the partition"), Max)
            self.lag.add(group.name("records-lag-avg", "The average lag of the partition"), Avg)
        self.lag.record(lag, now_ms)

    def record_lead(self, metrics: Metrics, key: tuple[str, int], lead: int, now_ms: int) -> None:
        if self.lead is None:
            group = MetricGroup(metrics, GROUP, note=_NOTE, topic=key[0], partition=str(key[1]))
            self.lead = group.sensor()
            self.lead.add(group.name("records-lead", "The latest lead of the partition"), Value)
            self.lead.add(group.name("records-lead-min", "The min lead of the partition"), Min)
            self.lead.add(group.name("records-lead-avg", "The average lead of the partition"), Avg)
        self.lead.record(lead, now_ms)

    def names(self) -> list[MetricName]:
        """All metrics of the partition."""
        sensors = [sensor for sensor in (self.lag, self.lead) if sensor is not None]
        return [*self._names, *(name for sensor in sensors for name in sensor.names)]


class _AllFetches:
    """The sensors of all fetches together."""

    def __init__(self, metrics: Metrics, group: MetricGroup) -> None:
        self._metrics = metrics
        self.throttle_time = group.average_and_max(
            "fetch-throttle-time", "The average throttle time in ms", "The maximum throttle time in ms"
        )
        self._bytes, self._records = _consumed(group, "")
        self._latency = group.average_and_max(
            "fetch-latency", "The average time taken for a fetch request.", "The max time taken for any fetch request."
        )
        group.meter(
            "fetch",
            "The number of fetch requests per second.",
            "The total number of fetch requests.",
            self._latency,
            counts=True,
        )

    def responded(self, latency_ms: int) -> None:
        """A node has responded to a fetch."""
        self._latency.record(latency_ms, self._metrics.now_ms())

    def consumed(self, by_topic: dict[str, tuple[int, int]]) -> None:
        """All partitions of a response were read: bytes and records by topic."""
        now_ms = self._metrics.now_ms()
        self._bytes.record(sum(count for count, _ in by_topic.values()), now_ms)
        self._records.record(sum(count for _, count in by_topic.values()), now_ms)


class ShareFetchMetrics(_AllFetches):
    """The sensors of one share consumer; a fetch is also a ShareAcknowledge."""

    def __init__(self, metrics: Metrics) -> None:
        group = MetricGroup(metrics, SHARE_GROUP)
        super().__init__(metrics, group)
        largest = "The maximum number of records in a request."
        self._records.add(group.name("records-per-request-max", largest), Max)
        sent = "number of record acknowledgements sent"
        self._sent = group.meter("acknowledgements-send", f"The average {sent} per second.", f"The total {sent}.")
        failed = "number of record acknowledgements that resulted in errors"
        self._failed = group.meter(
            "acknowledgements-error", f"The average {failed} per second.", f"The total {failed}."
        )

    def acknowledgements_sent(self, count: int) -> None:
        """So many records are acknowledged by a request."""
        self._sent.record(count, self._metrics.now_ms())

    def acknowledgements_failed(self, count: int) -> None:
        """A broker has refused the acknowledgements of so many records, or has not responded."""
        self._failed.record(count, self._metrics.now_ms())


class FetchMetrics(_AllFetches):
    """The sensors of one consumer; `read_replica` returns the replica that a partition is read from, -1 its leader."""

    def __init__(self, metrics: Metrics, read_replica: Callable[[TopicPartition], int]) -> None:
        group = MetricGroup(metrics, GROUP)
        super().__init__(metrics, group)
        self._read_replica = read_replica
        self._topics: dict[str, _TopicSensors] = {}
        self._partitions: dict[TopicPartition, dict[str, _PartitionSensors]] = {}
        self._lag = group.sensor()
        lag = (
            "The maximum lag in terms of number of records for any partition in this window. NOTE: This is based on "
            "current offset and not committed offset"
        )
        self._lag.add(group.name("records-lag-max", lag), Max)
        self._lead = group.sensor()
        lead = "The minimum lead in terms of number of records for any partition in this window"
        self._lead.add(group.name("records-lead-min", lead), Min)

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """Have the metrics of these partitions, and of no others. Mirrors maybeUpdateAssignment."""
        wanted = dict.fromkeys(partitions)
        for key in [key for key in self._partitions if key not in wanted]:
            for sensors in self._partitions.pop(key).values():
                self._metrics.remove(sensors.names())
        for key in wanted:
            if key not in self._partitions:
                self._partitions[key] = {
                    name: _PartitionSensors(self._metrics, name, key.partition, self._replica_of(key))
                    for name in _names(key.topic)
                }

    def record_lag(self, key: TopicPartition, lag: int | None, lead: int | None) -> None:
        """A poll has read a partition: how far its position is from the end and from the beginning of the log."""
        now_ms = self._metrics.now_ms()
        found = self._partitions.get(key, {})
        if lag is not None:
            self._lag.record(lag, now_ms)
            for name, sensors in found.items():
                sensors.record_lag(self._metrics, (name, key.partition), lag, now_ms)
        if lead is not None:
            self._lead.record(lead, now_ms)
            for name, sensors in found.items():
                sensors.record_lead(self._metrics, (name, key.partition), lead, now_ms)

    def consumed(self, by_topic: dict[str, tuple[int, int]]) -> None:
        """All partitions of a response were read: bytes and records by topic."""
        super().consumed(by_topic)
        now_ms = self._metrics.now_ms()
        for topic, (byte_count, record_count) in by_topic.items():
            for name in _names(topic):
                sensors = self._topics.get(name)
                if sensors is None:
                    sensors = self._topics[name] = _TopicSensors(self._metrics, name)
                sensors.bytes.record(byte_count, now_ms)
                sensors.records.record(record_count, now_ms)

    def _replica_of(self, key: TopicPartition) -> Callable[[], int]:
        return lambda: self._read_replica(key)


class ResponseMetrics:
    """The partitions of one response until all were read. Mirrors FetchMetricsAggregator."""

    __slots__ = ("_by_topic", "_metrics", "_unread")

    def __init__(self, metrics: FetchMetrics | ShareFetchMetrics, partitions: Iterable[TopicPartition]) -> None:
        self._metrics = metrics
        self._unread = dict.fromkeys(partitions)
        self._by_topic: dict[str, tuple[int, int]] = {}

    def read(self, key: TopicPartition, byte_count: int, record_count: int) -> None:
        """A partition was read, or dropped: so much of it was returned to the application."""
        before = self._by_topic.get(key.topic, (0, 0))
        self._by_topic[key.topic] = before[0] + byte_count, before[1] + record_count
        self._unread.pop(key, None)
        if not self._unread:
            self._metrics.consumed(self._by_topic)


def _consumed(group: MetricGroup, of: str) -> tuple[Sensor, Sensor]:
    """Sensors of the bytes and of the records of a response."""
    fetched = f"number of bytes fetched per request{of}"
    consumed = group.average_and_max("fetch-size", f"The average {fetched}", f"The maximum {fetched}")
    rate, total = f"The average number of bytes consumed per second{of}", f"The total number of bytes consumed{of}"
    group.meter("bytes-consumed", rate, total, consumed)
    records = group.sensor()
    records.add(group.name("records-per-request-avg", f"The average number of records in each request{of}"), Avg)
    rate, total = f"The average number of records consumed per second{of}", f"The total number of records consumed{of}"
    group.meter("records-consumed", rate, total, records)
    return consumed, records


def _names(topic: str) -> tuple[str, ...]:
    return (topic, topic.replace(".", "_")) if "." in topic else (topic,)
