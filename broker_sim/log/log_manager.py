"""What happens to a broker's logs by time alone: retention, and the log cleaner. Mirrors LogManager and LogCleaner.

Retention looks at every log that is not compacted each `log.retention.check.interval.ms`. The cleaner is one thread
that works as long as a compacted log is dirty enough, the dirtiest first, and then rests for `log.cleaner.backoff.ms`;
retention of compacted logs is its business too. A log whose records cannot be read is left alone from then on. While
no log is compacted the cleaner has no timer at all, so that an idle hour costs nothing.
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
"""How long after its start a broker first looks for what retention lets go; 4.x has a configuration for it."""


class LogManager:
    """The housekeeping of one run of a broker. `log_start_moved` is told of each log whose start has moved."""

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
        """Begin both tasks."""
        self._started = True
        self._retention.start(initial_delay_ms=self._initial_delay_ms)
        if any(log.config.compact for log in self._logs().values()):
            self.wake_cleaner()

    def wake_cleaner(self) -> None:
        """A compacted log has appeared."""
        if self._started and self._cleaner is not None and not self._cleaner.running:
            self._cleaner.start()

    def reconfigure(self, config: BrokerConfig) -> None:
        """Rest for the new `log.cleaner.backoff.ms` from now on. Mirrors LogCleaner.reconfigure."""
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
        """End both tasks."""
        self._started = False
        self._retention.stop()
        if self._cleaner is not None:
            self._cleaner.stop()

    def delete_old_segments(self) -> None:
        """One retention check. Mirrors LogManager.cleanupLogs."""
        for topic_partition, log in self._logs().items():
            if self._cleaner is None or not log.config.compact:
                self._delete_old_segments(topic_partition, log)

    def clean(self) -> None:
        """Compact whatever is due, then let go what retention lets go of compacted logs. Mirrors CleanerThread."""
        compacted = {topic_partition: log for topic_partition, log in self._logs().items() if log.config.compact}
        if not compacted and self._cleaner is not None:
            self._cleaner.stop()
        for log in self._uncleanable:
            compacted.pop(log.topic_partition, None)
        while compacted and (filthiest := self._filthiest(compacted)) is not None:
            try:
                clean(filthiest, self._now_ms())
            except RecordBatchError as error:
                _log.warn("{log} is not compacted: {error}", log=filthiest.log.topic_partition, error=error)
                self._uncleanable[filthiest.log] = None
                del compacted[filthiest.log.topic_partition]
        for topic_partition, log in compacted.items():
            self._delete_old_segments(topic_partition, log)

    def _filthiest(self, logs: Mapping[TopicPartition, ReplicaLog]) -> LogToClean | None:
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
