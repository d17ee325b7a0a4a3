"""The membership of a consumer: heartbeats, joins, rebalances, commits, calls of the listener.

Mirrors GroupCoordinatorMetrics, ConsumerCoordinatorMetrics, and the managers of the consumer and the share protocol
(ConsumerRebalanceMetricsManager, ShareRebalanceMetricsManager, HeartbeatMetricsManager, OffsetCommitMetricsManager,
RebalanceCallbackMetricsManager).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from broker_client.core.metrics.client_metrics import MetricGroup
from broker_client.core.metrics.stats import HOURS, CumulativeSum, Max

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.metrics.registry import Metrics, Sensor

__all__ = ["CoordinatorMetrics", "MembershipMetrics", "ShareCoordinatorMetrics"]

GROUP: Final = "consumer-coordinator-metrics"
SHARE_GROUP: Final = "consumer-share-coordinator-metrics"
_MS: Final = 1_000


class _Words(NamedTuple):
    """How Java describes rebalances in one protocol."""

    average: str
    largest: str
    total: str
    events: str
    note: str
    last: str


_RETRIED: Final = "composed of several failed re-trials until it succeeded"
_TAKEN: Final = f"time taken for a group to complete a successful rebalance, which may be {_RETRIED}"
_CLASSIC: Final = _Words(
    average=f"The average {_TAKEN}",
    largest=f"The max {_TAKEN}",
    total="The total number of milliseconds this consumer has spent in successful rebalances since creation",
    events="successful rebalance events",
    note=f", each event is {_RETRIED}",
    last="The number of seconds since the last successful rebalance event",
)
_BROKER_ASSIGNED: Final = _Words(
    average="The average time in ms taken for a group to complete a rebalance",
    largest="The max time in ms taken for a group to complete a rebalance",
    total="The total number of milliseconds spent in rebalances",
    events="rebalance events",
    note="",
    last="The number of seconds since the last rebalance event",
)


class MembershipMetrics:
    """The heartbeats of a member; the sensor of its rebalances is for subclasses to use."""

    def __init__(self, metrics: Metrics, group: MetricGroup) -> None:
        self._metrics = metrics
        self._group = group
        self._heartbeat_ms: int | None = None
        self._rebalance_began_ms: int | None = None
        self._rebalanced_ms: int | None = None
        self._rebalance = group.sensor()
        self._heartbeat = group.sensor()
        described = "The max time taken to receive a response to a heartbeat request"
        self._heartbeat.add(group.name("heartbeat-response-time-max", described), Max)
        self._counted("heartbeat", "heartbeats", self._heartbeat)
        group.gauge(
            "last-heartbeat-seconds-ago",
            "The number of seconds since the last coordinator heartbeat was sent",
            lambda now_ms: _seconds_since(self._heartbeat_ms, now_ms),
        )

    @property
    def now_ms(self) -> int:
        """The client's clock."""
        return self._metrics.now_ms()

    def heartbeat_sent(self) -> None:
        """A heartbeat goes to the coordinator."""
        self._heartbeat_ms = self._metrics.now_ms()

    def heartbeat(self, latency_ms: int) -> None:
        """The coordinator has accepted a heartbeat."""
        self._heartbeat.record(latency_ms, self._metrics.now_ms())

    def rebalance_began(self) -> None:
        """A rebalance begins, unless one has begun already."""
        if self._rebalance_began_ms is None:
            self._rebalance_began_ms = self._metrics.now_ms()

    def rebalanced(self) -> None:
        """The rebalance has succeeded."""
        now_ms = self._rebalanced_ms = self._metrics.now_ms()
        if self._rebalance_began_ms is not None:
            self._rebalance.record(now_ms - self._rebalance_began_ms, now_ms)
        self._rebalance_began_ms = None

    def rebalance_ended(self) -> None:
        """The member has left or was fenced, perhaps during a rebalance."""
        self._rebalance_began_ms = None

    # How the sensors are made

    def _counted(self, name: str, what: str, sensor: Sensor) -> None:
        self._group.meter(name, f"The number of {what} per second", f"The total number of {what}", sensor, counts=True)

    def _per_hour(self, name: str, what: str, sensor: Sensor, each: str = "") -> Sensor:
        rate, total = f"The number of {what} per hour{each}", f"The total number of {what}{each}"
        return self._group.meter(name, rate, total, sensor, counts=True, unit=HOURS, per="rate-per-hour")


