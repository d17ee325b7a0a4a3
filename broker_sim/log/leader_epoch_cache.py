"""The start offset of each leader epoch in a log (KIP-101, KIP-279). Mirrors LeaderEpochFileCache."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

UNDEFINED_EPOCH: Final = -1
UNDEFINED_EPOCH_OFFSET: Final = -1


class EpochEntry(NamedTuple):
    """One epoch and the offset of the first record that its leader appended."""

    epoch: int
    start_offset: int


class EpochEndOffset(NamedTuple):
    """The largest epoch not above the requested one, and its end offset; both -1 when unknown."""

    epoch: int
    end_offset: int


class LeaderEpochCache:
    """Epoch entries with strictly growing epochs and start offsets."""

    __slots__ = ("_entries", "latest_epoch")

    def __init__(self) -> None:
        self._entries: list[EpochEntry] = []
        self.latest_epoch: int | None = None
        """The latest epoch, None in an empty cache."""

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        """All entries, oldest first."""
        return tuple(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note the first offset of an epoch; entries that contradict the newer one are removed."""
        entries = self._entries
        if entries:
            last = entries[-1]
            if last.epoch == epoch and start_offset >= last.start_offset:
                return
            while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
                entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        self.latest_epoch = epoch

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEndOffset:
        """Return the end offset of an epoch: the start of the next one, or the log's end for the latest."""
        entries = self._entries
        if epoch == UNDEFINED_EPOCH or not entries:
            return EpochEndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        if epoch == entries[-1].epoch:
            return EpochEndOffset(epoch, log_end_offset)
        index = bisect_right(entries, epoch, key=_epoch)
        if index == len(entries):
            return EpochEndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
        if index == 0:
            # All entries are newer: the requested epoch ends where the oldest one starts.
            return EpochEndOffset(epoch, entries[0].start_offset)
        return EpochEndOffset(entries[index - 1].epoch, entries[index].start_offset)

    def epoch_for(self, offset: int) -> int | None:
        """Return the epoch of the record at an offset, None when no entry covers it."""
        index = bisect_right(self._entries, offset, key=_start_offset)
        return self._entries[index - 1].epoch if index else None

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the epochs that start at or after an offset."""
        while self._entries and self._entries[-1].start_offset >= end_offset:
            self._entries.pop()
        self.latest_epoch = self._entries[-1].epoch if self._entries else None

    def truncate_from_start(self, start_offset: int) -> None:
        """Remove the entries below an offset; the epoch that covers the offset then starts there."""
        index = bisect_right(self._entries, start_offset, key=_start_offset)
        if index:
            covering = self._entries[index - 1]
            self._entries[:index] = [EpochEntry(covering.epoch, start_offset)]

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
        self.latest_epoch = None


def _epoch(entry: EpochEntry) -> int:
    return entry.epoch


def _start_offset(entry: EpochEntry) -> int:
    return entry.start_offset
