"""Log directories from start to end: what is found again after an orderly stop, a kill, and a loss of power."""

from __future__ import annotations

import errno

import pytest

from broker_sim.log.append_results import RecordsRefused
from broker_sim.log.files.checkpoint_files import read_offsets
from broker_sim.log.files.errors import CorruptFile, ForeignDirectory
from broker_sim.log.log_directories import LogDirectoryOffline
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from sim_runtime.virtual_disk import VirtualDisk
from tests.broker_sim.log.files.conftest import ORDERS, TOPIC_ID, Machine

SMALL = {"internal.segment.bytes": "400", "index.interval.bytes": "100"}


def test_an_orderly_stop_leaves_what_the_next_start_finds(machine: Machine) -> None:
    for value in range(20):
        machine.append(value, leader_epoch=value // 10, producer=(5, 0, value))
    machine.log().update_high_watermark(15)
    before = machine.log()
    machine.stop()
    assert machine.disk.is_file("/data/0/.kafka_cleanshutdown")
    machine.start()
    log = machine.log()
    assert log is not before
    assert machine.values() == list(range(20))
    assert (log.log_end_offset, log.high_watermark, log.recovery_point) == (20, 15, 20)
    assert log.epochs.entries == before.epochs.entries
    assert log.producers.active_producers[5].last_sequence == 19
    assert not machine.disk.is_file("/data/0/.kafka_cleanshutdown")


def test_a_killed_process_loses_nothing(machine: Machine) -> None:
    machine.append(1, 2, 3, producer=(5, 0, 0))
    machine.kill()
    machine.start()
    assert machine.values() == [1, 2, 3]
    assert machine.log().producers.active_producers[5].last_sequence == 2
    assert machine.log().epochs.entries == ((0, 0),)


def test_a_loss_of_power_loses_what_was_not_flushed() -> None:
    ends = []
    for seed in range(12):
        machine = Machine()
        machine.random.seed(seed)
        machine.append(0, 1)
        machine.log().flush(machine.now_ms())
        for value in range(2, 12):
            machine.append(value)
        machine.lose_power()
        machine.start()
        assert machine.values() == list(range(machine.log().log_end_offset))
        ends.append(machine.log().log_end_offset)
    assert min(ends) >= 2
    assert len(set(ends)) > 3


@pytest.mark.parametrize("messages", [1, 3])
def test_flush_messages_bounds_what_power_can_take(messages: int) -> None:
    machine = Machine(topic_config={"flush.messages": str(messages)})
    for value in range(10):
        machine.append(value)
        assert machine.log().log_end_offset - machine.log().recovery_point < messages
    machine.lose_power()
    machine.start()
    assert machine.log().log_end_offset > 10 - messages


def test_flush_ms_is_looked_at_by_the_scheduler_alone() -> None:
    unscheduled = Machine(topic_config={"flush.ms": "10"})
    scheduled = Machine(topic_config={"flush.ms": "100"}, config={"log.flush.scheduler.interval.ms": "50"})
    for machine in (unscheduled, scheduled):
        machine.append(1)
        machine.reactor.run_for(ms=90)
        assert machine.log().recovery_point == 0
        machine.reactor.run_for(ms=60)
    assert (unscheduled.log().recovery_point, scheduled.log().recovery_point) == (0, 1)


def test_checkpoints_are_written_every_so_often() -> None:
    machine = Machine()
    machine.append(1, 2, 3)
    machine.log().update_high_watermark(3)
    machine.log().maybe_increment_log_start_offset(2)
    machine.log().flush(machine.now_ms())
    machine.reactor.run_for(ms=5_000)
    assert read_offsets(machine.disk, "/data/0/replication-offset-checkpoint") == {ORDERS: 3}
    assert not machine.disk.is_file("/data/0/recovery-point-offset-checkpoint")
    machine.reactor.run_for(ms=55_000)
    assert read_offsets(machine.disk, "/data/0/recovery-point-offset-checkpoint") == {ORDERS: 3}
    assert read_offsets(machine.disk, "/data/0/log-start-offset-checkpoint") == {ORDERS: 2}
    machine.lose_power()
    machine.start()
    assert (machine.log().log_start_offset, machine.log().high_watermark) == (2, 3)


def test_recovery_begins_at_the_recovery_point() -> None:
    """Records before the recovery point are trusted; a torn batch after it is truncated with all that follows."""
    machine = Machine(topic_config=SMALL)
    for value in range(30):
        machine.append(value)
    bases = [segment.base_offset for segment in machine.log().segments]
    path = machine.log().path
    machine.storage.checkpoint()
    machine.kill()
    torn = f"{path}/{bases[-2]:020d}.log"
    data = bytearray(machine.disk.read(torn))
    data[-1] ^= 1
    machine.disk.replace(torn, bytes(data))
    machine.disk.remove("/data/0/recovery-point-offset-checkpoint")
    machine.start()
    assert machine.log().log_end_offset == bases[-1] - 1
    assert machine.values() == list(range(bases[-1] - 1))
    assert f"{bases[-1]:020d}.log" not in machine.files()


def test_a_flaw_below_the_recovery_point_is_not_looked_for() -> None:
    machine = Machine(topic_config=SMALL)
    for value in range(30):
        machine.append(value)
    path = machine.log().path
    machine.storage.checkpoint()
    machine.kill()
    first = f"{path}/{0:020d}.log"
    data = bytearray(machine.disk.read(first))
    data[-1] ^= 1
    machine.disk.replace(first, bytes(data))
    machine.start()
    assert machine.log().log_end_offset == 30


def test_what_is_not_made_of_batches_is_refused_by_file_and_byte() -> None:
    machine = Machine(topic_config=SMALL)
    for value in range(30):
        machine.append(value)
    path = f"{machine.log().path}/{0:020d}.log"
    machine.stop()
    machine.disk.replace(path, machine.disk.read(path)[:-5])
    with pytest.raises(CorruptFile) as refused:
        machine.start()
    assert refused.value.path == path
    assert str(refused.value).startswith(f"{path}: byte 304: a batch of 76 bytes at offset 4, but 71 bytes are left")


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["missing", "odd", "backwards"])
def test_a_wrong_index_is_made_anew(suffix: str, damage: str) -> None:
    machine = Machine(topic_config=SMALL)
    for value in range(30):
        machine.append(value)
    path = f"{machine.log().path}/{0:020d}{suffix}"
    machine.stop()
    sound = machine.disk.read(path)
    assert sound
    if damage == "missing":
        machine.disk.remove(path)
    else:
        machine.disk.replace(path, sound[:-1] if damage == "odd" else sound + bytes(24))
    machine.start()
    assert len(machine.disk.read(path)) % (8 if suffix == ".index" else 12) == 0
    assert machine.values() == list(range(30))


