"""The share coordinator of one broker. Mirrors ShareCoordinatorService (KIP-932).

The handler of an API runs its operations here: a function of the shard that has the share partition. Two jobs run
while the broker leads a partition of `__share_group_state`: old snapshots are written anew, and records that nothing
needs any more are deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.logger import Logger

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.internal_partitions import partition_for
from broker_sim.coordinators.runtime.append_settings import settings_of
from broker_sim.coordinators.runtime.coordinator_record import Log
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from broker_sim.coordinators.runtime.coordinator_runtime import CoordinatorRuntime
from broker_sim.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.coordinators.internal_partitions import InternalPartitions
    from broker_sim.coordinators.runtime.shard import CoordinatorHost, ShardContext
    from broker_sim.coordinators.share.share_partition_key import SharePartitionKey
    from broker_sim.coordinators.share.share_shard import ShareShard

__all__ = ["ShareCoordinator"]

_LINGER: Final = "share.coordinator.append.linger.ms"
_WRITE_TIMEOUT: Final = "share.coordinator.write.timeout.ms"
_CODEC: Final = "share.coordinator.state.topic.compression.codec"
_PRUNE_INTERVAL: Final = "share.coordinator.state.topic.prune.interval.ms"
_COLD_INTERVAL: Final = "share.coordinator.cold.partition.snapshot.interval.ms"
_log = Logger()


class ShareCoordinator:
    """Routes operations to the shards of `__share_group_state` that this broker leads."""

    topic: Final = Log.SHARE_GROUP_STATE.value

    def __init__(self, host: CoordinatorHost, internal_partitions: InternalPartitions) -> None:
        self._host = host
        self._internal_partitions = internal_partitions
        self._jobs: dict[str, IDelayedCall] = {}
        self._pruned: dict[int, int] = {}
        self._stopped = False
        self.runtime: CoordinatorRuntime[ShareShard] = CoordinatorRuntime(
            log=Log.SHARE_GROUP_STATE,
            host=host,
            make_shard=_make_shard,
            settings=settings_of(host, linger=_LINGER, write_timeout=_WRITE_TIMEOUT, codec=_CODEC),
        )

    def _number(self, name: str) -> int:
        """Return a configuration; 0 in a release that does not have it."""
        value = self._host.config.values.get(name, 0)
        assert isinstance(value, int)
        return value

    def write(
        self, key: SharePartitionKey, name: str, operation: Callable[[ShareShard], CoordinatorResult[Any]]
    ) -> Deferred[Any]:
        """Run an operation on a share partition; the Deferred fails with a CoordinatorError if no shard runs it."""
        partitions = self._internal_partitions.of(self.topic)
        return self.runtime.write(partition_for(key.text, partitions) if partitions else -1, name, operation).deferred

    def topics_deleted(self, topic_ids: frozenset[bytes]) -> None:
        """Delete the state of deleted topics. Mirrors onTopicsDeleted."""
        self._write_everywhere("on-topics-deleted", lambda shard: shard.delete_topics(topic_ids))

    def _write_everywhere(self, name: str, operation: Callable[[ShareShard], CoordinatorResult[None]]) -> None:
        for deferred in self.runtime.write_everywhere(name, operation):
            deferred.addErrback(lambda failure: _log.warn("{name} failed: {reason}", name=name, reason=failure.value))

    # Jobs.

    def elected(self) -> None:
        """Start the jobs: the broker leads a partition of the topic."""
        self._schedule(_PRUNE_INTERVAL, self._prune)
        self._schedule(_COLD_INTERVAL, self._snapshot_cold_partitions)

    def _schedule(self, interval: str, job: Callable[[], None]) -> None:
        if self._stopped or interval in self._jobs or interval not in self._host.config.values:
            return

        def run() -> None:
            del self._jobs[interval]
            if self.runtime.active_partitions:
                job()
                self._schedule(interval, job)

        self._jobs[interval] = self._host.reactor.callLater(self._number(interval) / 1000, run)

    def _snapshot_cold_partitions(self) -> None:
        self._write_everywhere("snapshot-cold-partitions", lambda shard: shard.snapshot_cold_partitions())

    def _prune(self) -> None:
        for partition in self.runtime.active_partitions:
            written = self.runtime.write(
                partition,
                "write-state-record-prune",
                lambda shard: CoordinatorResult([], shard.redundant.last_redundant),
            )
            written.deferred.addCallbacks(
                self._delete_records, lambda failure: failure.trap(CoordinatorError), callbackArgs=(partition,)
            )

    def _delete_records(self, offset: int | None, partition: int) -> None:
        if offset is None or self._pruned.get(partition) == offset:
            return
        self._pruned[partition] = offset
        topic_partition = TopicPartition(self.topic, partition)
        self._host.replica_manager.delete_records({topic_partition: offset}, timeout_ms=0)

    def stop(self) -> None:
        """End with the process: no job runs any more."""
        self._stopped = True
        for job in self._jobs.values():
            job.cancel()
        self._jobs.clear()


def _make_shard(context: ShardContext) -> ShareShard:
    # Imported with the first share group, which many a test never has.
    from broker_sim.coordinators.share.share_shard import ShareShard

    return ShareShard(context)
