"""Transactions in a log without a coordinator, where `transaction.partition.verification.enable` is false."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.differential.case import case
from tests.differential.cases.describe_producers import describe
from tests.differential.requests import fetch, idempotent, produce, produce_all, wanted
from tests.differential.transaction_requests import list_stable, markers, read

if TYPE_CHECKING:
    from tests.differential.probe import Probe

UNVERIFIED = (("transaction.partition.verification.enable", "false"),)
FIRST, SECOND = 1_000, 1_001


def _write(probe: Probe, topic: str, producer_id: int, sequence: int, *values: bytes, epoch: int = 0) -> None:
    records = idempotent(producer_id, epoch, sequence, *values, is_transactional=True)
    probe.exchange(produce(topic, records, transactional_id="x"), 9, note=f"{producer_id}, {epoch}, {sequence}")


def _end(
    probe: Probe, topic: str, producer_id: int, *, commit: bool = False, epoch: int = 0, coordinator: int = 0
) -> None:
    entry = (producer_id, epoch, commit, {topic: [0]}, coordinator)
    probe.exchange(markers(entry), 1, note=f"{producer_id}, {epoch}, {coordinator}, commit {commit}")


@case(settings=UNVERIFIED)
def aborted_transactions_up_to_an_entry_of_the_index(probe: Probe) -> None:
    topic = probe.topic(index_interval_bytes="300")
    for number in range(6):
        _write(probe, topic, FIRST, number, bytes(100))
        _end(probe, topic, FIRST)
    for offset in range(12):
        for max_bytes in (1, 169, 170, 186, 400):
            request = fetch(topic, wanted(offset, max_bytes=max_bytes), isolation_level=1)
            probe.exchange(request, 12, note=f"{max_bytes} bytes from {offset}")


@case(settings=UNVERIFIED)
def two_producers_in_one_request(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    records = (idempotent(producer_id, 0, 0, is_transactional=True) for producer_id in (FIRST, SECOND))
    entries = [(topic, partition, each) for partition, each in enumerate(records)]
    for transactional_id in ("x", ""):
        probe.exchange(produce_all(*entries, transactional_id=transactional_id), 9)
    probe.exchange(describe((topic, (0, 1))), 0)


@case(settings=UNVERIFIED)
def the_log_start_within_an_open_transaction(probe: Probe) -> None:
    topic = probe.topic()
    _write(probe, topic, FIRST, 0, b"a", b"b", b"c")
    _write(probe, topic, SECOND, 0, b"d")
    _write(probe, topic, FIRST, 3, b"e", b"f")
    for offset in (1, 3, 5):
        partition = DeleteRecordsPartition(partition_index=0, offset=offset)
        topics = [DeleteRecordsTopic(name=topic, partitions=[partition])]
        probe.exchange(DeleteRecordsRequest(topics=topics, timeout_ms=5_000), 2, note=f"up to {offset}")
        read(probe, topic, offset)
        list_stable(probe, topic, -1, -2)
        probe.exchange(describe((topic, (0,))), 0)
    _end(probe, topic, SECOND)
    _end(probe, topic, FIRST)
    read(probe, topic, 5, note="ended")
    list_stable(probe, topic, -1, -2, note="ended")


@case(settings=UNVERIFIED)
def epochs_of_producers_and_coordinators(probe: Probe) -> None:
    topic = probe.topic()
    _end(probe, topic, FIRST, epoch=3, coordinator=5)
    for epoch, coordinator in ((2, 6), (3, 4), (3, 5), (4, 5), (4, 4)):
        _end(probe, topic, FIRST, epoch=epoch, coordinator=coordinator)
        probe.exchange(describe((topic, (0,))), 0)
    for epoch, sequence in ((3, 0), (4, 2), (4, 0), (4, 2), (5, 1), (5, 0)):
        _write(probe, topic, FIRST, sequence, b"a", epoch=epoch)
        probe.exchange(describe((topic, (0,))), 0)
    plain = idempotent(FIRST, 5, 1)
    probe.exchange(produce(topic, plain), 9, note="a plain batch within the transaction")
    _end(probe, topic, FIRST, epoch=5, coordinator=7)
    probe.exchange(produce(topic, plain), 9, note="a plain batch behind it")
    probe.exchange(describe((topic, (0,))), 0)
