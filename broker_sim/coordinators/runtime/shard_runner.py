"""One shard at work: its events one after another, its log, its pending writes. Mirrors CoordinatorContext.

An event that arrives inside another one waits for its end. An operation's records are replayed at once, appended as
one batch, and its response waits for the high watermark. If the append fails, the state goes back to the snapshot
before the batch, and every operation of the batch fails. If a client has appended to the topic meanwhile, the
shard loads it again.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from twisted.logger import Logger

from broker_sim.control.events import CoordinatorLoaded, CoordinatorUnloaded
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.runtime.coordinator_record import NO_PRODUCER
from broker_sim.coordinators.runtime.coordinator_timers import RETRY_BACKOFF_MS, CoordinatorTimers
from broker_sim.coordinators.runtime.load_settings import BadRecords
from broker_sim.coordinators.runtime.log_replay import LogReplay
from broker_sim.coordinators.runtime.lone_writes import LoneWrites
from broker_sim.coordinators.runtime.open_batch import OpenBatch
from broker_sim.coordinators.runtime.pending_writes import PendingWrite, PendingWrites
from broker_sim.coordinators.runtime.shard import ShardContext
from broker_sim.coordinators.runtime.shard_states import ERRORS_BY_STATE, ShardState, may_become
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.coordinators.runtime.append_settings import AppendSettings
    from broker_sim.coordinators.runtime.coordinator_record import Log, Producer
    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from broker_sim.coordinators.runtime.load_settings import LoadSettings
    from broker_sim.coordinators.runtime.shard import CoordinatorHost, Shard
    from broker_sim.replication.partition import Partition
    from broker_sim.replication.purgatory import ExpirationQueue
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.records.lone_batch import RecordSet

__all__ = ["ShardRunner"]

S = TypeVar("S", bound="Shard")

_UNKNOWN: Final = CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
_ACTIVE: Final = ShardState.ACTIVE
"""A constant, because looking up a member of an enum is slow."""
_log = Logger()


class ShardRunner(LoneWrites[S]):
    """Runs one shard from its election to its end.

    With `follows_foreign_appends` it goes on behind the records of others, without replaying them. CoordinatorRuntime
    describes the other options.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        *,
        log: Log,
        host: CoordinatorHost,
        make_shard: Callable[[ShardContext], S],
        expirations: ExpirationQueue,
        settings: Callable[[], AppendSettings],
        load_settings: LoadSettings,
        follows_foreign_appends: bool,
        required_acks: int,
        may_load: Callable[[], bool],
    ) -> None:
        self.topic_partition = topic_partition
        self.state = ShardState.INITIAL
        self.leader_epoch = -1
        self.shard: S | None = None
        self.last_written_offset = 0
        self.last_committed_offset = 0
        self._log = log
        self._load_settings = load_settings
        self._host = host
        self._make_shard = make_shard
        self._settings = settings
        self._follows_foreign_appends = follows_foreign_appends
        self._required_acks = required_acks
        self._may_load = may_load
        self._snapshots = SnapshotRegistry()
        self._timers = CoordinatorTimers(host.reactor, self._timer_fired)
        self._pending = PendingWrites(expirations)
        self._events: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._running = False
        self._appending = False
        """True while an append runs, which commits what the high watermark has passed when it ends."""
        self._batch: OpenBatch | None = None
        self._linger_call: IDelayedCall | None = None
        self._load_call: IDelayedCall | None = None
        self._partition: Partition | None = None
        self._context: ShardContext | None = None

    # Events.

    def run(self, event: Callable[..., object], *arguments: Any) -> None:
        """Run an event now, or after the one that is running."""
        if self._running:
            self._events.append((event, arguments))
            return
        self._running = True
        try:
            event(*arguments)
            while self._events:
                following, its_arguments = self._events.popleft()
                following(*its_arguments)
        finally:
            self._running = False

    def check_active(self) -> S:
        """Return the shard.

        Raises:
            CoordinatorError: The shard is loading, or is not here.
        """
        if self.state is not _ACTIVE or self.shard is None:
            raise CoordinatorError(ERRORS_BY_STATE[self.state])
        return self.shard

    # Loading and unloading.

    def load(self, leader_epoch: int) -> None:
        """Replay the log, from the next iteration of the reactor on. An epoch that is not greater is ignored."""
        if leader_epoch <= self.leader_epoch or self.state in (ShardState.LOADING, ShardState.ACTIVE):
            self.leader_epoch = max(self.leader_epoch, leader_epoch)
            if self._context is not None:
                self._context.leader_epoch = self.leader_epoch
            return
        self.leader_epoch = leader_epoch
        self._start_loading()

    def _start_loading(self) -> None:
        self._become(ShardState.LOADING)
        self._make_empty_shard()
        self._load_call = self._host.reactor.callLater(0, self._begin_load)

    def _make_empty_shard(self) -> None:
        self._snapshots = SnapshotRegistry()
        self._context = ShardContext(
            partition=self.topic_partition.partition,
            leader_epoch=self.leader_epoch,
            host=self._host,
            timers=self._timers,
            snapshots=self._snapshots,
        )
        self.shard = self._make_shard(self._context)

    def _begin_load(self) -> None:
        self._load_call = None
        partition = self._host.replica_manager.partitions.get(self.topic_partition)
        if partition is None or not partition.is_leader:
            self._fail("this broker does not lead the partition")
            return
        if not self._may_load():
            _log.error(
                "broker {broker_id}: coordinator partition={partition} never ends to load: the topic has another "
                "number of partitions than when this broker started",
                broker_id=self._host.id,
                partition=self.topic_partition,
            )
            return
        assert self.shard is not None
        replay = LogReplay(partition.log, self._log, self.shard, self._snapshots, self._load_settings)
        self._continue_load(partition, replay)

    def _continue_load(self, partition: Partition, replay: LogReplay) -> None:
        self._load_call = None
        try:
            finished = replay.advance()
        except Exception:  # noqa: BLE001 - Kafka's loader fails the shard for any error of a record
            _log.failure(
                "broker {broker_id}: loading coordinator partition={partition} failed",
                broker_id=self._host.id,
                partition=self.topic_partition,
            )
            if self._load_settings.bad_records is BadRecords.FAIL_THE_SHARD:
                self._fail("a record cannot be replayed")
                return
            if self._load_settings.bad_records is BadRecords.DISCARD_EVERYTHING:
                assert self.shard is not None
                self._timers.cancel_all()
                self.shard.unloaded()
                self._make_empty_shard()
            finished = True
        if not finished:
            self._load_call = self._host.reactor.callLater(0, self._continue_load, partition, replay)
            return
        self.last_written_offset = partition.log.log_end_offset
        self.last_committed_offset = min(partition.log.high_watermark, self.last_written_offset)
        self._snapshots.snapshot(self.last_written_offset)
        self._snapshots.delete_before(self.last_committed_offset)
        self._partition = partition
        partition.high_watermark_listeners.append(self._high_watermark_moved)
        self._become(ShardState.ACTIVE)
        if self._context is not None:
            self._context.is_active = True
        self._host.journal.append(
            CoordinatorLoaded(
                time_us=self._host.journal.now_us(),
                broker_id=self._host.id,
                topic=self.topic_partition.topic,
                partition=self.topic_partition.partition,
                records=replay.records,
                leader_epoch=self.leader_epoch,
            )
        )
        assert self.shard is not None
        self.run(self.shard.loaded)

    def _fail(self, reason: str) -> None:
        _log.error(
            "broker {broker_id}: coordinator partition={partition} failed: {reason}",
            broker_id=self._host.id,
            partition=self.topic_partition,
            reason=reason,
        )
        self._become(ShardState.FAILED)
        self._release(CoordinatorError(ErrorCode.NOT_COORDINATOR))

    def unload(self, *, notify: bool = True) -> None:
        """Stop; waiting operations fail with NOT_COORDINATOR. A process that dies completes nothing."""
        if self.state is ShardState.CLOSED:
            return
        was_loaded = self.state is ShardState.ACTIVE
        self._become(ShardState.CLOSED)
        if not notify:
            self._timers.cancel_all()
            self._cancel_calls()
            self._detach()
            return
        if was_loaded:
            self._host.journal.append(
                CoordinatorUnloaded(
                    time_us=self._host.journal.now_us(),
                    broker_id=self._host.id,
                    topic=self.topic_partition.topic,
                    partition=self.topic_partition.partition,
                )
            )
        self._release(CoordinatorError(ErrorCode.NOT_COORDINATOR))

    def _release(self, error: CoordinatorError) -> None:
        self._timers.cancel_all()
        self._cancel_calls()
        self._detach()
        if self._context is not None:
            self._context.is_active = False
        shard, self.shard = self.shard, None
        batch, self._batch = self._batch, None
        if batch is not None:
            for write in batch.writes:
                write.complete(error)
        self._pending.fail_all(error)
        if shard is not None:
            shard.unloaded()

    def _detach(self) -> None:
        partition, self._partition = self._partition, None
        if partition is not None:
            partition.high_watermark_listeners.remove(self._high_watermark_moved)

    def _cancel_calls(self) -> None:
        for call in (self._linger_call, self._load_call):
            if call is not None:
                call.cancel()
        self._linger_call = self._load_call = None

    def _become(self, state: ShardState) -> None:
        assert may_become(self.state, state), (self.topic_partition, self.state, state)
        self.state = state

    # Writes.

    def write(
        self,
        name: str,
        operation: Callable[[S], CoordinatorResult[Any]],
        producer: Producer = NO_PRODUCER,
        guard: object | None = None,
        timeout_ms: int | None = None,
    ) -> PendingWrite:
        """Run a write operation; the result completes with its response or a CoordinatorError."""
        settings = self._settings()
        write = PendingWrite(settings.write_timeout_ms if timeout_ms is None else timeout_ms)
        self.run(self._write, name, operation, write, settings, producer, guard)
        return write

    def _write(
        self,
        name: str,
        operation: Callable[[S], CoordinatorResult[Any]],
        write: PendingWrite,
        settings: AppendSettings,
        producer: Producer,
        guard: object | None,
    ) -> None:
        try:
            result = operation(self.check_active())
        except CoordinatorError as error:
            write.complete(error)
            return
        except Exception:  # noqa: BLE001 - as handleOperationException: UNKNOWN_SERVER_ERROR, and a log line
            _log.failure("broker {broker_id}: operation {name} failed", broker_id=self._host.id, name=name)
            write.complete(_UNKNOWN)
            return
        write.response = result.response
        if result.unconditional:
            write.complete()
            write = PendingWrite(write.timeout_ms)
        write.on_committed = result.on_committed
        if result.timeout_ms is not None:
            write.timeout_ms = result.timeout_ms
        if not result.records:
            self._complete_without_records(write)
            return
        # Transactional records have a batch of their own.
        flush_error = None if producer == NO_PRODUCER else self.flush()
        if flush_error is not None:
            write.complete(flush_error)
            return
        try:
            if len(result.records) == 1 and producer == NO_PRODUCER and self._append_alone(result, write, settings):
                return
            self._add(result, write, settings, producer)
        except CoordinatorError as error:
            if self.state is ShardState.ACTIVE:
                self._revert(error)
            write.complete(error)
            return
        except Exception:  # noqa: BLE001 - a record that its own shard cannot replay
            _log.failure("broker {broker_id}: replay of {name} failed", broker_id=self._host.id, name=name)
            self._revert(_UNKNOWN)
            write.complete(_UNKNOWN)
            return
        if producer != NO_PRODUCER or settings.linger_ms <= 0:
            self.flush(guard)
        elif self._linger_call is None:
            self._linger_call = self._host.reactor.callLater(settings.linger_ms / 1000, self._lingered)

    def _complete_without_records(self, write: PendingWrite) -> None:
        """Respond after the writes that the response may depend on, those of a former coordinator included."""
        if self._batch is not None:
            self._batch.writes.append(write)
        elif self.last_committed_offset < self.last_written_offset:
            self._pending.add(self.last_written_offset, write)
        else:
            write.complete()

    def _add(
        self, result: CoordinatorResult[Any], write: PendingWrite, settings: AppendSettings, producer: Producer
    ) -> None:
        """Replay records and put them into the open batch, or into several if the operation may span batches.

        Raises:
            CoordinatorError: An earlier batch cannot be appended.
        """
        shard, partition = self.shard, self._partition
        assert shard is not None
        assert partition is not None
        config = partition.log.config
        limit = config.max_message_bytes
        records, now_ms = result.records, self._host.now_ms()
        for place, group in enumerate([records] if result.atomic else [[record] for record in records]):
            encoded = [record.encode() for record in group]
            batch = self._batch
            if batch is None or place in result.batch_starts or not batch.add(encoded, now_ms, limit):
                error = None if batch is None else self.flush()
                if error is not None and not result.unconditional:
                    raise error
                shard = self.shard
                assert shard is not None
                batch = self._batch = OpenBatch(
                    *producer, base_sequence=shard.base_sequence(group[0]), magic=config.magic, codec=settings.codec
                )
                if not batch.add(encoded, now_ms, limit):
                    # Kafka gives an empty batch up, with what the operation has changed, and takes another for the
                    # records: whether they are too large is the log's decision.
                    self._snapshots.revert_to(self.last_written_offset)
                    batch.append(encoded, now_ms)
            if result.replay:
                offset = self.last_written_offset + batch.records_count - len(group)
                for index, record in enumerate(group):
                    shard.replay(offset + index, *producer, record)
            if result.unconditional:
                self._snapshots.settle()
        assert self._batch is not None
        self._batch.writes.append(write)
        shard.written()

    def _lingered(self) -> None:
        self._linger_call = None
        self.run(self.flush)

    def flush(self, guard: object | None = None) -> CoordinatorError | None:
        """Append the open batch; return the error with which its operations have failed.

        `guard` is that of a batch whose transaction was verified.
        """
        if self._linger_call is not None:
            self._linger_call.cancel()
            self._linger_call = None
        batch = self._batch
        if batch is None:
            return None
        error = self._append(batch.build(), batch.records_count, batch.writes, guard)
        if error is None:
            self._batch = None
        elif self.state is ShardState.ACTIVE:
            self._revert(error)
        return error

    def _append(
        self,
        data: RecordSet,
        records_count: int,
        writes: Sequence[PendingWrite],
        guard: object | None = None,
        *,
        transaction_version: int = 0,
    ) -> CoordinatorError | None:
        base_offset = self.last_written_offset
        self._appending = True
        try:
            appended = self._host.replica_manager.append_as_coordinator(
                self.topic_partition,
                data,
                required_acks=self._required_acks,
                transaction_version=transaction_version,
                guard=guard,
            )
        finally:
            self._appending = False
        if appended.error_code:
            return CoordinatorError(appended.error_code)
        if appended.base_offset != base_offset and not self._follows_foreign_appends:
            # A client has appended to the topic: its records must be in the state too.
            self._fail(f"appended at {appended.base_offset} instead of {base_offset}")
            self._start_loading()
            return CoordinatorError(ErrorCode.NOT_COORDINATOR)
        self.last_written_offset = written = appended.base_offset + records_count
        assert self._partition is not None
        high_watermark = self._partition.log.high_watermark
        if high_watermark >= written:
            self.last_committed_offset = written
            self._snapshots.advance_to(written)
            self._pending.complete_up_to(written)
            for write in writes:
                write.complete()
        else:
            self._snapshots.snapshot(written)
            self._commit(high_watermark)
            for write in writes:
                self._pending.add(written, write)
        return None

    def _revert(self, error: CoordinatorError) -> None:
        """Undo what the open batch has changed, and fail its operations."""
        batch, self._batch = self._batch, None
        self._snapshots.revert_to(self.last_written_offset)
        for write in [] if batch is None else batch.writes:
            write.complete(error)

    def end_transaction(
        self, producer: Producer, data: RecordSet, *, committed: bool, transaction_version: int
    ) -> PendingWrite:
        """Replay the end of a transaction, and append its control batch. Mirrors completeTransaction."""
        write = PendingWrite(self._settings().write_timeout_ms)
        self.run(
            partial(self._end_transaction, producer, data, write, committed=committed, version=transaction_version)
        )
        return write

    def _end_transaction(
        self, producer: Producer, data: RecordSet, write: PendingWrite, *, committed: bool, version: int
    ) -> None:
        try:
            shard = self.check_active()
        except CoordinatorError as error:
            write.complete(error)
            return
        failed = self.flush()
        if failed is None:
            shard.replay_end_of_transaction(*producer, committed=committed)
            failed = self._append(data, 1, [write], transaction_version=version)
            if failed is not None and self.state is ShardState.ACTIVE:
                self._revert(failed)
        if failed is not None:
            write.complete(failed)

    # Commits.

    def _high_watermark_moved(self, offset: int) -> None:
        if not self._appending:
            self.run(self._commit, offset)

    def _commit(self, offset: int) -> None:
        offset = min(offset, self.last_written_offset)
        if self.state is not _ACTIVE or offset <= self.last_committed_offset:
            return
        self.last_committed_offset = offset
        self._snapshots.delete_before(offset)
        self._pending.complete_up_to(offset)

    # Reads, timers, metadata.

    def read(self, operation: Callable[[S, int], Any]) -> Any:
        """Return `operation(shard, committed offset)`.

        Raises:
            CoordinatorError: The shard is loading or not here, or the operation is refused.
        """
        return operation(self.check_active(), self.last_committed_offset)

    def _timer_fired(self, key: str, operation: Callable[[], CoordinatorResult[Any]], *, retry: bool) -> None:
        write = self.write(f"timer {key}", lambda _: operation())

        def failed(failure: Any) -> None:
            active = self.state is ShardState.ACTIVE
            if active and retry and not self._timers.is_scheduled(key):
                self._timers.schedule(key, RETRY_BACKOFF_MS, operation, retry=True)
            if active:
                _log.info("timer {key} failed: {reason}", key=key, reason=failure.value)

        write.deferred.addErrback(failed)

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:
        """Notify an active shard of changed and deleted topics."""

        def notify() -> None:
            if self.state is ShardState.ACTIVE and self.shard is not None:
                self.shard.image_changed(changed_topics, deleted_topics)

        self.run(notify)