class ShareCoordinatorMetrics(MembershipMetrics):
    """The sensors of one share consumer: failed rebalances are not counted."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(metrics, MetricGroup(metrics, SHARE_GROUP))
        self._per_hour("rebalance", "rebalance events", self._rebalance)


class CoordinatorMetrics(MembershipMetrics):
    """The sensors of one consumer; members join and sync in the classic protocol alone."""

    def __init__(self, metrics: Metrics, *, is_classic: bool, assigned_count: Callable[[], int]) -> None:
        group = MetricGroup(metrics, GROUP)
        super().__init__(metrics, group)
        self._join = self._sync = None
        if is_classic:
            self._join = self._timed("join-time", "a group rejoin")
            self._counted("join", "group joins", self._join)
            self._sync = self._timed("sync-time", "a group sync")
            self._counted("sync", "group syncs", self._sync)
        words = _CLASSIC if is_classic else _BROKER_ASSIGNED
        group.average_and_max("rebalance-latency", words.average, words.largest, self._rebalance)
        self._rebalance.add(group.name("rebalance-latency-total", words.total), CumulativeSum)
        self._per_hour("rebalance", words.events, self._rebalance, words.note)
        self._failed = self._per_hour("failed-rebalance", "failed rebalance events", group.sensor())
        self._commit = self._timed("commit-latency", "a commit request")
        self._counted("commit", "commit calls", self._commit)
        self._callbacks = {
            what: self._timed(f"partition-{what}-latency", f"a partition-{what} rebalance listener callback")
            for what in ("revoked", "assigned", "lost")
        }
        group.gauge(
            "assigned-partitions",
            "The number of partitions currently assigned to this consumer",
            lambda _: float(assigned_count()),
        )
        group.gauge(
            "last-rebalance-seconds-ago",
            words.last,
            lambda now_ms: _seconds_since(self._rebalanced_ms, now_ms),
        )

    def joined(self, latency_ms: int) -> None:
        """The coordinator has accepted a JoinGroup."""
        if self._join is not None:
            self._join.record(latency_ms, self._metrics.now_ms())

    def synced(self, latency_ms: int) -> None:
        """The coordinator has accepted a SyncGroup."""
        if self._sync is not None:
            self._sync.record(latency_ms, self._metrics.now_ms())

    def committed(self, latency_ms: int) -> None:
        """The coordinator has responded to a commit."""
        self._commit.record(latency_ms, self._metrics.now_ms())

    def rebalance_failed(self) -> None:
        """An attempt has failed; the rebalance goes on."""
        self._failed.record(1.0, self._metrics.now_ms())

    def rebalance_ended(self) -> None:
        """The member has left or was fenced: a rebalance that had begun has failed."""
        if self._rebalance_began_ms is not None:
            self._rebalance_began_ms = None
            self.rebalance_failed()

    def called_back(self, what: str, latency_ms: int) -> None:
        """The listener was called for partitions that were revoked, assigned or lost."""
        self._callbacks[what].record(latency_ms, self._metrics.now_ms())

    # How the sensors are made

    def _timed(self, name: str, taken_for: str) -> Sensor:
        return self._group.average_and_max(
            name, f"The average time taken for {taken_for}", f"The max time taken for {taken_for}"
        )


def _seconds_since(time_ms: int | None, now_ms: int) -> float:
    return -1.0 if time_ms is None else float((now_ms - time_ms) // _MS)
