"""The replay of a partition's log into a new shard. Mirrors CoordinatorLoaderImpl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from protocol_specs.errors import UnknownRecordType, UnsupportedVersion
from protocol_specs.records.control_records import ControlRecordType, control_record_type, end_transaction_marker
from protocol_specs.records.record_set import read_any_record_set

if TYPE_CHECKING:
    from broker_sim.coordinators.runtime.coordinator_record import Log
    from broker_sim.coordinators.runtime.load_settings import LoadSettings
    from broker_sim.coordinators.runtime.shard import Shard
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
    from broker_sim.log.replica_log import ReplicaLog
    from broker_sim.log.stored_batch import StoredBatch

__all__ = ["LogReplay"]

RECORDS_PER_STEP: Final = 2_000
"""How many records are replayed in one iteration of the reactor, at least."""
_TYPE_BYTES: Final = 2
_MARKERS: Final = (ControlRecordType.COMMIT, ControlRecordType.ABORT)
_log = Logger()


class LogReplay:
    """Replays the batches that the log has at the start, in steps; later batches are the shard's own."""

    def __init__(
        self,
        log: ReplicaLog,
        schema: Log,
        shard: Shard,
        snapshots: SnapshotRegistry,
        settings: LoadSettings,
    ) -> None:
        self.records = 0
        """The records replayed so far."""
        self._replica = log
        self._schema = schema
        self._shard = shard
        self._snapshots = snapshots
        self._value_types = settings.value_types
        self._record_types = settings.record_types
        ignores_later = settings.ignores_later_versions
        self._ignored = (UnknownRecordType, UnsupportedVersion) if ignores_later else UnknownRecordType
        self._batches = iter(list(log.batches()))
        self._committed = log.high_watermark
        snapshots.snapshot(0)

    def advance(self) -> bool:
        """Replay some batches; return True after the last one.

        Raises:
            MessageDecodeError, UnsupportedVersion: A record is no record of its type.
        """
        until = self.records + RECORDS_PER_STEP
        for batch in self._batches:
            if batch.base_offset >= self._committed:
                self._snapshots.snapshot(max(batch.base_offset, 0))
            self._replay(batch)
            if self.records >= until:
                return False
        return True

    def _replay(self, batch: StoredBatch) -> None:
        producer = (batch.producer_id, batch.producer_epoch) if batch.is_transactional else (-1, -1)
        for record in read_any_record_set(batch.data):
            self.records += 1
            if batch.is_control:
                if control_record_type(record) in _MARKERS:
                    marker = end_transaction_marker(record)
                    self._shard.replay_end_of_transaction(
                        batch.producer_id, batch.producer_epoch, committed=marker.is_commit
                    )
                continue
            # A record without a key is as bad as one whose key ends early.
            key = b"" if record.key is None else bytes(record.key)
            if self._is_of_no_known_type(key):
                continue
            try:
                decoded = CoordinatorRecord.decode(self._schema, key, record.value, self._value_types)
            except self._ignored as error:
                _log.warn(
                    "{partition}: ignoring an unknown record: {reason}",
                    partition=self._replica.topic_partition,
                    reason=error,
                )
                continue
            self._shard.replay(record.offset, *producer, decoded)

    def _is_of_no_known_type(self, key: bytes) -> bool:
        """Return True if a key states a record type that the coordinator does not know; a shorter key is a bad one."""
        if self._record_types is None or len(key) < _TYPE_BYTES:
            return False
        return int.from_bytes(key[:_TYPE_BYTES], signed=True) not in self._record_types
