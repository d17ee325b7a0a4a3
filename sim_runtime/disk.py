"""What a part may do with a disk: the interface that the real one and the virtual one share. Errors are OSErrors.

Paths are absolute and posix. A file is written at its end alone, and what is written is in the page cache: it
outlives the process, and a loss of power only after `sync`. `replace`, `rename` and `remove` are durable when they
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
    """An open file. `size` is what has been written."""

    size: int

    def append(self, data: bytes | memoryview) -> None:
        """Write at the end. What fitted before an error stays there."""

    def truncate(self, size: int) -> None:
        """Cut the end off."""

    def sync(self) -> None:
        """Make all that is written durable."""

    def close(self) -> None:
        """Give the file back; it may be opened again."""


class DiskLock(Protocol):
    """A lock that is held."""

    def release(self) -> None:
        """Let others have it."""


class Disk(Protocol):
    """Files in directories."""

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it; one that is there stays."""

    def list_directory(self, path: str) -> list[str]:
        """The names in a directory, sorted."""

    def is_file(self, path: str) -> bool:
        """Whether there is a file."""

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory."""

    def size(self, path: str) -> int:
        """The bytes of a file."""

    def read(self, path: str) -> bytes:
        """All that is in a file."""

    def replace(self, path: str, data: bytes) -> None:
        """Put a whole file in place of another at once, durably."""

    def open(self, path: str) -> DiskFile:
        """Open a file to write at its end; it is made when it is not there."""

    def rename(self, old: str, new: str) -> None:
        """Give a file or a directory another name; a file that has it already is replaced."""

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with all that is in it."""

    def space(self, path: str) -> DiskSpace:
        """How much room there is."""

    def lock(self, path: str) -> DiskLock:
        """Hold a lock on a file, which is made when it is not there; BlockingIOError while somebody else holds it."""

    def lose_power(self, path: str, random: Random) -> None:
        """Lose what was not synced below a directory: each such file keeps a part of it, whose end may be torn.

        Nobody may have files open there.
        """
