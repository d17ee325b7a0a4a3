"""A disk in memory, for runs on virtual time: with a page cache that a power loss empties, and faults on demand.

A fault applies to a directory and everything below it: errors from the next access on, or after a number of written
bytes, or a full disk, which keeps the bytes that fit. Single files have the faults of `file_faults`.
"""

from __future__ import annotations

import errno
import os
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sim_runtime.disk import DiskSpace
from sim_runtime.torn_write import kept_after_power_loss

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from sim_runtime.file_faults import FileFault

__all__ = ["VirtualDisk"]

CAPACITY_BYTES: Final = 1 << 40


@dataclass(slots=True, kw_only=True)
class _Fault:
    error: int
    bytes_left: int | None = None
    """The number of bytes that may still be written; None fails every access at once, reads too."""


class _Inode:
    __slots__ = ("data", "synced")

    def __init__(self) -> None:
        self.data = bytearray()
        self.synced = 0


class VirtualDisk:
    """Files and directories by path, in the order in which they were made."""

    def __init__(self) -> None:
        self._files: dict[str, _Inode] = {}
        self._directories: dict[str, None] = {"/": None}
        self._faults: dict[str, _Fault] = {}
        self._file_faults: dict[FileFault, None] = {}
        self._locked: dict[str, None] = {}

    # Faults.

    def fail(self, directory: str, *, after_bytes: int | None = None) -> None:
        """Raise EIO below a directory: for every access, or for writes after a number of bytes."""
        self._faults[directory] = _Fault(error=errno.EIO, bytes_left=after_bytes)

    def fill(self, directory: str, *, left_bytes: int = 0) -> None:
        """Leave space for a number of bytes below a directory; later writes raise ENOSPC."""
        self._faults[directory] = _Fault(error=errno.ENOSPC, bytes_left=left_bytes)

    def mend(self, directory: str) -> None:
        """End the fault of a directory, if it has one."""
        self._faults.pop(directory, None)

    def fail_files(self, fault: FileFault) -> Callable[[], None]:
        """Begin a fault of single files. Returns the function that ends it."""
        self._file_faults[fault] = None
        return lambda: self._file_faults.pop(fault, None)

    def files(self, covers: Callable[[str], bool]) -> dict[str, int]:
        """Return the sizes of the files whose paths are covered, by path in order."""
        return {path: len(self._files[path].data) for path in sorted(self._files) if covers(path)}

    def flip_bit(self, path: str, position: int, bit: int) -> None:
        """Flip one bit of a stored file."""
        self._files[path].data[position] ^= 1 << bit

    def lose_power(self, path: str, random: Random) -> None:
        """Lose the unsynced bytes below a directory, and every lock there."""
        for name, inode in self._files.items():
            if _is_below(name, path) and len(inode.data) > inode.synced:
                inode.data[inode.synced :] = kept_after_power_loss(bytes(inode.data[inode.synced :]), random)
                inode.synced = len(inode.data)
        for name in [name for name in self._locked if _is_below(name, path)]:
            del self._locked[name]

    def unsynced_bytes(self, path: str) -> int:
        """The number of unsynced bytes below a directory."""
        return sum(len(inode.data) - inode.synced for name, inode in self._files.items() if _is_below(name, path))

    # Directories and files.

    def make_directory(self, path: str) -> None:
        """Make a directory and its parents; an existing one stays."""
        self._check(path)
        if path in self._files:
            raise _error(errno.EEXIST, path)
        while path not in self._directories:
            self._directories[path] = None
            path = posixpath.dirname(path)

    def list_directory(self, path: str) -> list[str]:
        """The names in a directory, sorted."""
        self._check(path)
        if path not in self._directories:
            raise _error(errno.ENOENT, path)
        return sorted(
            posixpath.basename(name)
            for names in (self._files, self._directories)
            for name in names
            if name != path and posixpath.dirname(name) == path
        )

    def is_file(self, path: str) -> bool:
        """True if there is a file."""
        self._check(path)
        return path in self._files

    def is_directory(self, path: str) -> bool:
        """True if there is a directory."""
        self._check(path)
        return path in self._directories

    def size(self, path: str) -> int:
        """The bytes of a file."""
        return len(self._inode(path).data)

    def read(self, path: str) -> bytes:
        """The content of a file."""
        inode = self._inode(path)
        self.check_read(path)
        return bytes(inode.data)

    def check_read(self, path: str) -> None:
        """Raise the error that a read of the file would raise."""
        for fault in self._file_faults:
            if fault.read_error is not None and fault.covers(path):
                raise _error(fault.read_error, path)

    def replace(self, path: str, data: bytes) -> None:
        """Replace a file by another at once, durably."""
        self._require_directory(path)
        fits = self._room(path, len(data))
        if fits < len(data):
            raise self._refusal(path)
        inode = _Inode()
        inode.data[:] = self._stored(path, inode.data, data)
        inode.synced = len(data)
        self._files[path] = inode

    def open(self, path: str) -> VirtualFile:
        """Open a file to write at its end; it is created if it is missing."""
        self._check(path)
        self._require_directory(path)
        inode = self._files.get(path)
        if inode is None:
            inode = self._files[path] = _Inode()
        return VirtualFile(self, path, inode)

    def rename(self, old: str, new: str) -> None:
        """Rename a file or a directory; an existing file of the new name is replaced."""
        self._check(old)
        self._check(new)
        if old in self._files:
            self._require_directory(new)
            self._files[new] = self._files.pop(old)
            return
        if old not in self._directories:
            raise _error(errno.ENOENT, old)
        if new in self._directories:
            raise _error(errno.ENOTEMPTY, new)
        for name in [name for name in self._directories if _is_below(name, old)]:
            del self._directories[name]
            self._directories[new + name[len(old) :]] = None
        for name in [name for name in self._files if _is_below(name, old)]:
            self._files[new + name[len(old) :]] = self._files.pop(name)

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with its content."""
        self._check(path)
        if path in self._files:
            del self._files[path]
            return
        if path not in self._directories:
            raise _error(errno.ENOENT, path)
        for name in [name for name in self._directories if _is_below(name, path)]:
            del self._directories[name]
        for name in [name for name in self._files if _is_below(name, path)]:
            del self._files[name]

    def space(self, path: str) -> DiskSpace:
        """The capacity and the free space of a disk: written bytes below a directory count against it."""
        self._check(path)
        used = sum(len(inode.data) for name, inode in self._files.items() if _is_below(name, path))
        left = CAPACITY_BYTES - used
        for directory, fault in self._faults.items():
            if fault.bytes_left is not None and fault.error == errno.ENOSPC and _is_below(path, directory):
                left = min(left, fault.bytes_left)
        return DiskSpace(CAPACITY_BYTES, left)

    def lock(self, path: str) -> VirtualLock:
        """Acquire a lock on a file, which is created if missing. Raises BlockingIOError while the lock is held."""
        self.open(path)
        if path in self._locked:
            raise BlockingIOError(f"{path} is locked")
        self._locked[path] = None
        return VirtualLock(self._locked, path)

    # Faults, applied.

    def _inode(self, path: str) -> _Inode:
        self._check(path)
        inode = self._files.get(path)
        if inode is None:
            raise _error(errno.ENOENT, path)
        return inode

    def _require_directory(self, path: str) -> None:
        if posixpath.dirname(path) not in self._directories:
            raise _error(errno.ENOENT, path)

    def _check(self, path: str) -> None:
        for directory, fault in self._faults.items():
            if fault.bytes_left is None and _is_below(path, directory):
                raise _error(fault.error, path)

    def _room(self, path: str, size: int) -> int:
        """Return how many of `size` bytes may be written, and consume them."""
        self._check(path)
        faults = [fault for directory, fault in self._faults.items() if _is_below(path, directory)]
        fits = min([size, *(fault.bytes_left for fault in faults if fault.bytes_left is not None)])
        for fault in faults:
            if fault.bytes_left is not None:
                fault.bytes_left -= fits
        return fits

    def _refusal(self, path: str) -> OSError:
        faults = [fault for directory, fault in self._faults.items() if _is_below(path, directory)]
        return _error(next(fault.error for fault in faults if fault.bytes_left == 0), path)

    def write(self, path: str, inode: _Inode, data: bytes | memoryview) -> None:
        """Append the bytes that fit; raise an error if that is not all."""
        if not self._faults and not self._file_faults:
            inode.data += data
            return
        fits = self._room(path, len(data))
        inode.data += self._stored(path, inode.data, data[:fits])
        if fits < len(data):
            raise self._refusal(path)

    def _stored(self, path: str, before: bytearray, data: bytes | memoryview) -> bytes | memoryview:
        """Return what the medium gets for a write at the end of a file with the content `before`."""
        for fault in tuple(self._file_faults):
            if fault.write is not None and data and fault.covers(path):
                data = fault.write.store(before, bytes(data))
                if fault.writes_left is not None:
                    fault.writes_left -= 1
                    if not fault.writes_left:
                        del self._file_faults[fault]
        return data

    def sync(self, path: str, inode: _Inode) -> None:
        """Make all of a file durable."""
        self._check(path)
        inode.synced = len(inode.data)

    def cut(self, path: str, inode: _Inode, size: int) -> None:
        """Truncate a file."""
        self._check(path)
        del inode.data[size:]
        inode.synced = min(inode.synced, size)


class VirtualFile:
    """One append-only file."""

    __slots__ = ("_disk", "_inode", "_path", "size")

    def __init__(self, disk: VirtualDisk, path: str, inode: _Inode) -> None:
        self._disk = disk
        self._path = path
        self._inode = inode
        self.size = len(inode.data)

    def append(self, data: bytes | memoryview) -> None:
        """Write at the end. Bytes that were written before an error stay."""
        try:
            self._disk.write(self._path, self._inode, data)
        finally:
            self.size = len(self._inode.data)

    def truncate(self, size: int) -> None:
        """Truncate the file."""
        self._disk.cut(self._path, self._inode, size)
        self.size = len(self._inode.data)

    def sync(self) -> None:
        """Make all written bytes durable."""
        self._disk.sync(self._path, self._inode)

    def close(self) -> None:
        """Do nothing: there is no descriptor."""


class VirtualLock:
    """An acquired lock."""

    __slots__ = ("_held", "_path")

    def __init__(self, held: dict[str, None], path: str) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        """Release the lock."""
        self._held.pop(self._path, None)


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
