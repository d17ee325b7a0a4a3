"""Wrong writes and read errors of single files."""

from __future__ import annotations

import errno

import pytest

from sim_runtime.file_faults import FileFault, LostWrite, MisdirectedWrite, TornWrite, place_in
from sim_runtime.virtual_disk import VirtualDisk


def disk_with(content: bytes) -> VirtualDisk:
    disk = VirtualDisk()
    for path in ("/a", "/b"):
        disk.open(path).append(content)
    return disk


def test_each_wrong_write_keeps_the_length() -> None:
    before = bytearray(b"abcdef")
    assert LostWrite().store(before, b"XYZ") == bytes(3)
    assert TornWrite(0.5).store(before, b"WXYZ") == b"WX\0\0"
    assert TornWrite(1).store(before, b"WXYZ") == b"WXY\0"
    assert before == b"abcdef"
    assert MisdirectedWrite(0.5).store(before, b"WXYZ") == bytes(4)
    assert before == b"abcWXY"
    assert MisdirectedWrite(0.5).store(bytearray(), b"W") == b"\0"


def test_a_place_is_within_the_bytes() -> None:
    assert [place_in(8, share) for share in (0, 0.5, 0.999, 1)] == [0, 4, 7, 7]


def test_a_fault_covers_some_files_for_some_writes_or_until_it_ends() -> None:
    disk = disk_with(b"..")
    disk.fail_files(FileFault(covers=lambda path: path == "/a", write=LostWrite(), writes_left=1))
    for path in ("/a", "/b"):
        disk.open(path).append(b"x")
        disk.open(path).append(b"y")
    assert (disk.read("/a"), disk.read("/b")) == (b"..\0y", b"..xy")
    end = disk.fail_files(FileFault(covers=lambda path: path == "/b", write=LostWrite()))
    disk.replace("/b", b"zz")
    end()
    assert disk.read("/b") == b"\0\0"
    disk.replace("/b", b"zz")
    assert disk.read("/b") == b"zz"


def test_a_read_error_ends() -> None:
    disk = disk_with(b"..")
    end = disk.fail_files(FileFault(covers=lambda path: path == "/a", read_error=errno.EIO))
    with pytest.raises(OSError, match="/a"):
        disk.read("/a")
    assert disk.read("/b") == b".."
    end()
    assert disk.read("/a") == b".."


def test_one_bit_flips() -> None:
    disk = disk_with(b"\x00\x00")
    disk.flip_bit("/a", 1, 3)
    assert disk.read("/a") == b"\x00\x08"
    assert disk.files(lambda path: path == "/a") == {"/a": 2}
