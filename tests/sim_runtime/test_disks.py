"""The common behaviour of the real and the virtual disk: the same tests for both."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from sim_runtime.real_disk import OPEN_FILES_MAX, RealDisk
from sim_runtime.virtual_disk import VirtualDisk

if TYPE_CHECKING:
    from pathlib import Path

    from sim_runtime.disk import Disk


@pytest.fixture(params=["real", "virtual"])
def disk(request: pytest.FixtureRequest) -> Disk:
    return RealDisk() if request.param == "real" else VirtualDisk()


@pytest.fixture
def folder(disk: Disk, tmp_path: Path) -> str:
    disk.make_directory(str(tmp_path))
    return str(tmp_path)


def test_a_file_grows_at_its_end(disk: Disk, folder: str) -> None:
    file = disk.open(f"{folder}/a")
    file.append(b"one")
    file.append(memoryview(b"two"))
    assert (file.size, disk.size(f"{folder}/a"), disk.read(f"{folder}/a")) == (6, 6, b"onetwo")
    file.close()
    again = disk.open(f"{folder}/a")
    again.append(b"!")
    assert disk.read(f"{folder}/a") == b"onetwo!"
    again.truncate(3)
    again.append(b".")
    assert (again.size, disk.read(f"{folder}/a")) == (4, b"one.")
    again.close()


def test_names_are_listed_in_order_and_change(disk: Disk, folder: str) -> None:
    disk.make_directory(f"{folder}/b/c")
    disk.make_directory(f"{folder}/b/c")
    disk.replace(f"{folder}/b/x", b"1")
    disk.replace(f"{folder}/b/x", b"2")
    disk.replace(f"{folder}/a", b"")
    assert disk.list_directory(folder) == ["a", "b"]
    assert disk.list_directory(f"{folder}/b") == ["c", "x"]
    disk.rename(f"{folder}/b", f"{folder}/d")
    assert disk.read(f"{folder}/d/x") == b"2"
    assert disk.is_directory(f"{folder}/d/c")
    assert not disk.is_directory(f"{folder}/b")
    disk.rename(f"{folder}/d/x", f"{folder}/a")
    assert disk.read(f"{folder}/a") == b"2"
    disk.remove(f"{folder}/d")
    disk.remove(f"{folder}/a")
    assert disk.list_directory(folder) == []


def test_what_is_not_there_is_an_os_error(disk: Disk, folder: str) -> None:
    for access in (disk.read, disk.size, disk.remove, disk.list_directory):
        with pytest.raises(FileNotFoundError):
            access(f"{folder}/none")
    with pytest.raises(FileNotFoundError):
        disk.open(f"{folder}/none/a")
    with pytest.raises(FileNotFoundError):
        disk.rename(f"{folder}/none", f"{folder}/a")
    with pytest.raises(FileNotFoundError):
        disk.replace(f"{folder}/none/a", b"")
    assert not disk.is_file(f"{folder}/none")


def test_a_directory_cannot_be_made_where_a_file_is(disk: Disk, folder: str) -> None:
    disk.replace(f"{folder}/a", b"")
    with pytest.raises(FileExistsError):
        disk.make_directory(f"{folder}/a")


def test_a_lock_is_held_by_one(disk: Disk, folder: str) -> None:
    lock = disk.lock(f"{folder}/.lock")
    with pytest.raises(BlockingIOError):
        disk.lock(f"{folder}/.lock")
    lock.release()
    lock.release()
    disk.lock(f"{folder}/.lock").release()


def test_power_keeps_what_was_synced_and_a_part_of_the_rest(disk: Disk, folder: str) -> None:
    lengths = []
    for seed in range(40):
        path = f"{folder}/{seed}"
        file = disk.open(path)
        file.append(b"s" * 100)
        file.sync()
        file.append(b"u" * 50)
        file.append(b"v" * 50)
        file.close()
        disk.lose_power(folder, random.Random(seed))
        left = disk.read(path)
        assert left.startswith(b"s" * 100)
        lengths.append(len(left))
    assert min(lengths) < 110
    assert max(lengths) > 190


def test_what_power_left_is_not_lost_by_the_next_loss(disk: Disk, folder: str) -> None:
    file = disk.open(f"{folder}/a")
    file.append(b"u" * 100)
    file.close()
    disk.lose_power(folder, random.Random(3))
    left = disk.read(f"{folder}/a")
    assert left
    disk.lose_power(folder, random.Random(3))
    assert disk.read(f"{folder}/a") == left


def test_a_renamed_file_is_as_little_durable_as_before(disk: Disk, folder: str) -> None:
    disk.make_directory(f"{folder}/old")
    file = disk.open(f"{folder}/old/a")
    file.append(b"u" * 1000)
    file.close()
    disk.rename(f"{folder}/old", f"{folder}/new")
    disk.lose_power(f"{folder}/new", random.Random(1))
    assert len(disk.read(f"{folder}/new/a")) < 1000


def test_a_file_that_is_cut_keeps_what_was_synced_of_it(disk: Disk, folder: str) -> None:
    file = disk.open(f"{folder}/a")
    file.append(b"0123456789")
    file.sync()
    file.truncate(4)
    file.close()
    disk.lose_power(folder, random.Random(0))
    assert disk.read(f"{folder}/a") == b"0123"


def test_there_is_room(disk: Disk, folder: str) -> None:
    space = disk.space(folder)
    assert space.total_bytes >= space.usable_bytes > 0


def test_more_files_are_written_to_than_stay_open(tmp_path: Path) -> None:
    disk = RealDisk()
    files = [disk.open(f"{tmp_path}/{number}") for number in range(OPEN_FILES_MAX + 20)]
    for turn in (b"a", b"b"):
        for file in files:
            file.append(turn)
    for file in files:
        file.sync()
        file.close()
    assert all(disk.read(f"{tmp_path}/{number}") == b"ab" for number in range(len(files)))
