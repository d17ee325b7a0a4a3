"""A cluster as data: the brokers, logs and metadata that invariants and the truth of a run read, set by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.workloads.values import value_bytes
from broker_sim.broker_state import BrokerState
from broker_sim.control.journal import Journal
from broker_sim.errors import BrokerSimError
from broker_sim.log.stored_batch import StoredBatch
from broker_sim.metadata.metadata_image import PartitionRegistration
from broker_sim.topic_partition import TopicPartition
from protocol_specs.records.batch_peek import peek_header
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    end_transaction_marker_batch,
)
from protocol_specs.records.record_batch import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDERS: Final = TopicPartition("orders", 0)
TOPIC_ID: Final = b"i" * 16


def batch(offset: int, *values: int, producer: int = -1, epoch: int = 0, transactional: bool = False) -> StoredBatch:
    """A batch of records with the values of a load."""
    builder = RecordBatchBuilder(
        base_offset=offset,
        partition_leader_epoch=epoch,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        base_sequence=offset if producer >= 0 else -1,
        is_transactional=transactional,
    )
    for value in values:
        builder.append(0, None, value_bytes(value, 8))
    return _stored(builder.build())


def marker(offset: int, producer: int, *, commit: bool = True) -> StoredBatch:
    """The end of a transaction."""
    kind = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
    end = EndTransactionMarker(control_type=kind, coordinator_epoch=0)
    return _stored(
        end_transaction_marker_batch(
            end, producer_id=producer, producer_epoch=0, timestamp_ms=0, base_offset=offset, partition_leader_epoch=0
        )
    )


def _stored(data: bytes) -> StoredBatch:
    return StoredBatch.of(peek_header(data), data)


class Log:
    """A replica's log; without a high watermark all is replicated."""

    def __init__(
        self,
        *batches: StoredBatch,
        high_watermark: int | None = None,
        start: int = 0,
        dirty: int | None = None,
        place: TopicPartition = ORDERS,
    ) -> None:
        self.topic, self.partition = place
        self.held = list(batches)
        self.log_start_offset = start
        self.first_dirty_offset = dirty
        self.high_watermark = self.log_end_offset if high_watermark is None else high_watermark

    @property
    def log_end_offset(self) -> int:
        return self.held[-1].last_offset + 1 if self.held else self.log_start_offset

    def batches(self) -> Iterator[StoredBatch]:
        yield from self.held

    def batch_at(self, offset: int) -> StoredBatch | None:
        return next((each for each in self.held if each.base_offset <= offset <= each.last_offset), None)


class SmallCluster:
    """A broker per log, of which 0 leads orders-0 in epoch 0 and all are in its ISR. `now_us` is the journal's time."""

    def __init__(self, *logs: Log | None, **journal: Any) -> None:
        self.now_us = 0
        self.journal = Journal(lambda: self.now_us, **journal)
        self.topics = {ORDERS.topic: SimpleNamespace(topic_id=TOPIC_ID, partitions={0: None})}
        everyone = tuple(range(len(logs)))
        self.registrations = {
            ORDERS: PartitionRegistration(replicas=everyone, isr=everyone, leader=0, leader_epoch=0, partition_epoch=0)
        }
        self.brokers = {number: self._broker(number, log, everyone) for number, log in enumerate(logs)}
        self.changes = 0
        self.faults = SimpleNamespace(changed=self._changed)
        image = SimpleNamespace(
            topics=self.topics, partition=lambda topic, number: self.registrations.get(TopicPartition(topic, number))
        )
        self.controller = SimpleNamespace(committed_image=image)

    def _broker(self, number: int, log: Log | None, isr: tuple[int, ...]) -> SimpleNamespace:
        hosted = SimpleNamespace(topic_id=TOPIC_ID, is_leader=number == 0, leader_epoch=0, isr=isr, log=log)
        return SimpleNamespace(
            alive=True,
            throttles={},
            replica_manager=SimpleNamespace(partitions={} if log is None else {ORDERS: hosted}),
            lifecycle=SimpleNamespace(state=BrokerState.RUNNING, incarnation=b"first"),
            logs={} if log is None else {ORDERS: log},
        )

    def _changed(self) -> None:
        self.changes += 1

    def hosted(self, broker_id: int) -> Any:
        """Orders-0 as a broker has it."""
        return self.brokers[broker_id].replica_manager.partitions[ORDERS]

    def registration_of(self, topic: str, partition: int) -> PartitionRegistration:
        return self.registrations[TopicPartition(topic, partition)]

    def leader_of(self, topic: str, partition: int) -> int | None:
        registration = self.registration_of(topic, partition)
        return registration.leader if registration.has_leader else None

    def log_of(self, broker_id: int, topic: str, partition: int) -> Any:
        if broker_id not in self.brokers:
            raise BrokerSimError(f"there is no broker {broker_id}")
        return self.brokers[broker_id].logs.get(TopicPartition(topic, partition))

    @property
    def partition_counts(self) -> dict[str, int]:
        return {name: len(topic.partitions) for name, topic in self.topics.items()}
