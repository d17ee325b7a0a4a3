"""The shards of one kind of coordinator at one broker. Mirrors CoordinatorRuntime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.runtime.coordinator_record import NO_PRODUCER
from broker_sim.coordinators.runtime.load_settings import ALL_RECORDS, LoadSettings
from broker_sim.coordinators.runtime.pending_writes import PendingWrite
from broker_sim.coordinators.runtime.shard_states import ShardState
from broker_sim.replication.purgatory import ExpirationQueue
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred

    from broker_sim.coordinators.runtime.append_settings import AppendSettings
    from broker_sim.coordinators.runtime.coordinator_record import Log, Producer
    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from broker_sim.coordinators.runtime.shard import CoordinatorHost, Shard, ShardContext
    from broker_sim.coordinators.runtime.shard_runner import ShardRunner
    from broker_sim.metadata.metadata_image import MetadataImage
    from protocol_specs.records.lone_batch import RecordSet

__all__ = ["CoordinatorRuntime"]

S = TypeVar("S", bound="Shard")

_ACTIVE: Final = ShardState.ACTIVE
"""A constant, because looking up a member of an enum is slow."""


class CoordinatorRuntime(Generic[S]):
    """One shard per partition of `log`'s topic that the broker leads.

    Operations are functions of a shard. A write returns a CoordinatorResult, and completes when the records are
    committed, or with a CoordinatorError. A read returns its result at once.

    With `follows_foreign_appends` a shard ignores what clients append to its log; else it loads the log again. With
    `required_acks` -1 an ISR that is too small refuses a write at once; with 1 the records stand in the log, and the
    write fails when its time is up. A shard that begins to load while `may_load` returns False loads for ever.
    """

    def __init__(
        self,
        *,
        log: Log,
        host: CoordinatorHost,
        make_shard: Callable[[ShardContext], S],
        settings: Callable[[], AppendSettings],
        load_settings: LoadSettings = ALL_RECORDS,
        follows_foreign_appends: bool = False,
        required_acks: int = 1,
        may_load: Callable[[], bool] = lambda: True,
    ) -> None:
        self._log = log
        self._load_settings = load_settings
        self._follows_foreign_appends = follows_foreign_appends
        self._required_acks = required_acks
        self._may_load = may_load
        self._topic = log.value
        self._host = host
        self._make_shard = make_shard
        self._settings = settings
        self._expirations = ExpirationQueue(host.reactor)
        self._runners: dict[int, ShardRunner[S]] = {}
        self.runner = self._runners.get
        """Returns the runner of a partition's shard, in any state; None if this broker does not lead the partition."""
        self._stopped = False

    @property
    def active_partitions(self) -> list[int]:
        """The partitions whose shards are here and not closed, in order."""
        return sorted(self._runners)

    @property
    def shards(self) -> list[S]:
        """The active shards, in the order of their partitions, for reports."""
        found = (self.shard(partition) for partition in self.active_partitions)
        return [shard for shard in found if shard is not None]

    @property
    def is_loading(self) -> bool:
        """True while a shard replays its log."""
        return any(runner.state is ShardState.LOADING for runner in self._runners.values())

    def shard(self, partition: int) -> S | None:
        """Return the shard of a partition if it is active, for reports and tests."""
        runner = self._runners.get(partition)
        return runner.shard if runner is not None and runner.state is _ACTIVE else None

    # Operations.

    def write(
        self,
        partition: int,
        name: str,
        operation: Callable[[S], CoordinatorResult[Any]],
        *,
        producer: Producer = NO_PRODUCER,
        guard: object | None = None,
        timeout_ms: int | None = None,
    ) -> PendingWrite:
        """Run a write operation; `producer` is that of transactional records, `guard` that of their verification."""
        runner = self._runners.get(partition)
        if runner is None:
            return _refused()
        return runner.write(name, operation, producer, guard, timeout_ms)

    def write_everywhere(self, name: str, operation: Callable[[S], CoordinatorResult[Any]]) -> list[Deferred[Any]]:
        """Run a write operation in every shard."""
        return [self._runners[partition].write(name, operation).deferred for partition in self.active_partitions]

    def end_transaction(
        self, partition: int, producer: Producer, data: RecordSet, *, committed: bool, transaction_version: int = 0
    ) -> Deferred[Any]:
        """Replay the end of a transaction and append `data`, its control batch."""
        runner = self._runners.get(partition)
        if runner is None:
            return _refused().deferred
        return runner.end_transaction(
            producer, data, committed=committed, transaction_version=transaction_version
        ).deferred

    def active_shard(self, partition: int) -> S:
        """Return the shard of a partition.

        Raises:
            CoordinatorError: The shard is loading or not here.
        """
        runner = self._runners.get(partition)
        if runner is None:
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)
        return runner.check_active()

    def read(self, partition: int, operation: Callable[[S, int], Any]) -> Any:
        """Return `operation(shard, committed offset)`.

        Raises:
            CoordinatorError: The shard is loading or not here, or the operation is refused.
        """
        runner = self._runners.get(partition)
        if runner is None:
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)
        return runner.read(operation)

    # Roles and metadata.

    def elected(self, partition: int, leader_epoch: int) -> None:
        """Load the shard: this broker leads the partition now. Repeated epochs have no effect. Mirrors onElection."""
        if not self._stopped:
            self._runner(partition).load(leader_epoch)

    def resigned(self, partition: int) -> None:
        """Unload the shard: this broker does not lead the partition any more. Mirrors onResignation."""
        runner = self._runners.pop(partition, None)
        if runner is not None:
            runner.unload()

    def apply_image(self, old: MetadataImage, new: MetadataImage) -> None:
        """Notify the shards of changed and deleted topics. Mirrors onNewMetadataImage."""
        if not self._runners or new.topics is old.topics:
            return
        changed = frozenset(name for name, topic in new.topics.items() if old.topics.get(name) is not topic)
        deleted = frozenset(
            name
            for name, topic in old.topics.items()
            if (now := new.topics.get(name)) is None or now.topic_id != topic.topic_id
        )
        if changed or deleted:
            for partition in self.active_partitions:
                self._runners[partition].image_changed(changed, deleted)

    def _runner(self, partition: int) -> ShardRunner[S]:
        runner = self._runners.get(partition)
        if runner is None:
            # Imported with the first shard, which many a test never has.
            from broker_sim.coordinators.runtime.shard_runner import ShardRunner

            runner_type: type[ShardRunner[S]] = self._host.config.part_types.of(ShardRunner)
            runner = self._runners[partition] = runner_type(
                TopicPartition(self._topic, partition),
                log=self._log,
                host=self._host,
                make_shard=self._make_shard,
                expirations=self._expirations,
                settings=self._settings,
                load_settings=self._load_settings,
                follows_foreign_appends=self._follows_foreign_appends,
                required_acks=self._required_acks,
                may_load=self._may_load,
            )
        return runner

    def stop(self) -> None:
        """End with the process: nothing fires any more."""
        self._stopped = True
        self._expirations.stop()
        for runner in self._runners.values():
            runner.unload(notify=False)
        self._runners.clear()


def _refused() -> PendingWrite:
    write = PendingWrite()
    write.complete(CoordinatorError(ErrorCode.NOT_COORDINATOR))
    return write
