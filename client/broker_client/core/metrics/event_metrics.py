"""The queues between the application's thread and the network thread, and the time that the latter takes.

Mirrors AsyncConsumerMetrics: Java has them with group.protocol=consumer and in share consumers. An application event is
a call, a background event the call of a listener or callback; without a thread of its own a consumer queues neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.metrics.client_metrics import MetricGroup

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.metrics.registry import Metrics

__all__ = ["EventMetrics", "EventQueue"]


class EventQueue:
    """The events in one direction; called from both threads."""

    def __init__(
        self,
        metrics: Metrics,
        group: MetricGroup,
        name: str,
        way: str,
        waits: tuple[str, str],
        processing: tuple[str, str],
    ) -> None:
        self._metrics = metrics
        self._put = 0
        self._taken = 0
        described = f"The current number of events in the queue to send from the {way}."
        group.gauge(f"{name}-queue-size", described, lambda _: float(max(self._put - self._taken, 0)))
        self._time = group.average_and_max(
            f"{name}-queue-time",
            f"The average time, in milliseconds, {waits[0]} to be dequeued.",
            f"The maximum time, in milliseconds, {waits[1]} to be dequeued.",
        )
        self._processing = group.average_and_max(f"{name}-queue-processing-time", *processing)

    def put(self) -> int:
        """An event waits from now on; return the time in ms."""
        self._put += 1
        return self._metrics.now_ms()

    def taken(self, put_ms: int) -> int:
        """An event that was put at that time is processed now; return the time in ms."""
        self._taken += 1
        now_ms = self._metrics.now_ms()
        self._time.record(now_ms - put_ms, now_ms)
        return now_ms

    def processed(self, taken_ms: int) -> None:
        """An event that was taken at that time has been processed."""
        now_ms = self._metrics.now_ms()
        self._processing.record(now_ms - taken_ms, now_ms)


class EventMetrics:
    """`application` has the calls, `background` the callbacks; `group_name` is that of the metrics."""

    def __init__(self, metrics: Metrics, unsent_count: Callable[[], int], group_name: str) -> None:
        self._polled_ms: int | None = None
        self._expired = 0
        group = MetricGroup(metrics, group_name)
        between = "time taken, in milliseconds, between each poll in the network thread."
        self._between = group.average_and_max(
            "time-between-network-thread-poll", f"The average {between}", f"The maximum {between}"
        )
        takes = "that the background thread {} to process all available application events."
        self.application = EventQueue(
            metrics,
            group,
            "application-event",
            "application thread to the background thread",
            ("that application events are taking", "that an application event took"),
            (
                f"The average time, in milliseconds, {takes.format('takes')}",
                f"The maximum time, in milliseconds, {takes.format('took')}",
            ),
        )
        described = "The current number of expired application events."
        group.gauge("application-events-expired-count", described, lambda _: float(self._expired))
        self.background = EventQueue(
            metrics,
            group,
            "background-event",
            "background thread to the application thread",
            ("that background events are taking", "that background events are taking"),
            (
                "The average time, in milliseconds, that the consumer took to process all available background events.",
                "The maximum time, in milliseconds, that the consumer took to process all available background events.",
            ),
        )
        described = "The current number of unsent requests in the background thread."
        group.gauge("unsent-requests-queue-size", described, lambda _: float(unsent_count()))
        self._unsent = group.average_and_max(
            "unsent-requests-queue-time",
            "The average time, in milliseconds, that requests are taking to be sent in the background thread.",
            "The maximum time, in milliseconds, that a request remained unsent in the background thread.",
        )

    def polled(self, now_ms: int) -> None:
        """The network thread runs an iteration."""
        if self._polled_ms is not None:
            self._between.record(now_ms - self._polled_ms, now_ms)
        self._polled_ms = now_ms

    def sent(self, waited_ms: int, now_ms: int) -> None:
        """A request was sent after that time."""
        self._unsent.record(waited_ms, now_ms)

    def expired(self) -> None:
        """A call reached its deadline."""
        self._expired += 1
