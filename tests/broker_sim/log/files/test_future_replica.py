"""A log moves to another directory while it is written to."""

from __future__ import annotations

import pytest

from sim_runtime.virtual_disk import VirtualDisk
from tests.broker_sim.log.files.conftest import ORDERS, Machine, batch

LIMIT = "replica.alter.log.dirs.io.max.bytes.per.second"


@pytest.fixture
def machine() -> Machine:
    machine = Machine(directories=2, topic_config={"internal.segment.bytes": "400"})
    for value in range(30):
        machine.append(value, leader_epoch=value // 10, producer=(5, 0, value))
    return machine


def other(machine: Machine) -> str:
    return next(name for name in machine.names if name != machine.log().directory.path)


def test_a_log_is_somewhere_else_soon_after(machine: Machine) -> None:
    log, target = machine.log(), other(machine)
    source = log.directory.path
    machine.storage.move(ORDERS, target)
    assert log.directory.path == source
    [(moving, size, lag)] = machine.storage.futures_in(target)
    assert (moving, size, lag) == (ORDERS, 0, 30)
    machine.reactor.run_for(ms=1)
    assert machine.storage.futures_in(target) == []
    assert (log.directory.path, log.path, machine.storage.directories.of(ORDERS)) == (
        target,
        f"{target}/orders-0",
        target,
    )
    assert "orders-0" in machine.disk.list_directory(target)
    assert "orders-0" not in machine.disk.list_directory(source)
    machine.append(30, leader_epoch=3, producer=(5, 0, 30))
    for end in (machine.stop, machine.kill):
        end()
        machine.start()
        assert machine.log().directory.path == target
        assert machine.values() == list(range(31))
        assert [entry.epoch for entry in machine.log().epochs.entries] == [0, 1, 2, 3]
        assert machine.log().producers.active_producers[5].last_sequence == 30


def test_what_is_appended_meanwhile_comes_too() -> None:
    machine = Machine(directories=2)
    machine.storage.reconfigure(machine.broker_config.with_dynamic({}, {LIMIT: "100"}))
    for value in range(10):
        machine.append(value)
    target = other(machine)
    machine.storage.move(ORDERS, target)
    machine.reactor.run_for(ms=2_000)
    [(_, size, lag)] = machine.storage.futures_in(target)
    assert 0 < lag < 10
    assert size == 76 * (10 - lag)
    machine.log().append_as_leader(batch(10), leader_epoch=0, now_ms=machine.now_ms())
    machine.reactor.run_for(ms=20_000)
    assert (machine.log().directory.path, machine.values()) == (target, list(range(11)))


def test_a_log_that_begins_later_begins_there_again(machine: Machine) -> None:
    log, target = machine.log(), other(machine)
    log.update_high_watermark(log.log_end_offset)
    log.delete_segments(2, machine.now_ms())
    log.maybe_increment_log_start_offset(log.log_start_offset + 1)
    start, values = log.log_start_offset, machine.values()
    machine.storage.move(ORDERS, target)
    machine.reactor.run_for(ms=1)
    assert (log.directory.path, log.log_start_offset, machine.values()) == (target, start, values)


def test_a_move_back_before_the_end_is_no_move(machine: Machine) -> None:
    source, target = machine.log().directory.path, other(machine)
    machine.storage.move(ORDERS, target)
    machine.storage.move(ORDERS, source)
    machine.reactor.run_for(ms=1)
    assert machine.log().directory.path == source
    assert machine.storage.futures_in(target) == []
    assert machine.values() == list(range(30))


def test_a_move_that_was_cut_short_leaves_the_log_where_it_was() -> None:
    machine = Machine(directories=2)
    machine.storage.reconfigure(machine.broker_config.with_dynamic({}, {LIMIT: "100"}))
    for value in range(10):
        machine.append(value)
    source, target = machine.log().directory.path, other(machine)
    machine.storage.move(ORDERS, target)
    machine.reactor.run_for(ms=2_000)
    machine.kill()
    machine.start()
    assert machine.log().directory.path == source
    assert [name for name in machine.disk.list_directory(target) if name.startswith("orders")] == []


def test_a_failing_target_leaves_the_log_where_it_was(machine: Machine) -> None:
    assert isinstance(machine.disk, VirtualDisk)
    source, target = machine.log().directory.path, other(machine)
    machine.disk.fail(target, after_bytes=500)
    machine.storage.move(ORDERS, target)
    machine.reactor.run_for(ms=1)
    assert machine.offline == [target]
    assert machine.log().directory.path == source
    assert machine.append(30).base_offset == 30
