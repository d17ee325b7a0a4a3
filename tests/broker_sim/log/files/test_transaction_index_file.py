"""Transactions in the files of a log: `.txnindex`, producer snapshots, recovery."""

from __future__ import annotations

import struct

import pytest

from broker_sim.log.files.errors import CorruptFile
from broker_sim.log.files.transaction_index_file import aborted_from_bytes, aborted_to_bytes
from broker_sim.log.transaction_index import AbortedTransaction
from tests.broker_sim.log.files.conftest import Machine
from tests.broker_sim.log.transactional_log import ABORT, NOW_MS, TransactionalLog, without_verification


@pytest.fixture
def machine() -> Machine:
    return Machine(config=without_verification("4.3.1"))


INDEX = "00000000000000000000.txnindex"


def fill(machine: Machine) -> TransactionalLog:
    """Two aborted transactions in the first segment, one in the second; producer 7 has another one open."""
    log = TransactionalLog(machine.log())
    log.append(0)  # 0
    log.end(ABORT, coordinator_epoch=3)  # 1
    log.append(0, producer=8)  # 2
    log.append(1)  # 3
    log.end(ABORT, producer=8)  # 4
    log.log.roll(5, NOW_MS)
    log.end(ABORT, coordinator_epoch=3)  # 5
    log.append(2)  # 6
    return log


ABORTED = [(7, 0, 1, 2), (8, 2, 4, 3), (7, 3, 5, 6)]


def read(machine: Machine, name: str) -> list[tuple[int, ...]]:
    return list(struct.iter_unpack(">hqqqq", machine.disk.read(f"{machine.log().path}/{name}")))


def test_the_file_is_made_for_the_first_abort_and_has_kafkas_entries(machine: Machine) -> None:
    log = TransactionalLog(machine.log())
    log.append(0)
    log.end()
    assert INDEX not in machine.files()
    log.append(1)
    log.end(ABORT)
    assert read(machine, INDEX) == [(0, 7, 2, 3, 4)]


def test_an_entry_of_another_version_or_of_an_earlier_segment_is_corrupt() -> None:
    entries = [AbortedTransaction(7, 0, 5, 6), AbortedTransaction(7, 7, 8, 9)]
    data = aborted_to_bytes(entries)
    assert aborted_from_bytes(data, "f", 5) == entries
    assert aborted_from_bytes(data + b"torn", "f", 5) == entries
    for wrong, base_offset in ((b"\0\1" + data[2:], 0), (data, 6), (data + data, 0)):
        with pytest.raises(CorruptFile):
            aborted_from_bytes(wrong, "f", base_offset)


@pytest.mark.parametrize("end", ["stop", "kill", "lose_power"])
def test_a_restart_knows_aborted_and_open_transactions(machine: Machine, end: str) -> None:
    log = fill(machine)
    assert log.aborted == ABORTED
    log.log.flush(NOW_MS)
    machine.storage.checkpoint_high_watermarks()
    getattr(machine, end)()
    machine.start()
    again = TransactionalLog(machine.log())
    assert again.aborted == ABORTED
    assert again.open_since == again.log.last_stable_offset == 6
    assert again.log.producers.active_producers[7].coordinator_epoch == 3
    assert [name for name in machine.files() if name.endswith(".txnindex")] == [INDEX, "00000000000000000005.txnindex"]


def test_recovery_rebuilds_an_index_that_is_lost_or_wrong(machine: Machine) -> None:
    fill(machine)
    path = machine.log().path
    machine.stop()
    machine.disk.replace(f"{path}/{INDEX}", b"\0\7" + bytes(32))
    machine.start()
    assert TransactionalLog(machine.log()).aborted == ABORTED
    machine.kill()
    machine.disk.remove(f"{path}/00000000000000000005.txnindex")
    machine.start()
    assert TransactionalLog(machine.log()).aborted == ABORTED


def test_truncation_cuts_the_file_and_deletion_removes_it(machine: Machine) -> None:
    log = fill(machine)
    log.log.truncate_to(5)
    assert log.aborted == ABORTED[:2]
    log.log.truncate_to(3)
    assert read(machine, INDEX) == [(0, 7, 0, 1, 2)]
    log.log.truncate_fully_and_start_at(0)
    machine.reactor.run_for(ms=61_000)
    assert not [name for name in machine.files() if "txnindex" in name]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_restart_leaves_a_snapshot_at_the_end_of_the_log(machine: Machine, end: str) -> None:
    fill(machine)
    getattr(machine, end)()
    machine.start()
    snapshots = [name for name in machine.files() if name.endswith(".snapshot")]
    assert snapshots == ["00000000000000000005.snapshot", "00000000000000000007.snapshot"]


def test_no_snapshot_at_or_below_the_log_start_is_read_again(machine: Machine) -> None:
    log = fill(machine)
    log.log.maybe_increment_log_start_offset(6)
    machine.stop()
    machine.start()
    assert machine.log().producers.active_producers.keys() == {7, 8}, "the snapshot at the end has both"
    log = TransactionalLog(machine.log())
    log.log.maybe_increment_log_start_offset(7)
    machine.stop()
    machine.start()
    assert not machine.log().producers.active_producers, "the log start is the end"
    assert machine.log().last_stable_offset == 7


@pytest.mark.parametrize(
    ("deleted", "aborted", "last_sequence"), [(True, [(0, 7, 0, 9, 10)], {7: 8}), (False, [], {7: -1})]
)
def test_a_recovery_goes_by_the_log_start_of_the_checkpoint(
    machine: Machine, deleted: bool, aborted: list[tuple[int, ...]], last_sequence: dict[int, int]
) -> None:
    """As real 4.3.1 and 3.7.2: the checkpoint has no log start of a log that begins with its first segment."""
    log = TransactionalLog(machine.log())
    for sequence in range(9):
        log.append(sequence)
    log.log.roll(9, NOW_MS)
    log.log.maybe_increment_log_start_offset(9)
    log.end(ABORT)
    if deleted:
        log.log.delete_segments(1, NOW_MS)
    log.log.flush(NOW_MS)
    machine.storage.checkpoint()
    machine.kill()
    machine.start()
    found = machine.log().producers.active_producers
    assert read(machine, "00000000000000000009.txnindex") == aborted
    assert {producer: entry.last_sequence for producer, entry in found.items()} == last_sequence
    assert [name for name in machine.files() if name.endswith(".snapshot")] == ["00000000000000000010.snapshot"]
