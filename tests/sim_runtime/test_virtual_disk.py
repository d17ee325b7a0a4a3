"""Behaviour of the virtual disk alone: faults on demand, and the same losses for the same seed."""

from __future__ import annotations

import errno
import random

import pytest

from sim_runtime.virtual_disk import VirtualDisk


@pytest.fixture
def disk() -> VirtualDisk:
    disk = VirtualDisk()
    disk.make_directory("/a/t-0")
    disk.make_directory("/b")
    return disk


def test_a_failed_directory_raises_eio_for_everything_and_others_do_not(disk: VirtualDisk) -> None:
    file = disk.open("/a/t-0/log")
    disk.fail("/a")
    for access in (disk.read, disk.size, disk.is_file, disk.open, disk.remove, disk.space):
        with pytest.raises(OSError) as refused:
            access("/a/t-0/log")
        assert refused.value.errno == errno.EIO
    for write in (lambda: file.append(b"x"), file.sync, lambda: file.truncate(0)):
        with pytest.raises(OSError):
            write()
    disk.replace("/b/x", b"1")
    disk.mend("/a")
    file.append(b"x")
    assert disk.read("/a/t-0/log") == b"x"


def test_a_directory_fails_in_the_middle_of_a_write(disk: VirtualDisk) -> None:
    file = disk.open("/a/t-0/log")
    disk.fail("/a", after_bytes=5)
    file.append(b"abc")
    with pytest.raises(OSError) as refused:
        file.append(b"def")
    assert (refused.value.errno, file.size) == (errno.EIO, 5)
    assert disk.read("/a/t-0/log") == b"abcde"


def test_a_full_directory_keeps_what_fits(disk: VirtualDisk) -> None:
    file = disk.open("/a/t-0/log")
    disk.fill("/a", left_bytes=4)
    assert disk.space("/a").usable_bytes == 4
    with pytest.raises(OSError) as refused:
        file.append(b"abcdef")
    assert refused.value.errno == errno.ENOSPC
    with pytest.raises(OSError):
        disk.replace("/a/x", b"1")
    assert disk.read("/a/t-0/log") == b"abcd"


def test_the_same_seed_loses_the_same(disk: VirtualDisk) -> None:
    def left(seed: int) -> bytes:
        disk = VirtualDisk()
        disk.open("/log").append(b"u" * 5000)
        assert disk.unsynced_bytes("/") == 5000
        disk.lose_power("/", random.Random(seed))
        return disk.read("/log")

    assert [left(seed) for seed in range(5)] == [left(seed) for seed in range(5)]
    assert len({left(seed) for seed in range(5)}) > 1


def test_a_loss_of_power_frees_the_locks_of_its_machine(disk: VirtualDisk) -> None:
    disk.lock("/a/.lock")
    held = disk.lock("/b/.lock")
    disk.lose_power("/a", random.Random(0))
    disk.lock("/a/.lock")
    with pytest.raises(BlockingIOError):
        disk.lock("/b/.lock")
    held.release()
