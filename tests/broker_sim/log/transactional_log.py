"""A log, and the batches and markers of transactional producers for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.append_results import AppendOrigin, RecordsRefused
from broker_sim.log.replica_log import ReplicaLog
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    end_transaction_marker_batch,
)
from protocol_specs.records.record_batch import RecordBatchBuilder

if TYPE_CHECKING:
    from broker_sim.log.append_results import PartitionAppend
    from protocol_specs.error_codes import ErrorCode

NOW_MS = 1_767_225_600_000
ABORT = ControlRecordType.ABORT
COMMIT = ControlRecordType.COMMIT


def without_verification(release: str) -> dict[str, str]:
    """Return the broker configuration with which a log takes transactions without a guard."""
    verified = behaviour_of(release).transactions_are_verified
    return {"transaction.partition.verification.enable": "false"} if verified else {}


def records(
    sequence: int,
    *,
    producer: int = 7,
    epoch: int = 0,
    count: int = 1,
    transactional: bool = True,
    size: int = 1,
    time_ms: int = NOW_MS,
) -> bytes:
    """One batch of `count` records."""
    builder = RecordBatchBuilder(
        producer_id=producer, producer_epoch=epoch, base_sequence=sequence, is_transactional=transactional
    )
    for _ in range(count):
        builder.append(time_ms, b"k", b"v" * size)
    return builder.build()


def marker(
    kind: ControlRecordType = COMMIT,
    *,
    producer: int = 7,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    time_ms: int = NOW_MS,
) -> bytes:
    """One control batch."""
    end = EndTransactionMarker(control_type=kind, coordinator_epoch=coordinator_epoch)
    return end_transaction_marker_batch(end, producer_id=producer, producer_epoch=epoch, timestamp_ms=time_ms)


class TransactionalLog:
    """The log of a leader without followers; `held` keeps the high watermark where it is."""

    def __init__(
        self,
        log: ReplicaLog | None = None,
        *,
        release: str = "4.3.1",
        unverified: bool = True,
        **topic_config: str,
    ) -> None:
        if log is None:
            broker = BrokerConfig.parse(without_verification(release) if unverified else {}, release=release)
            names = {name.replace("_", "."): value for name, value in topic_config.items()}
            config = TopicConfig.resolve(names, broker)
            log = ReplicaLog(topic="t", partition=0, config=config, broker_config=broker, now_ms=NOW_MS)
        self.log = log
        self.held = False

    def append(self, sequence: int, **options: Any) -> PartitionAppend:
        """Append a client's batch; see `records`."""
        guard = options.pop("guard", None)
        origin = options.pop("origin", AppendOrigin.CLIENT)
        return self._append(records(sequence, **options), origin, guard=guard)

    def verify(
        self, sequence: int, *, producer: int = 7, epoch: int = 0, version: int = 1, now_ms: int = NOW_MS
    ) -> object | None:
        """Start the verification of a transaction of a version."""
        return self.log.producers.start_verification(
            producer, epoch, sequence, supports_epoch_bump=version == 2, now_ms=now_ms
        )

    def end(self, kind: ControlRecordType = COMMIT, *, transaction_version: int = 0, **options: Any) -> PartitionAppend:
        """Append a marker; see `marker`."""
        return self._append(marker(kind, **options), AppendOrigin.COORDINATOR, transaction_version)

    def _append(
        self, data: bytes, origin: AppendOrigin, transaction_version: int = 0, guard: object | None = None
    ) -> PartitionAppend:
        result = self.log.append_as_leader(
            data, leader_epoch=0, now_ms=NOW_MS, origin=origin, transaction_version=transaction_version, guard=guard
        )
        if not self.held:
            self.replicate()
        return result

    def replicate(self) -> None:
        """Move the high watermark to the end of the log."""
        self.log.update_high_watermark(self.log.log_end_offset)

    def refusal(self, sequence: int, **options: Any) -> ErrorCode:
        """Append a client's batch that the log refuses, and return the error."""
        return _refusal(lambda: self.append(sequence, **options))

    def marker_refusal(self, **options: Any) -> ErrorCode:
        """Append a marker that the log refuses, and return the error."""
        return _refusal(lambda: self.end(**options))

    @property
    def aborted(self) -> list[tuple[int, int, int, int]]:
        """All entries of the indexes of aborted transactions: producer, first, marker, last stable offset."""
        return [tuple(entry) for segment in self.log.segments for entry in segment.aborted_transactions]  # type: ignore[misc]

    @property
    def open_since(self) -> int:
        """The start of the transaction of producer 7."""
        return self.log.producers.active_producers[7].transaction_start


def _refusal(append: Any) -> ErrorCode:
    try:
        append()
    except RecordsRefused as refused:
        return refused.error_code
    raise AssertionError("the log took the batch")
