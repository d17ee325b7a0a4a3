"""One segment of a log with its files: `.log`, `.index`, `.timeindex`, `.txnindex`. Mirrors LogSegment.

The batches stay in memory too, and are read from there: memory takes the place of the page cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.log.files.index_entries import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    index_batches,
    offset_index_to_bytes,
    parse_offset_index,
    parse_time_index,
    time_index_to_bytes,
)
from broker_sim.log.files.transaction_index_file import ENTRY, aborted_from_bytes, aborted_to_bytes
from broker_sim.log.log_segment import LogSegment
from broker_sim.log.stored_batch import NO_TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from broker_sim.config.topic_config import TopicConfig
    from broker_sim.log.producer_state import ProducerStateEntry
    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.log.transaction_index import AbortedTransaction
    from sim_runtime.disk import Disk, DiskFile

LOG_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
SNAPSHOT_SUFFIX: Final = ".snapshot"
DELETED_SUFFIX: Final = ".deleted"
CLEANED_SUFFIX: Final = ".cleaned"
SWAP_SUFFIX: Final = ".swap"
SEGMENT_SUFFIXES: Final = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX)
TRANSACTION_INDEX_SUFFIX: Final = ".txnindex"
ALL_SUFFIXES: Final = (*SEGMENT_SUFFIXES, TRANSACTION_INDEX_SUFFIX)
"""The files that belong to a segment, also those that only some segments have."""


class _NoFile:
    """Placeholder of a file that segments of old releases do not have."""

    size = 0

    def append(self, data: bytes | memoryview) -> None:
        """Keep nothing."""

    def truncate(self, size: int) -> None:
        """There is nothing."""

    def sync(self) -> None:
        """There is nothing."""

    def close(self) -> None:
        """There is nothing."""


NO_FILE: Final = _NoFile()


def segment_file(directory: str, base_offset: int, suffix: str) -> str:
    """The path of one of a segment's files."""
    return f"{directory}/{base_offset:020d}{suffix}"


