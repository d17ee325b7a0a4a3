"""Fetch, ListOffsets and DescribeProducers beside transactions, with both isolation levels, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.differential.case import case
from tests.differential.cases.describe_producers import describe
from tests.differential.requests import TIME_MS, fetch, fill, idempotent, list_offsets, produce, wanted
from tests.differential.requests import batch as plain_batch
from tests.differential.transaction_requests import Transactions, list_stable, read

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def _read_both(probe: Probe, topic: str, *offsets: int, note: str) -> None:
    for offset in offsets:
        read(probe, topic, offset, note=note)
        read(probe, topic, offset, committed=False, note=note)
    list_stable(probe, topic, -1, -2, TIME_MS, note=note)
    probe.exchange(list_offsets(topic, -1), 5, note=f"uncommitted, {note}")
    probe.exchange(describe((topic, (0,))), 0, note=note, only=_in_order)


def _in_order(response: Any) -> Any:
    """Sort producers by what they have written: their ids, which order them, differ between clusters."""
    for topic in response["topics"]:
        for partition in topic["partitions"]:
            partition["activeProducers"].sort(key=lambda each: (each["lastSequence"], each["currentTxnStartOffset"]))
    return response


@case()
def a_transaction_that_commits(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    fill(probe, topic, plain_batch(b"before"))
    transactions.started((topic, 0))
    _read_both(probe, topic, 0, 1, 2, note="open")
    fill(probe, topic, plain_batch(b"behind"))
    transactions.write(topic)
    _read_both(probe, topic, 0, 1, note="open, with a plain batch behind")
    transactions.ended(commit=True)
    _read_both(probe, topic, 0, 1, 4, 5, note="committed")


@case()
def a_transaction_that_aborts(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    fill(probe, topic, plain_batch(b"between"))
    transactions.write(topic)
    _read_both(probe, topic, 0, 1, note="open")
    transactions.ended(commit=False)
    _read_both(probe, topic, 0, 1, 2, 3, 4, note="aborted")
    fill(probe, topic, plain_batch(b"behind"))
    _read_both(probe, topic, 0, 3, 4, note="with a plain batch behind")


@case()
def two_transactions_at_once(probe: Probe) -> None:
    topic = probe.topic()
    first, second = Transactions(probe, "a"), Transactions(probe, "b")
    first.started((topic, 0))
    second.started((topic, 0))
    first.write(topic)
    first.write(topic)  # the producers are distinguished by the numbers of their batches
    _read_both(probe, topic, 0, note="both open")
    second.ended(commit=False)
    _read_both(probe, topic, 0, 1, note="the second aborted")
    second.open((topic, 0))
    first.ended(commit=True)
    _read_both(probe, topic, 0, 1, note="the first committed, the second open again")
    second.ended(commit=True)
    _read_both(probe, topic, 0, 1, 3, 6, note="all ended")


@case()
def many_aborted_transactions(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.begin()
    for number in range(4):
        transactions.open((topic, 0))
        transactions.ended(commit=number == 1)
    for offset in range(9):
        read(probe, topic, offset, note="all")
    for size in (1, 100, 160, 250):
        probe.exchange(fetch(topic, wanted(0, max_bytes=size), isolation_level=1), 12, note=f"{size} bytes")
    for version in (4, 5, 7, 8, 11):
        probe.exchange(fetch(topic, wanted(0), isolation_level=1), version)
        probe.exchange(fetch(topic, wanted(0)), version)
    for version in (0, 1, 2, 3) if probe.release == "3.7.2" else ():
        probe.exchange(fetch(topic, wanted(0)), version, note="as an old message set")


@case()
def old_versions_of_list_offsets(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    fill(probe, topic, plain_batch(b"before", time_ms=TIME_MS - 50))
    transactions.started((topic, 0))
    for version in (1, 2, 3, 4, 5, 6, 7):
        for timestamp in (-1, -2, TIME_MS - 60, TIME_MS - 10, TIME_MS + 10, *((-3,) if version == 7 else ())):
            request = list_offsets(topic, timestamp, isolation_level=1)
            probe.exchange(request, version, note=f"{timestamp}")
    transactions.ended(commit=True)
    for timestamp in (-1, TIME_MS - 10):
        list_stable(probe, topic, timestamp, note="ended")


@case()
def a_fetch_that_waits_for_the_end(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    waiting = fetch(topic, wanted(0), isolation_level=1, max_wait_ms=8_000, min_bytes=1)
    parked = probe.park(waiting, 12)
    transactions.ended(commit=True)
    probe.finish(parked)
    transactions.open((topic, 0))
    end = fetch(topic, wanted(2), isolation_level=1, max_wait_ms=300, min_bytes=1)
    probe.exchange(end, 12, note="nothing comes")


@case()
def records_deleted_below_an_open_transaction(probe: Probe) -> None:
    """In one segment: retention deletes a segment below the start, with the aborted transactions that are in it."""
    topic = probe.topic(segment_ms=str(2**63 - 1))
    transactions = Transactions(probe)
    fill(probe, topic, plain_batch(b"a"), plain_batch(b"b"))
    transactions.started((topic, 0))
    fill(probe, topic, plain_batch(b"c"))
    for offset in (1, 3, -1):
        partition = DeleteRecordsPartition(partition_index=0, offset=offset)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=5_000
        )
        probe.exchange(request, 2, note=str(offset))
        _read_both(probe, topic, 3, note=f"deleted up to {offset}")
    transactions.ended(commit=False)
    _read_both(probe, topic, 4, 5, note="aborted")


@case()
def plain_and_transactional_batches_of_one_producer(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    producer = transactions.producer_id, transactions.epoch
    probe.exchange(produce(topic, idempotent(*producer, 1)), 9, note="a plain batch in the transaction")
    transactions.ended(commit=True)
    probe.exchange(produce(topic, idempotent(*producer, 1)), 9, note="a plain batch after it")
    probe.exchange(produce(topic, idempotent(*producer, 0)), 9, note="a plain batch again")
    records = idempotent(*producer, 2, is_transactional=True)
    probe.exchange(produce(topic, records, transactional_id=transactions.id), 9, note="a late transactional batch")
    probe.exchange(describe((topic, (0,))), 0)


@case()
def sequences_and_epochs_in_transactions(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    producer_id, epoch = transactions.producer_id, transactions.epoch

    def send(epoch: int, sequence: int, note: str) -> Any:
        records = idempotent(producer_id, epoch, sequence, is_transactional=True)
        return probe.exchange(produce(topic, records, transactional_id=transactions.id), 9, note=note)

    send(epoch, 0, "a duplicate")
    send(epoch, 2, "a gap")
    send(epoch - 1, 0, "an older epoch")
    transactions.ended(commit=True)
    transactions.probe.exchange(transactions.add((topic, 0)), 3)
    send(epoch, 0, "the next transaction, from the beginning: a duplicate")
    send(epoch, 1, "the next transaction")
    probe.exchange(describe((topic, (0,))), 0)
    transactions.ended(commit=True)
    if probe.release == "4.3.1":
        for version in (10, 11, 12):
            records = idempotent(producer_id, epoch, 2, is_transactional=True)
            probe.exchange(produce(topic, records, transactional_id=transactions.id), version, note="not added")


@case()
def a_newer_epoch_in_a_transaction(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    newer = idempotent(transactions.producer_id, transactions.epoch + 1, 0, is_transactional=True)
    probe.exchange(produce(topic, newer, transactional_id=transactions.id), 9)
    probe.exchange(describe((topic, (0,))), 0)
    read(probe, topic)
