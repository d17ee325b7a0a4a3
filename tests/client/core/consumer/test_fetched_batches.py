"""The records of a fetched partition: transactions that ended either way, broken and cut-off batches."""

from __future__ import annotations

from typing import Final

import pytest

from broker_client.core.consumer.fetched_batches import FetchedPartition
from broker_client.core.consumer.fetched_table import table_of
from broker_client.errors import RecordTooLarge
from broker_client.records import TopicPartition
from protocol_specs.errors import ChecksumMismatch
from protocol_specs.messages.fetch import AbortedTransaction
from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    end_transaction_marker_batch,
)
from protocol_specs.records.message_set_builder import MessageSetBuilder

KEY: Final = TopicPartition("t", 0)
ONE, TWO = 11, 22


def batch(offset: int, *values: bytes, producer_id: int = -1, transactional: bool = False) -> bytes:
    builder = RecordBatchBuilder(
        base_offset=offset,
        partition_leader_epoch=4,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
        is_transactional=transactional,
    )
    for value in values:
        builder.append(1_000, None, value)
    return builder.build()


def part(offset: int, *values: bytes, producer_id: int) -> bytes:
    """A batch of a transaction."""
    return batch(offset, *values, producer_id=producer_id, transactional=True)


def marker(offset: int, kind: ControlRecordType, *, producer_id: int) -> bytes:
    return end_transaction_marker_batch(
        EndTransactionMarker(control_type=kind, coordinator_epoch=0),
        producer_id=producer_id,
        producer_epoch=0,
        timestamp_ms=1_000,
        base_offset=offset,
        partition_leader_epoch=5,
    )


def aborted(*pairs: tuple[int, int]) -> list[AbortedTransaction]:
    return [AbortedTransaction(producer_id=producer_id, first_offset=offset) for producer_id, offset in pairs]


def values_of(partition: FetchedPartition) -> list[bytes | None]:
    return [record.value for found in partition.batches() for record in found.records()]


TRANSACTIONS: Final = b"".join(
    (
        part(0, b"a", b"b", producer_id=ONE),
        part(2, b"c", producer_id=TWO),
        batch(3, b"plain"),
        batch(4, b"idempotent", producer_id=ONE),
        marker(5, ControlRecordType.ABORT, producer_id=ONE),
        part(6, b"d", producer_id=ONE),
        marker(7, ControlRecordType.COMMIT, producer_id=TWO),
        marker(8, ControlRecordType.COMMIT, producer_id=ONE),
        part(9, b"e", producer_id=TWO),
        marker(10, ControlRecordType.ABORT, producer_id=TWO),
    )
)


def test_aborted_transactions_are_left_out_and_others_stay_whole() -> None:
    # Brokers before 2.x name them in any order.
    partition = FetchedPartition(KEY, TRANSACTIONS, 0, aborted=aborted((TWO, 9), (ONE, 0)))
    assert values_of(partition) == [b"c", b"plain", b"idempotent", b"d"]
    assert (partition.next_offset, partition.last_epoch) == (11, 5)


def test_without_a_word_of_aborts_everything_but_markers_is_shown() -> None:
    assert values_of(FetchedPartition(KEY, TRANSACTIONS, 0)) == [b"a", b"b", b"c", b"plain", b"idempotent", b"d", b"e"]


def test_a_fetch_that_begins_inside_of_an_aborted_transaction_leaves_its_rest_out() -> None:
    records = part(10, b"x", b"y", producer_id=ONE) + marker(12, ControlRecordType.ABORT, producer_id=ONE)
    partition = FetchedPartition(KEY, records, 11, aborted=aborted((ONE, 3)))
    assert values_of(partition) == []
    assert partition.next_offset == 13


def test_tables_hold_what_is_shown_in_every_format() -> None:
    old = MessageSetBuilder(magic=1)
    old.append_with_offset(0, 500, None, b"old")
    records = old.build() + part(1, b"gone", producer_id=ONE) + batch(2, b"new")
    partition = FetchedPartition(KEY, records, 0, aborted=aborted((ONE, 1)))
    table = table_of(partition.batches())
    assert table.to_pydict() == {
        "topic": ["t", "t"],
        "partition": [0, 0],
        "offset": [0, 2],
        "timestamp": [500, 1_000],
        "key": [None, None],
        "value": [b"old", b"new"],
        "headers": [[], []],
    }


def test_a_broken_batch_raises_only_with_check_crcs() -> None:
    broken = bytearray(batch(0, b"value"))
    broken[-2] ^= 1
    with pytest.raises(ChecksumMismatch):
        FetchedPartition(KEY, bytes(broken), 0).batches()
    assert len(FetchedPartition(KEY, bytes(broken), 0, check_crcs=False).batches()) == 1


def test_a_message_larger_than_a_fetch_is_reported_with_the_option() -> None:
    whole = batch(0, b"v" * 100)
    with pytest.raises(RecordTooLarge, match=rf"{len(whole)} bytes .* max\.partition\.fetch\.bytes allows 50"):
        FetchedPartition(KEY, whole[:50], 0, partition_max_bytes=50).batches()
    cut_off = FetchedPartition(KEY, whole + batch(1, b"v" * 100)[:50], 0, partition_max_bytes=200)
    assert len(cut_off.batches()) == 1
    assert cut_off.next_offset == 1
