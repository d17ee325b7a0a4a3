"""A history as a folder of Parquet files that several tasks write; a file has its name once it is whole."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from broker_scenarios.arrow.history_table import HISTORY_SCHEMA
from broker_scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HistoryFile", "clear_folder", "history_file"]

_IN_PROGRESS: Final = "_"
"""Names that begin so are no data for Arrow and Spark."""
_ROWS_AT_ONCE: Final = 200_000
"""The rows of one row group: about 20 MB of memory."""


class HistoryFile:
    """A file of a history that is being written."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer
        self._waiting: list[pa.RecordBatch] = []
        self._rows_waiting = 0
        self.events = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch of HISTORY_SCHEMA."""
        self._waiting.append(batch)
        self._rows_waiting += batch.num_rows
        self.events += batch.num_rows
        if self._rows_waiting >= _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what waits as one row group."""
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting))
        self._waiting, self._rows_waiting = [], 0


def clear_folder(folder: str) -> None:
    """Make an empty folder; `folder` is a path, or a URI of a file system that Arrow knows."""
    files, path = _file_system(folder)
    files.create_dir(path)
    files.delete_dir_contents(path)


@contextmanager
def history_file(folder: str, number: int) -> Iterator[HistoryFile]:
    """Write file number `number` of a history.

    Raises:
        ScenarioError: an earlier attempt of the task has begun the file: it may have sent its records, and this attempt
            would send them again.
    """
    files, path = _file_system(folder)
    name = f"part-{number:05}.parquet"
    unfinished = f"{path}/{_IN_PROGRESS}{name}"
    failed = f"{unfinished}.failed"
    begun = files.get_file_info([failed, unfinished, f"{path}/{name}"])
    if any(each.type is not fs.FileType.NotFound for each in begun):
        reason = files.open_input_stream(failed).read().decode() if begun[0].is_file else "it was stopped"
        raise ScenarioError(f"{folder}: task {number} of the load failed, and is not run again: {reason}")
    # A history is written once and read once: zstd at its fastest level.
    try:
        with pq.ParquetWriter(
            unfinished, HISTORY_SCHEMA, filesystem=files, compression="zstd", compression_level=1
        ) as writer:
            file = HistoryFile(writer)
            yield file
            file.flush()
    except Exception as error:
        # Spark may report the last attempt alone.
        with files.open_output_stream(failed) as text:
            text.write(str(error).encode())
        raise
    files.move(unfinished, f"{path}/{name}")


def _file_system(folder: str) -> tuple[fs.FileSystem, str]:
    if "://" in folder:
        files, path = fs.FileSystem.from_uri(folder)
        return files, path
    return fs.LocalFileSystem(), folder
