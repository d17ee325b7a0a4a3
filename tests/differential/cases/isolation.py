"""Fetch and ListOffsets of both isolation levels in every version, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from tests.differential.case import case
from tests.differential.cases.describe_producers import describe
from tests.differential.cases.fetch_sessions import open_session
from tests.differential.requests import (
    TIME_MS,
    await_next_millisecond,
    fetch,
    fill,
    idempotent,
    list_offsets,
    produce,
    timed,
    wanted,
)
from tests.differential.requests import batch as plain_batch
from tests.differential.transaction_requests import Transactions, read

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def _mixed_log(probe: Probe) -> tuple[str, Transactions]:
    """Return a log with committed, aborted, plain and, from offset 11 on, open data."""
    topic = probe.topic()
    fill(probe, topic, plain_batch(b"0", time_ms=TIME_MS - 100))
    transactions, other = Transactions(probe, "t"), Transactions(probe, "o")
    transactions.begin()
    other.started((topic, 0))
    transactions.open((topic, 0))
    transactions.write(topic)
    transactions.ended(commit=False)
    fill(probe, topic, timed(TIME_MS + 50, TIME_MS + 70))
    other.ended(commit=False)
    await_next_millisecond()  # the newest time has one offset then
    transactions.open((topic, 0))
    transactions.ended(commit=True)
    transactions.open((topic, 0))
    fill(probe, topic, plain_batch(b"x", b"y", time_ms=TIME_MS + 200))
    return topic, transactions


@case()
def fetches_in_every_version(probe: Probe) -> None:
    topic, transactions = _mixed_log(probe)
    topic_id = probe.topic_id(topic)
    for ended in (False, True):
        for version in range(4, 17 if probe.release == "3.7.2" else 18):
            for offset in (0, 3, 11):
                for level in (0, 1):
                    request = fetch(topic, wanted(offset), topic_id=topic_id, isolation_level=level)
                    probe.exchange(request, version, note=f"level {level}, offset {offset}")
        if not ended:
            transactions.ended(commit=False)


@case()
def fetches_of_odd_offsets_and_sizes(probe: Probe) -> None:
    topic, _ = _mixed_log(probe)
    for level in (0, 1, 2, -1):
        for offset in range(-1, 17):
            probe.exchange(fetch(topic, wanted(offset), isolation_level=level), 12, note=f"{level} {offset}")
    for level in (0, 1):
        for size in (0, 1, 70, 140, 210, 400, 600):
            partition = wanted(2, max_bytes=size)
            probe.exchange(fetch(topic, partition, isolation_level=level), 11, note=f"{level} {size}")
            request = fetch(topic, wanted(2), isolation_level=level, max_bytes=size)
            probe.exchange(request, 11, note=f"{level} {size} in all")


@case()
def fetches_with_leader_epochs(probe: Probe) -> None:
    topic, _ = _mixed_log(probe)
    for level in (0, 1):
        for epoch in (-1, 0, 1, -2):
            partition = wanted(2, leader_epoch=epoch)
            probe.exchange(fetch(topic, partition, isolation_level=level), 12, note=f"{level} {epoch}")
        for fetched in (-1, 0, 3):
            for offset in (2, 12, 14):
                partition = wanted(offset, last_fetched_epoch=fetched)
                request = fetch(topic, partition, isolation_level=level)
                probe.exchange(request, 12, note=f"{level} {offset}, fetched {fetched}")


@case()
def sessions_of_both_levels(probe: Probe) -> None:
    topic, transactions = _mixed_log(probe)
    opened = open_session(probe, topic, wanted(11), isolation_level=1)
    for epoch, note in enumerate(("nothing new", "nothing new still"), 1):
        probe.exchange(fetch(None, session_id=opened, session_epoch=epoch, isolation_level=1), 12, note=note)
    transactions.write(topic)
    request = fetch(None, session_id=opened, session_epoch=3, isolation_level=1)
    probe.exchange(request, 12, note="the high watermark has moved")
    probe.exchange(fetch(None, session_id=opened, session_epoch=4), 12, note="now uncommitted")
    probe.exchange(fetch(topic, wanted(15), session_id=opened, session_epoch=5, isolation_level=1), 12, note="at end")
    transactions.ended(commit=False)
    probe.exchange(fetch(None, session_id=opened, session_epoch=6, isolation_level=1), 12, note="ended")
    probe.exchange(fetch(topic, wanted(8), session_id=opened, session_epoch=7, isolation_level=1), 12, note="back")
    probe.exchange(fetch(None, session_id=opened, session_epoch=8, isolation_level=1), 12, note="again")


@case()
def offsets_in_every_version(probe: Probe) -> None:
    topic, transactions = _mixed_log(probe)
    stamps = (-1, -2, -3, -4, -5, -6, TIME_MS - 100, TIME_MS, TIME_MS + 51, TIME_MS + 71, TIME_MS + 200, TIME_MS + 201)
    for ended in (False, True):
        for version in range(2, 9) if probe.release == "3.7.2" else range(2, 11):
            for level in (0, 1):
                for stamp in stamps:
                    request = list_offsets(topic, stamp, isolation_level=level)
                    probe.exchange(request, version, note=f"{level} {stamp - TIME_MS if stamp > 0 else stamp}")
        if not ended:
            transactions.ended(commit=True)


@case()
def offsets_with_epochs_and_replicas(probe: Probe) -> None:
    topic, _ = _mixed_log(probe)
    for level in (0, 1, 2, -1):
        for epoch in (-1, 0, 1):
            for replica in (-1, -2, -3, 1):
                request = list_offsets(topic, -1, leader_epoch=epoch, replica_id=replica, isolation_level=level)
                probe.exchange(request, 5, note=f"{level} {epoch} {replica}")


@case()
def the_newest_time_is_that_of_an_open_transaction(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, plain_batch(b"0", time_ms=TIME_MS - 100))
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    stamps = (-1, -3, TIME_MS)
    for level in (0, 1):
        for stamp in stamps:
            probe.exchange(list_offsets(topic, stamp, isolation_level=level), 7, note=f"{level} {stamp}")
    records = idempotent(
        transactions.producer_id, transactions.epoch, 1, b"1", b"2", time_ms=TIME_MS * 2, is_transactional=True
    )
    probe.exchange(produce(topic, records, transactional_id=transactions.id), 9)
    for ended in (False, True):
        for level in (0, 1):
            for stamp in stamps:
                probe.exchange(list_offsets(topic, stamp, isolation_level=level), 7, note=f"{level} {stamp}, {ended}")
        if not ended:
            transactions.ended(commit=False)


@case()
def producers_in_each_phase(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    transactions = Transactions(probe)
    transactions.begin()
    request = describe((topic, (0, 1, 2, 9)), ("unknown", (0,)), ("", (0,)))
    probe.exchange(request, 0, note="begun")
    probe.exchange(transactions.add((topic, 0), (topic, 1)), 3)
    probe.exchange(request, 0, note="added")
    for number in range(3):
        transactions.write(topic)
        probe.exchange(request, 0, note=f"written {number}")
    transactions.ended(commit=True)
    probe.exchange(request, 0, note="committed")
    transactions.open((topic, 1), (topic, 2))
    probe.exchange(request, 0, note="open again")
    probe.exchange(transactions.init(), 4)
    transactions.await_state("CompleteAbort")
    probe.exchange(request, 0, note="fenced")
    transactions.begin()
    probe.exchange(request, 0, note="begun again")
    transactions.open((topic, 0))
    probe.exchange(request, 0, note="open once more")


@case()
def a_topic_that_is_deleted_in_a_transaction(probe: Probe) -> None:
    topic, other = probe.topic(), probe.topic("u")
    transactions = Transactions(probe)
    transactions.started((topic, 0), (other, 0))
    probe.exchange(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5_000), 5)
    transactions.describe()
    probe.exchange(transactions.end(commit=True), 3)
    transactions.await_state("CompleteCommit")
    transactions.describe()
    read(probe, other)


@case()
def records_deleted_behind_aborted_transactions(probe: Probe) -> None:
    topic, transactions = _mixed_log(probe)
    for offset in (3, 8, 12, 13, 20, -1):
        partition = DeleteRecordsPartition(partition_index=0, offset=offset)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=5_000
        )
        probe.exchange(request, 2, note=str(offset))
        for level in (0, 1):
            read(probe, topic, max(offset, 0), committed=bool(level), note=f"deleted up to {offset}")
            probe.exchange(list_offsets(topic, -2, isolation_level=level), 5)
            probe.exchange(list_offsets(topic, -1, isolation_level=level), 5)
    transactions.ended(commit=True)
    for offset in (11, 13, 14, 15):
        read(probe, topic, offset)


@case()
def aborted_transactions_of_reads_without_batches(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    transactions = Transactions(probe)
    transactions.begin()
    for _ in range(3):
        transactions.open((topic, 0), (topic, 1))
        transactions.ended(commit=False)
    for limits in ((1, 0), (1, 1), (0, 10_000), (0, 0)):
        for offset in (0, 3, 5, 6):
            places = [wanted(offset, partition=index, max_bytes=limit) for index, limit in enumerate(limits)]
            for total in (1_000_000, 0):
                request = fetch(topic, *places, isolation_level=1, max_bytes=total)
                probe.exchange(request, 12, note=f"{limits} of {total} from {offset}")
