"""The periodic tasks of a broker's logs: retention and the log cleaner. Mirrors LogManager and LogCleaner.

Retention checks every log without compaction each `log.retention.check.interval.ms`. The cleaner mirrors one cleaner
thread: it cleans the dirtiest log first until no log is dirty enough, then applies retention to the compacted logs,
and then waits for `log.cleaner.backoff.ms`. A log with unreadable records is marked uncleanable and skipped from then
on. Without a compacted log the cleaner has no timer, so that idle virtual hours cost no events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_sim.log.compaction import clean, log_to_clean
from broker_sim.log.retention import delete_old_segments
from protocol_specs.errors import RecordBatchError
from sim_runtime.repeating_call import RepeatingCall

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.log.compaction import LogToClean
    from broker_sim.log.replica_log import ReplicaLog
    from broker_sim.topic_partition import TopicPartition
    from sim_runtime.interfaces import IReactor

_log = Logger()

INITIAL_TASK_DELAY_MS: Final = 30_000
"""The delay from a broker's start to its first retention check; 4.x has a configuration for it."""


class LogManager:
    """The periodic tasks of one broker incarnation. `log_start_moved` is called for each log whose start has moved."""

    def __init__(
        self,
        *,
        reactor: IReactor,
        config: BrokerConfig,
        now_ms: Callable[[], int],
        logs: Callable[[], Mapping[TopicPartition, ReplicaLog]],
        log_start_moved: Callable[[TopicPartition], None],
    ) -> None:
        self._now_ms = now_ms
        self._logs = logs
        self._log_start_moved = log_start_moved
        self._uncleanable: dict[ReplicaLog, None] = {}
        initial_delay_ms = config.values.get("log.initial.task.delay.ms", INITIAL_TASK_DELAY_MS)
        interval_ms = config["log.retention.check.interval.ms"]
        assert isinstance(initial_delay_ms, int)
        assert isinstance(interval_ms, int)
        self._reactor = reactor
        self._initial_delay_ms = initial_delay_ms
        self._retention = RepeatingCall(reactor, interval_ms, self.delete_old_segments)
        self._started = False
        self._cleaner_backoff_ms = 0
        self._cleaner: RepeatingCall | None = None
        if config["log.cleaner.enable"]:
            self.reconfigure(config)

    def start(self) -> None:
        """Start both tasks."""
        self._started = True
        self._retention.start(initial_delay_ms=self._initial_delay_ms)
        if any(log.config.compact for log in self._logs().values()):
            self.wake_cleaner()

    def wake_cleaner(self) -> None:
        """Start the cleaner, because a compacted log exists now."""
        if self._started and self._cleaner is not None and not self._cleaner.running:
            self._cleaner.start()

    def reconfigure(self, config: BrokerConfig) -> None:
        """Apply a new `log.cleaner.backoff.ms`. Mirrors LogCleaner.reconfigure."""
        backoff_ms = config["log.cleaner.backoff.ms"]
        assert isinstance(backoff_ms, int)
        backoff_ms = max(backoff_ms, 1)
        if not config["log.cleaner.enable"] or backoff_ms == self._cleaner_backoff_ms:
            return
        self._cleaner_backoff_ms = backoff_ms
        old, self._cleaner = self._cleaner, RepeatingCall(self._reactor, backoff_ms, self.clean)
        if old is not None and old.running:
            old.stop()
            self._cleaner.start()

    def stop(self) -> None:
        """Stop both tasks."""
        self._started = False
        self._retention.stop()
        if self._cleaner is not None:
            self._cleaner.stop()

    def delete_old_segments(self) -> None:
        """Run one retention check. Mirrors LogManager.cleanupLogs."""
        for topic_partition, log in self._logs().items():
            if self._cleaner is None or not log.config.compact:
                self._delete_old_segments(topic_partition, log)

    def clean(self) -> None:
        """Compact the logs that are due, then apply retention to compacted logs. Mirrors CleanerThread."""
        compacted = {topic_partition: log for topic_partition, log in self._logs().items() if log.config.compact}
        if not compacted and self._cleaner is not None:
            self._cleaner.stop()
        for log in self._uncleanable:
            compacted.pop(log.topic_partition, None)
        while compacted and (dirtiest := self._dirtiest(compacted)) is not None:
            try:
                clean(dirtiest, self._now_ms())
            except RecordBatchError as error:
                partition = dirtiest.log.topic_partition
                _log.warn("log cleaner: marking log={log} as uncleanable: {error}", log=partition, error=error)
                self._uncleanable[dirtiest.log] = None
                del compacted[partition]
        for topic_partition, log in compacted.items():
            self._delete_old_segments(topic_partition, log)

    def _dirtiest(self, logs: Mapping[TopicPartition, ReplicaLog]) -> LogToClean | None:
        now_ms = self._now_ms()
        due = [cleanable for log in logs.values() if (cleanable := log_to_clean(log, now_ms)).due]
        return max(due, key=_cleanable_ratio, default=None)

    def _delete_old_segments(self, topic_partition: TopicPartition, log: ReplicaLog) -> None:
        before = log.log_start_offset
        delete_old_segments(log, self._now_ms())
        if log.log_start_offset != before:
            self._log_start_moved(topic_partition)


def _cleanable_ratio(cleanable: LogToClean) -> float:
    return cleanable.cleanable_ratio