class FileLogSegment(LogSegment):
    """A segment whose appends go to its files first."""

    __slots__ = (
        "_directory",
        "_disk",
        "_index_file",
        "_log_file",
        "_replaying",
        "_state_suffix",
        "_suffixes",
        "_time_index_file",
        "_timestamp_at",
        "_transaction_index_file",
    )

    def __init__(
        self,
        base_offset: int,
        created_ms: int,
        config: TopicConfig,
        *,
        disk: Disk,
        directory: str,
        suffixes: Sequence[str] = SEGMENT_SUFFIXES,
        state_suffix: str = "",
        roll_jitter_ms: int = 0,
        producer_snapshot: Mapping[int, ProducerStateEntry] | None = None,
    ) -> None:
        """Open the files, which are made when they are not there; `state_suffix` is `.cleaned` for a compacted one.

        `suffixes` are those of the segment's files: before 0.10.1 no segment had a time index.
        """
        self._disk = disk
        self._directory = directory
        self._suffixes = suffixes
        self._replaying = False
        super().__init__(
            base_offset, created_ms, config, roll_jitter_ms=roll_jitter_ms, producer_snapshot=producer_snapshot
        )
        self._open(state_suffix)

    def _open(self, state_suffix: str) -> None:
        self._log_file, self._index_file, self._time_index_file = (
            self._disk.open(segment_file(self._directory, self.base_offset, suffix + state_suffix))
            if suffix in self._suffixes
            else NO_FILE
            for suffix in SEGMENT_SUFFIXES
        )
        self._transaction_index_file: DiskFile | _NoFile = NO_FILE
        if self._disk.is_file(self._path(TRANSACTION_INDEX_SUFFIX + state_suffix)):
            self._open_transaction_index(state_suffix)
        self._state_suffix = state_suffix

    def _open_transaction_index(self, state_suffix: str) -> None:
        self._transaction_index_file = self._disk.open(self._path(TRANSACTION_INDEX_SUFFIX + state_suffix))

    def _clear(self) -> None:
        super()._clear()
        self._timestamp_at = self.base_offset

    def append(self, batch: StoredBatch) -> None:
        """Add a batch at the end of file and memory."""
        if not self._replaying:
            self._log_file.append(batch.data)
        if batch.max_timestamp > self.max_timestamp:
            self._timestamp_at = batch.last_offset
        super().append(batch)

    def _index(self) -> None:
        times = self._time_entries
        super()._index()
        if self._replaying:
            return
        self._index_file.append(OFFSET_ENTRY.pack(self.last_offsets[-1] - self.base_offset, self.size))
        if self._time_entries != times:
            self._time_index_file.append(TIME_ENTRY.pack(self.max_timestamp, self._timestamp_at - self.base_offset))

    def append_aborted(self, transaction: AbortedTransaction) -> None:
        """Add a transaction to the index in file and memory; the file is made for the first one."""
        if self._transaction_index_file is NO_FILE:
            self._open_transaction_index(self._state_suffix)
        self._transaction_index_file.append(aborted_to_bytes([transaction]))
        super().append_aborted(transaction)

    def truncate_to(self, offset: int) -> list[StoredBatch]:
        """Remove the batches that end at or after an offset, from the indexes too, and return them."""
        self._replaying = True
        try:
            removed = super().truncate_to(offset)
        finally:
            self._replaying = False
        if removed:
            self._log_file.truncate(self.size)
            self._transaction_index_file.truncate(len(self.aborted_transactions) * ENTRY.size)
            relative_offset = offset - self.base_offset
            index = self._disk.read(self._path(INDEX_SUFFIX))
            kept = [entry for entry in OFFSET_ENTRY.iter_unpack(index) if entry[0] < relative_offset]
            self._index_file.truncate(len(kept) * OFFSET_ENTRY.size)
            times = self._read_times()
            kept_times = sum(entry[1] < relative_offset for entry in TIME_ENTRY.iter_unpack(times))
            self._time_index_file.truncate(kept_times * TIME_ENTRY.size)
            self._adopt_counts(kept, kept_times, times)
        return removed

    def restore(self, batches: Iterable[StoredBatch], *, rebuild_indexes: bool) -> None:
        """Load the log file. Rebuild the indexes on request, or if they are missing or wrong."""
        self._replaying = True
        self.extend(batches)
        self._replaying = False
        if self._log_file.size > self.size:
            self._log_file.truncate(self.size)
        if rebuild_indexes or not self._adopt_indexes():
            self._rebuild_indexes()

    def restore_aborted(self) -> None:
        """Load the index of aborted transactions.

        Raises:
            CorruptFile: The index has to be rebuilt.
        """
        path = self._path(TRANSACTION_INDEX_SUFFIX)
        if self._disk.is_file(path):
            self.aborted_transactions = aborted_from_bytes(self._disk.read(path), path, self.base_offset)

    def rebuild_aborted(self, transactions: Iterable[AbortedTransaction]) -> None:
        """Replace the index of aborted transactions, durably: the records before the recovery point are so already."""
        self._transaction_index_file.truncate(0)
        self.aborted_transactions = []
        for transaction in transactions:
            self.append_aborted(transaction)
        self._transaction_index_file.sync()

    def _adopt_indexes(self) -> bool:
        offsets = parse_offset_index(self._disk.read(self._path(INDEX_SUFFIX)), self.size)
        data = self._read_times()
        times = parse_time_index(data)
        has_times = self._time_index_file is not NO_FILE
        if offsets is None or times is None or (has_times and self.size and not data and self.max_timestamp >= 0):
            return False
        self._adopt_counts(offsets, len(times), data)
        return True

    def _read_times(self) -> bytes:
        return b"" if self._time_index_file is NO_FILE else self._disk.read(self._path(TIME_INDEX_SUFFIX))

    def _adopt_counts(self, entries: Sequence[tuple[int, int]], time_entries: int, times: bytes) -> None:
        self.indexed_offsets = [self.base_offset + relative_offset for relative_offset, _ in entries]
        self.indexed_positions = [position for _, position in entries]
        self._time_entries = time_entries
        last = TIME_ENTRY.unpack_from(times, (time_entries - 1) * TIME_ENTRY.size) if time_entries else (NO_TIMESTAMP,)
        self._last_indexed_timestamp = int(last[0])
        self._index_at = self.size + self._index_interval_bytes
        self._update_indexes_full()

    def _rebuild_indexes(self) -> None:
        offsets, times = index_batches(self.batches, self.base_offset, self._index_interval_bytes)
        self._index_file.truncate(0)
        self._index_file.append(offset_index_to_bytes(offsets))
        data = time_index_to_bytes(times)
        self._time_index_file.truncate(0)
        self._time_index_file.append(data)
        self._adopt_counts(offsets, len(times), data)
        self.become_inactive()

    def become_inactive(self) -> None:
        """The time index gets its last entry: the largest timestamp. Mirrors onBecomeInactiveSegment."""
        if self.max_timestamp > self._last_indexed_timestamp:
            self._time_index_file.append(TIME_ENTRY.pack(self.max_timestamp, self._timestamp_at - self.base_offset))
            self._time_entries += 1
            self._last_indexed_timestamp = self.max_timestamp

    def flush(self) -> None:
        """Make everything durable."""
        for file in self._files():
            file.sync()

    def release(self) -> None:
        """Close the files without a flush."""
        for file in self._files():
            file.close()

    def _files(self) -> tuple[DiskFile | _NoFile, ...]:
        return self._log_file, self._index_file, self._time_index_file, self._transaction_index_file

    def change_suffix(self, old: str, new: str) -> None:
        """Rename every existing file; none is written to until it is opened again."""
        self.release()
        for suffix in ALL_SUFFIXES:
            if self._disk.is_file(self._path(suffix + old)):
                self._disk.rename(self._path(suffix + old), self._path(suffix + new))
        if not new:
            self._open("")

    def _path(self, suffix: str) -> str:
        return segment_file(self._directory, self.base_offset, suffix)

    def moved(self, directory: str) -> None:
        """The log's directory has another name."""
        self._directory = directory
        self._open("")

    def remove_later(self, suffix: str, remove_later: Callable[[str], None]) -> None:
        """Pass every file with the suffix to `remove_later`."""
        for each in ALL_SUFFIXES:
            if self._disk.is_file(self._path(each + suffix)):
                remove_later(self._path(each + suffix))
