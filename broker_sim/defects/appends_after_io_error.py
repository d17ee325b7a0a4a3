"""A broker goes on with a log after a write has failed.

The file of the log lacks the batches that could not be written, for instance because the disk was full, but the broker
keeps them in memory and acknowledges them. While it runs, consumers read them. After its next start it reads the log
from the file, and they are gone; with other replicas it may lead them to truncate. Since KIP-112 an I/O error takes
the whole log directory offline: the append fails with KAFKA_STORAGE_ERROR (56), and another replica leads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.defects.defect import Defect
from broker_sim.log.files.file_log import FileReplicaLog
from broker_sim.log.files.file_segment import FileLogSegment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.log.log_segment import LogSegment
    from sim_runtime.disk import DiskFile

__all__ = ["DEFECT"]


class _Forgiving:
    """A file whose failed appends are ignored."""

    def __init__(self, file: DiskFile) -> None:
        self._file = file

    def append(self, data: bytes | memoryview) -> None:
        """Append, if the disk lets it."""
        try:
            self._file.append(data)
        except OSError:
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class WriteErrorsAreIgnored(FileReplicaLog):
    """Appends in memory although the file of the active segment could not be written."""

    def _make_segment(self, *arguments: Any, **options: Any) -> LogSegment:
        segment: LogSegment = _forgiving(super()._make_segment(*arguments, **options))
        return segment

    def restore(self, segments: Sequence[FileLogSegment], **contents: Any) -> None:
        """Restore the contents of the files."""
        super().restore([_forgiving(segment) for segment in segments], **contents)


def _forgiving(segment: Any) -> Any:
    if isinstance(segment, FileLogSegment):
        for name in ("_log_file", "_index_file", "_time_index_file"):
            setattr(segment, name, _Forgiving(getattr(segment, name)))
    return segment


DEFECT: Final = Defect(
    name="appends-after-io-error",
    lesson=__doc__,
    source="KAFKA-10778",
    affected="Apache Kafka before 2.8",
    anomalies=("disk-error",),
    substitutes=(WriteErrorsAreIgnored,),
)
