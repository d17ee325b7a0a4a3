"""Fast paths of a shard's write operations that append one record outside of transactions, as most operations do.

Such a record is a batch of its own, and needs no open batch. A committed offset differs from the one before in a few
numbers, and needs no CoordinatorResult either. docs/design/fast-paths.md has the measured gains.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from broker_sim.coordinators.runtime.coordinator_record import NO_PRODUCER
from broker_sim.coordinators.runtime.open_batch import BATCH_OVERHEAD_MAX
from broker_sim.coordinators.runtime.pending_writes import PendingWrite
from broker_sim.coordinators.runtime.shard_states import ShardState
from protocol_specs.records.batch_peek import MAGIC_V2
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.lone_batch import lone_batch

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Sequence

    from broker_sim.coordinators.coordinator_error import CoordinatorError
    from broker_sim.coordinators.runtime.append_settings import AppendSettings
    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from broker_sim.coordinators.runtime.open_batch import OpenBatch
    from broker_sim.coordinators.runtime.pending_writes import PendingWrites
    from broker_sim.coordinators.runtime.shard import CoordinatorHost, Shard
    from broker_sim.replication.partition import Partition
    from protocol_specs.records.lone_batch import RecordSet

__all__ = ["LoneWrites"]

S = TypeVar("S", bound="Shard")

_ACTIVE: Final = ShardState.ACTIVE
_NO_CODEC: Final = CompressionCodec.NONE


class LoneWrites(ABC, Generic[S]):
    """The writes of one record; ShardRunner has the state, and the path that all other operations take."""

    state: ShardState
    shard: S | None
    last_written_offset: int
    last_committed_offset: int
    _host: CoordinatorHost
    _settings: Callable[[], AppendSettings]
    _pending: PendingWrites
    _events: deque[tuple[Callable[..., object], tuple[Any, ...]]]
    _running: bool
    _batch: OpenBatch | None
    _partition: Partition | None

    @abstractmethod
    def run(self, event: Callable[..., object], *arguments: Any) -> None:
        """Run an event now, or after the one that is running."""

    @abstractmethod
    def _append(self, data: RecordSet, records_count: int, writes: Sequence[PendingWrite]) -> CoordinatorError | None:
        """Append a batch that these writes wait for; return the error of a log that refuses it."""

    @abstractmethod
    def _revert(self, error: CoordinatorError) -> None:
        """Take the state back to what is committed, and fail the waiting writes."""

    def _append_alone(self, result: CoordinatorResult[Any], write: PendingWrite, settings: AppendSettings) -> bool:
        """Replay and append one record as a batch; False if it must or may share a batch, or needs another format.

        Equal to `_add` and `flush`, which every other result takes. docs/design/fast-paths.md has the measured gain.
        """
        shard, partition = self.shard, self._partition
        assert shard is not None
        assert partition is not None
        if self._batch is not None or settings.linger_ms > 0 or settings.codec is not _NO_CODEC or result.unconditional:
            return False
        record = result.records[0]
        key, value = record.encode()
        config = partition.log.config
        if (
            value is None
            or config.magic != MAGIC_V2
            or BATCH_OVERHEAD_MAX + len(key) + len(value) > config.max_message_bytes
        ):
            return False
        now_ms = self._host.now_ms()
        if result.replay:
            shard.replay(self.last_written_offset, *NO_PRODUCER, record)
        shard.written()
        batch = lone_batch(now_ms, key, value, base_sequence=shard.base_sequence(record))
        error = self._append(batch, 1, (write,))
        if error is not None:
            if self.state is _ACTIVE:
                self._revert(error)
            write.complete(error)
        return True

    def write_applied(self, operation: Callable[[S, int, int], tuple[bytes, bytes] | None]) -> bool | PendingWrite:
        """Append the record that `operation(shard, offset, now_ms)` has applied to the state; it returns key and value.

        True: the record is committed. False: the operation has returned None, or others are in the way: nothing has
        changed. docs/design/fast-paths.md has the measured gain.
        """
        shard, partition, settings = self.shard, self._partition, self._settings()
        if (
            self._running
            or self._batch is not None
            or self.state is not _ACTIVE
            or shard is None
            or partition is None
            or settings.linger_ms > 0
            or settings.codec is not _NO_CODEC
            or partition.log.config.magic != MAGIC_V2
        ):
            return False
        self._running = True
        try:
            offset, now_ms = self.last_written_offset, self._host.now_ms()
            made = operation(shard, offset, now_ms)
            if made is None:
                return False
            error = self._append(lone_batch(now_ms, *made, base_sequence=0), 1, ())
            if error is None and self.last_committed_offset > offset:
                return True
            write = PendingWrite(settings.write_timeout_ms)
            if error is None:
                self._pending.add(self.last_written_offset, write)
            else:
                if self.state is _ACTIVE:
                    self._revert(error)
                write.complete(error)
            return write
        finally:
            self._running = False
            if self._events:
                event, arguments = self._events.popleft()
                self.run(event, *arguments)
