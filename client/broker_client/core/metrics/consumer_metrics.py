"""All sensors of one consumer, and the times of its calls.

Mirrors KafkaConsumerMetrics and KafkaShareConsumerMetrics, and how the constructors of the consumers share Metrics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_client.core.metrics.client_metrics import MetricGroup, TimeTotal, register_app_info
from broker_client.core.metrics.coordinator_metrics import CoordinatorMetrics, ShareCoordinatorMetrics
from broker_client.core.metrics.event_metrics import EventMetrics
from broker_client.core.metrics.fetch_metrics import FetchMetrics, ShareFetchMetrics
from broker_client.core.metrics.registry import Metrics, RecordingLevel
from broker_client.core.metrics.selector_metrics import SelectorMetrics
from broker_client.core.metrics.stats import Avg, CumulativeSum, MetricConfig
from broker_client.core.producer.sender_loop import now_ms_of
from sim_runtime.version import VERSION

if TYPE_CHECKING:
    from broker_client.core.consumer.subscription_state import SubscriptionState
    from broker_client.core.network.client_core import ClientCore
    from broker_client.metrics import MetricsSnapshot
    from broker_client.records import TopicPartition

__all__ = ["AnyConsumerMetrics", "ConsumerMetrics", "MetricOptions", "ShareConsumerMetrics"]

PREFIX: Final = "consumer"
GROUP: Final = "consumer-metrics"
SHARE_GROUP: Final = "consumer-share-metrics"
_MS: Final = 1_000


@dataclass(slots=True, kw_only=True, frozen=True)
class MetricOptions:
    """metrics.num.samples, metrics.sample.window.ms, metrics.recording.level and enable.metrics.push."""

    samples: int = 2
    window_ms: int = 30_000
    level: str = "INFO"
    push: bool = True


class AnyConsumerMetrics:
    """The metrics that consumers and share consumers have in common; `registry` has every metric."""

    fetches: FetchMetrics | ShareFetchMetrics

    def __init__(self, core: ClientCore, options: MetricOptions, group: str) -> None:
        self._reactor = core.reactor
        self._last_poll_ms: int | None = None
        self._poll_began_ms = 0
        self._between_polls_ms = 0
        self.registry = Metrics(
            config=MetricConfig(samples=options.samples, window_ms=options.window_ms),
            now_ms=lambda: now_ms_of(core.reactor),
            tags={"client-id": core.options.network.client_id},
            level=RecordingLevel[options.level],
        )
        self.selector = SelectorMetrics(self.registry, lambda: core.client.selector.connection_count, prefix=PREFIX)
        self.events: EventMetrics | None = None
        self._add_polls(MetricGroup(self.registry, group))
        register_app_info(self.registry, VERSION)
        core.measure_with(self.selector)

    def poll_began(self) -> None:
        """The application calls poll."""
        now_ms = self._poll_began_ms = now_ms_of(self._reactor)
        self._between_polls_ms = 0 if self._last_poll_ms is None else now_ms - self._last_poll_ms
        self._between.record(self._between_polls_ms, now_ms)
        self._last_poll_ms = now_ms

    def poll_ended(self) -> None:
        """The poll returns or raises."""
        now_ms = now_ms_of(self._reactor)
        polled_ms = now_ms - self._poll_began_ms
        total_ms = polled_ms + self._between_polls_ms
        if total_ms > 0:  # Java records 0/0, and its average is then no number for ever
            self._idle.record(polled_ms / total_ms, now_ms)

    def fetched(self, node_id: int, latency_ms: int) -> None:
        """A node has responded to a Fetch, ShareFetch or ShareAcknowledge request."""
        self.fetches.responded(latency_ms)
        self.selector.latency(node_id, latency_ms, now_ms_of(self._reactor))

    def read(self) -> MetricsSnapshot:
        """The present values of all metrics; from any thread."""
        return self.registry.read()

    def _add_polls(self, group: MetricGroup) -> None:
        group.gauge(
            "last-poll-seconds-ago",
            "The number of seconds since the last poll() invocation.",
            lambda now_ms: -1.0 if self._last_poll_ms is None else float((now_ms - self._last_poll_ms) // _MS),
        )
        self._between = group.average_and_max(
            "time-between-poll",
            "The average delay between invocations of poll() in milliseconds.",
            "The max delay between invocations of poll() in milliseconds.",
        )
        self._idle = group.sensor()
        idle = (
            "The average fraction of time the consumer's poll() is idle as opposed to waiting for the user code to "
            "process records."
        )
        self._idle.add(group.name("poll-idle-ratio-avg", idle), Avg)


class ShareConsumerMetrics(AnyConsumerMetrics):
    """The metrics of a share consumer."""

    fetches: ShareFetchMetrics

    def __init__(self, core: ClientCore, options: MetricOptions) -> None:
        super().__init__(core, options, SHARE_GROUP)
        self.fetches = ShareFetchMetrics(self.registry)
        self.coordinator = ShareCoordinatorMetrics(self.registry)
        self.events = core.event_metrics = EventMetrics(self.registry, lambda: core.unsent_count, SHARE_GROUP)
        core.client.throttle_time = self.fetches.throttle_time


class ConsumerMetrics(AnyConsumerMetrics):
    """The metrics of a consumer; `coordinator` is None without a group."""

    fetches: FetchMetrics

    def __init__(
        self, core: ClientCore, options: MetricOptions, subscriptions: SubscriptionState, *, group_protocol: str | None
    ) -> None:
        super().__init__(core, options, GROUP)

        def replica(key: TopicPartition) -> int:
            state = subscriptions.states.get(key)
            return -1 if state is None or state.preferred_replica is None else state.preferred_replica

        self.fetches = FetchMetrics(self.registry, replica)
        self.coordinator = (
            CoordinatorMetrics(
                self.registry,
                is_classic=group_protocol != "consumer",
                assigned_count=lambda: len(subscriptions.states),
            )
            if group_protocol is not None
            else None
        )
        if group_protocol == "consumer":
            self.events = core.event_metrics = EventMetrics(self.registry, lambda: core.unsent_count, GROUP)
        self._add_calls(MetricGroup(self.registry, GROUP))
        core.client.throttle_time = self.fetches.throttle_time

    def _add_calls(self, group: MetricGroup) -> None:
        def total(name: str, call: str) -> TimeTotal:
            sensor = group.sensor()
            described = f"The total time the consumer has spent in {call} in nanoseconds"
            sensor.add(group.name(f"{name}-time-ns-total", described), CumulativeSum)
            return TimeTotal(sensor, self._reactor)

        self.commit_sync = total("commit-sync", "commitSync")
        self.committed = total("committed", "committed")
