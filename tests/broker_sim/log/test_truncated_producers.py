"""The producer state of a log after truncations: which snapshot it comes from, and what is replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker_sim.log.files.conftest import Machine
from tests.broker_sim.log.transactional_log import ABORT, TransactionalLog, without_verification

if TYPE_CHECKING:
    from broker_sim.log.producer_state import ProducerStateEntry


def state(log: TransactionalLog, producer: int = 7) -> ProducerStateEntry:
    return log.log.producers.active_producers[producer]


def kept(log: TransactionalLog) -> list[int]:
    """Return the first sequences of the batches that producer 7 may repeat."""
    return [batch.first_sequence for batch in state(log).batches]


def test_a_snapshot_keeps_the_newest_batch_of_a_producer() -> None:
    log = TransactionalLog()
    for sequence in range(4):
        log.append(sequence)
    log.log.roll(log.log.log_end_offset, 0)
    log.append(4)
    log.append(5)
    log.log.truncate_to(5)
    assert kept(log) == [3, 4]
    assert log.open_since == 0


def test_a_truncation_leaves_a_snapshot_for_the_next_one() -> None:
    log = TransactionalLog()
    for sequence in range(4):
        log.append(sequence)
    log.log.truncate_to(3)
    assert kept(log) == [0, 1, 2]
    log.append(3)
    log.append(4)
    log.log.truncate_to(4)
    assert kept(log) == [2, 3]  # from the snapshot at 3
    log.log.truncate_to(2)
    assert kept(log) == [0, 1]  # which is beyond this end, and gone
    log.append(2)
    log.log.truncate_to(3)  # nothing is beyond it
    assert kept(log) == [0, 1, 2]


def test_a_log_without_producers_replays_none() -> None:
    log = TransactionalLog()
    log.append(0, transactional=False)
    log.append(1, transactional=False)
    interval_ms = 10 * 60 * 1000
    log.log.producers.remove_expired(2 * log.log.producers.expiration_ms + 10**13 + interval_ms)
    assert not log.log.producers.active_producers
    log.log.truncate_to(1)
    assert not log.log.producers.active_producers


def test_an_expired_producer_does_not_return_from_a_snapshot() -> None:
    log = TransactionalLog()
    log.append(0, transactional=False)
    log.append(0, producer=8)
    log.log.roll(log.log.log_end_offset, 0)
    log.append(1, producer=8)
    log.log.producers.remove_expired(10**13)
    assert list(log.log.producers.active_producers) == [8]
    log.log.truncate_to(2)
    assert list(log.log.producers.active_producers) == [8]


def test_transactions_that_ended_below_the_high_watermark_hold_nothing_back() -> None:
    log = TransactionalLog()
    log.append(0)
    log.end(ABORT)
    log.append(0, producer=8, transactional=False)
    log.held = True
    log.append(1, producer=8, transactional=False)
    log.append(2, producer=8, transactional=False)
    assert log.log.last_stable_offset == 3
    log.log.truncate_to(4)
    assert log.log.last_stable_offset == 3
    assert log.aborted == [(7, 0, 1, 2)]


def test_an_undone_marker_opens_the_transaction_again() -> None:
    log = TransactionalLog()
    log.append(0)
    log.log.roll(log.log.log_end_offset, 0)
    log.append(1)
    log.end(ABORT)
    assert (log.open_since, len(log.aborted)) == (-1, 1)
    log.log.truncate_to(2)
    assert (log.open_since, log.aborted, log.log.last_stable_offset) == (0, [], 0)


def test_a_truncation_writes_a_snapshot_at_the_new_end() -> None:
    machine = Machine(config=without_verification("4.3.1"))
    made = TransactionalLog(machine.log())
    for sequence in range(4):
        made.append(sequence)
    made.log.truncate_to(3)
    names = machine.disk.list_directory(machine.log().path)
    assert [name for name in names if name.endswith(".snapshot")] == ["00000000000000000003.snapshot"]
    made.log.truncate_to(1)
    made.log.truncate_fully_and_start_at(9)
    names = machine.disk.list_directory(machine.log().path)
    assert [name for name in names if name.endswith(".snapshot")] == ["00000000000000000009.snapshot"]
