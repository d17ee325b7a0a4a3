"""The disk of the machine. Idle files may be closed transparently: see OPEN_FILES_MAX."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sim_runtime.disk import DiskSpace
from sim_runtime.torn_write import kept_after_power_loss

if TYPE_CHECKING:
    from random import Random

__all__ = ["RealDisk"]

OPEN_FILES_MAX: Final = 512
"""The limit on open descriptors; the file that was opened first is closed for the next."""


class RealDisk:
    """Files of the operating system."""

    def __init__(self) -> None:
        self._open: dict[RealFile, None] = {}
        self._locked: dict[str, None] = {}
        self._synced: dict[str, int] = {}

    def make_directory(self, path: str) -> None:
        """Make a directory and its parents; an existing one stays."""
        Path(path).mkdir(parents=True, exist_ok=True)

    def list_directory(self, path: str) -> list[str]:
        """The names in a directory, sorted."""
        return sorted(os.listdir(path))  # noqa: PTH208 - names are what is wanted

    def is_file(self, path: str) -> bool:
        """True if there is a file."""
        return Path(path).is_file()

    def is_directory(self, path: str) -> bool:
        """True if there is a directory."""
        return Path(path).is_dir()

    def size(self, path: str) -> int:
        """The bytes of a file."""
        return Path(path).stat().st_size

    def read(self, path: str) -> bytes:
        """The content of a file."""
        return Path(path).read_bytes()

    def check_read(self, path: str) -> None:
        """Raise nothing: what is in memory is in the page cache."""

    def replace(self, path: str, data: bytes) -> None:
        """Write a file beside the old one, sync and rename it, then sync the directory."""
        temporary = f"{path}.tmp"
        with Path(temporary).open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
        self._synced.pop(path, None)
        _sync_directory(str(Path(path).parent))

    def open(self, path: str) -> RealFile:
        """Open a file to write at its end; it is created if it is missing."""
        return RealFile(self, path)

    def rename(self, old: str, new: str) -> None:
        """Rename a file or a directory."""
        os.replace(old, new)  # noqa: PTH105 - the names are text
        for path in [path for path in self._synced if _is_below(path, old)]:
            self._synced[new + path[len(old) :]] = self._synced.pop(path)
        _sync_directory(str(Path(new).parent))

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with its content."""
        if Path(path).is_dir():
            shutil.rmtree(path)
        else:
            Path(path).unlink()
        for known in [known for known in self._synced if _is_below(known, path)]:
            del self._synced[known]

    def space(self, path: str) -> DiskSpace:
        """The capacity and the free space of the disk."""
        usage = shutil.disk_usage(path)
        return DiskSpace(usage.total, usage.free)

    def lock(self, path: str) -> RealLock:
        """Acquire a lock on a file as Java's FileChannel does: a real broker and this one exclude each other."""
        import fcntl

        real = os.path.realpath(path)
        if real in self._locked:
            raise BlockingIOError(f"{path} is locked")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise BlockingIOError(f"{path} is locked") from error
        self._locked[real] = None
        return RealLock(self._locked, real, descriptor)

    def lose_power(self, path: str, random: Random) -> None:
        """Truncate every file that this process has written as a power loss would."""
        for known in [known for known in self._synced if _is_below(known, path)]:
            synced = self._synced.pop(known)
            tail = Path(known).read_bytes()[synced:]
            with Path(known).open("r+b") as file:
                file.truncate(synced)
                file.seek(synced)
                file.write(kept_after_power_loss(tail, random))

    # Reports of files.

    def opened(self, file: RealFile) -> None:
        """Note that a file is open now: the oldest may have to close."""
        self._open[file] = None
        if len(self._open) > OPEN_FILES_MAX:
            next(iter(self._open)).close()

    def closed(self, file: RealFile) -> None:
        """Note that a file is closed."""
        self._open.pop(file, None)

    def wrote(self, path: str, synced: int) -> None:
        """Note that a file has bytes from here on that are not durable."""
        self._synced.setdefault(path, synced)

    def synced(self, path: str) -> None:
        """Note that all of a file is durable."""
        self._synced.pop(path, None)

    def cut(self, path: str, size: int) -> None:
        """Note that a file was truncated."""
        if self._synced.get(path, -1) > size:
            self._synced[path] = size


class RealFile:
    """One append-only file, with a descriptor from the first write on."""

    __slots__ = ("_descriptor", "_dirty", "_disk", "_path", "size")

    def __init__(self, disk: RealDisk, path: str) -> None:
        self._disk = disk
        self._path = path
        self._descriptor = -1
        self._dirty = False
        Path(path).touch()
        self.size = Path(path).stat().st_size

    def append(self, data: bytes | memoryview) -> None:
        """Write at the end. Bytes that were written before an error stay."""
        descriptor = self._descriptor
        if descriptor < 0:
            descriptor = self._open()
        if not self._dirty:
            self._dirty = True
            self._disk.wrote(self._path, self.size)
        written = os.write(descriptor, data)
        self.size += written
        while written < len(data):
            more = os.write(descriptor, memoryview(data)[written:])
            self.size += more
            written += more

    def truncate(self, size: int) -> None:
        """Truncate the file."""
        os.truncate(self._path, size)
        self.size = size
        self._disk.cut(self._path, size)

    def sync(self) -> None:
        """Make all written bytes durable."""
        if self._dirty:
            os.fsync(self._descriptor if self._descriptor >= 0 else self._open())
            self._dirty = False
            self._disk.synced(self._path)

    def close(self) -> None:
        """Close the descriptor; the next write opens the file again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._disk.closed(self)

    def _open(self) -> int:
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        self._disk.opened(self)
        return self._descriptor


class RealLock:
    """An acquired lock."""

    __slots__ = ("_descriptor", "_held", "_path")

    def __init__(self, held: dict[str, None], path: str, descriptor: int) -> None:
        self._held = held
        self._path = path
        self._descriptor = descriptor

    def release(self) -> None:
        """Release the lock."""
        if self._held.pop(self._path, True) is None:
            os.close(self._descriptor)


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def _sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
