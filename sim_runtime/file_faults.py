"""Faults of single files of a virtual disk, as of a medium or of its controller.

The writer gets no error for a wrong write: its process goes on with what it has in memory, and the next one that reads
the file finds the damage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FileFault", "LostWrite", "MisdirectedWrite", "TornWrite", "WrongWrite", "place_in"]


class WrongWrite(Protocol):
    """The change that one write undergoes."""

    def store(self, before: bytearray, data: bytes) -> bytes:
        """Return what is stored at the end of a file with the content `before`, which may change, in place of `data`.

        It has the length of `data`: the file system knows the size that was written.
        """


@dataclass(frozen=True, slots=True)
class LostWrite:
    """The medium never gets the bytes: their place has zeros."""

    def store(self, before: bytearray, data: bytes) -> bytes:  # noqa: ARG002 - as every wrong write
        """Return zeros."""
        return bytes(len(data))


@dataclass(frozen=True, slots=True)
class TornWrite:
    """The medium gets the first bytes, up to a share of them; zeros follow."""

    place: float

    def store(self, before: bytearray, data: bytes) -> bytes:  # noqa: ARG002 - as every wrong write
        """Return the first bytes and zeros."""
        kept = place_in(len(data), self.place)
        return data[:kept] + bytes(len(data) - kept)


@dataclass(frozen=True, slots=True)
class MisdirectedWrite:
    """The bytes go over earlier ones of the file, at a share of its length; their own place has zeros."""

    place: float

    def store(self, before: bytearray, data: bytes) -> bytes:
        """Write over the earlier bytes, as far as there are any, and return zeros."""
        if before:
            start = place_in(len(before), self.place)
            over = data[: len(before) - start]
            before[start : start + len(over)] = over
        return bytes(len(data))


@dataclass(slots=True, kw_only=True, eq=False)
class FileFault:
    """A fault of the files whose paths it `covers`: of reads, which raise an error number, or of writes."""

    covers: Callable[[str], bool]
    read_error: int | None = None
    write: WrongWrite | None = None
    writes_left: int | None = None
    """How many writes are wrong; None for all as long as the fault lasts."""


def place_in(size: int, share: float) -> int:
    """Return the place in `size` bytes at a share of them from 0 to 1: one of 0 to size - 1."""
    return min(int(size * share), size - 1)