def test_a_topic_that_was_made_anew_has_a_new_log(machine: Machine) -> None:
    machine.append(1, 2, 3)
    machine.stop()
    machine.start()
    log = machine.storage.get_or_create(ORDERS, bytes(reversed(TOPIC_ID)), {}, machine.now_ms())
    assert log.log_end_offset == 0
    names = machine.disk.list_directory("/data/0")
    assert [name for name in names if name.startswith("orders-0.") and name.endswith("-delete")]
    machine.reactor.run_for(ms=60_000)
    assert [name for name in machine.disk.list_directory("/data/0") if name.startswith("orders")] == ["orders-0"]


def test_a_deleted_log_that_was_not_removed_yet_goes_at_the_next_start(machine: Machine) -> None:
    machine.append(1)
    machine.storage.delete(ORDERS)
    machine.kill()
    machine.start()
    assert [name for name in machine.disk.list_directory("/data/0") if name.startswith("orders")] == []


def test_a_directory_is_used_by_one_broker_of_one_cluster(machine: Machine) -> None:
    with pytest.raises(ForeignDirectory, match=r"/data/0/\.lock is locked"):
        machine.start()
    machine.kill()
    machine.storage.lose_power(machine.random)
    with pytest.raises(ForeignDirectory, match=r"cluster\.id=A+Q is another cluster than this one, x"):
        machine.start(cluster_id="x")
    with pytest.raises(ForeignDirectory, match=r"node\.id=1 is another broker than this one, 2"):
        machine.start(broker_id=2)
    machine.start()


def test_a_directory_keeps_its_id(machine: Machine) -> None:
    before = machine.storage.directory_id("/data/0")
    machine.stop()
    machine.start()
    assert machine.storage.directory_id("/data/0") == before
    assert len(before) == 16


def test_an_append_to_a_failing_disk_is_a_storage_error() -> None:
    machine = Machine(directories=2)
    assert isinstance(machine.disk, VirtualDisk)
    machine.append(1)
    directory = machine.log().directory.path
    machine.disk.fail(directory, after_bytes=30)
    with pytest.raises(RecordsRefused) as refused:
        machine.append(2)
    assert refused.value.error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert machine.offline == []
    machine.reactor.run_for(ms=0)
    assert machine.offline == [directory]
    with pytest.raises(LogDirectoryOffline):
        machine.log()
    assert ORDERS not in machine.storage.logs
    other = machine.log(TopicPartition("orders", 1))
    assert other.directory.path != directory
    machine.disk.mend(directory)
    machine.stop()
    machine.start()
    assert machine.values() == [1]


def test_a_full_disk_fails_its_directory(machine: Machine) -> None:
    assert isinstance(machine.disk, VirtualDisk)
    machine.append(1)
    machine.disk.fill("/data/0", left_bytes=10)
    with pytest.raises(RecordsRefused):
        machine.append(2)
    machine.reactor.run_for(ms=0)
    assert machine.offline == ["/data/0"]


def test_a_checkpoint_notices_a_directory_that_is_gone(machine: Machine) -> None:
    machine.append(1)
    machine.reactor.run_for(ms=6_000)
    machine.disk.remove("/data/0")
    machine.reactor.run_for(ms=5_000)
    assert machine.offline == ["/data/0"]


def test_a_directory_that_cannot_be_read_at_the_start_is_offline() -> None:
    disk = VirtualDisk()
    disk.make_directory("/data")
    disk.fail("/data/1")
    machine = Machine(disk=disk, directories=2)
    assert list(machine.storage.directories.offline) == ["/data/1"]
    assert {machine.log(TopicPartition("t", index)).directory.path for index in range(3)} == {"/data/0"}


def test_logs_are_spread_over_the_directories_and_found_in_each() -> None:
    machine = Machine(directories=3)
    partitions = [TopicPartition("orders", index) for index in range(6)]
    before = [machine.log(each).directory.path for each in partitions]
    assert sorted(before) == sorted(2 * machine.names)
    machine.stop()
    machine.start()
    assert [machine.log(each).directory.path for each in partitions] == before


def test_a_refused_disk_error_names_the_directory(machine: Machine) -> None:
    assert isinstance(machine.disk, VirtualDisk)
    machine.disk.fail("/data/0")
    with pytest.raises(OSError) as refused:
        machine.disk.read("/data/0/x")
    assert refused.value.errno == errno.EIO
