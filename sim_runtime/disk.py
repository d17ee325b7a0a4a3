"""The interface of disks, shared by the real and the virtual one. Errors are OSErrors.

Paths are absolute and posix. A file is written at its end alone. Written bytes are in the page cache: they
survive the process, and a power loss only after `sync`. `replace`, `rename` and `remove` are durable when they
return, as on a file system with a journal whose directories are flushed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from random import Random

__all__ = ["Disk", "DiskFile", "DiskLock", "DiskSpace"]


class DiskSpace(NamedTuple):
    """The bytes of the disk below a directory."""

    total_bytes: int
    usable_bytes: int


class DiskFile(Protocol):
    """An open file. `size` is the number of written bytes."""

    size: int

    def append(self, data: bytes | memoryview) -> None:
        """Write at the end. Bytes that were written before an error stay."""

    def truncate(self, size: int) -> None:
        """Truncate the file."""

    def sync(self) -> None:
        """Make all written bytes durable."""

    def close(self) -> None:
        """Close the file; it may be opened again."""


class DiskLock(Protocol):
    """A lock that is held."""

    def release(self) -> None:
        """Release the lock."""


class Disk(Protocol):
    """Files in directories."""

    def make_directory(self, path: str) -> None:
        """Make a directory and its parents; an existing one stays."""

    def list_directory(self, path: str) -> list[str]:
        """The names in a directory, sorted."""

    def is_file(self, path: str) -> bool:
        """True if there is a file."""

    def is_directory(self, path: str) -> bool:
        """True if there is a directory."""

    def size(self, path: str) -> int:
        """The bytes of a file."""

    def read(self, path: str) -> bytes:
        """The content of a file."""

    def check_read(self, path: str) -> None:
        """Raise the error that a read of the file would raise, for a reader that has the content in memory."""

    def replace(self, path: str, data: bytes) -> None:
        """Replace a file by another at once, durably."""

    def open(self, path: str) -> DiskFile:
        """Open a file to write at its end; it is created if it is missing."""

    def rename(self, old: str, new: str) -> None:
        """Rename a file or a directory; an existing file of the new name is replaced."""

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with its content."""

    def space(self, path: str) -> DiskSpace:
        """The capacity and the free space of the disk."""

    def lock(self, path: str) -> DiskLock:
        """Acquire a lock on a file, which is created if missing. Raises BlockingIOError while the lock is held."""

    def lose_power(self, path: str, random: Random) -> None:
        """Lose the unsynced bytes below a directory: each file keeps a part of them, whose end may be a torn write.

        No file there may be open.
        """
